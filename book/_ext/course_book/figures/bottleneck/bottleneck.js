/* The figure "bottleneck": a sequence, the one vector it becomes, and the words that the decoder writes from it.
 *
 * model: { examples, right, note }; examples[length - 1] is a list of { source, context, written }.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;

  class Bottleneck {
    constructor(model, el) {
      this.model = model;
      this.number = 0;
      const lengths = { min: 1, max: model.examples.length, value: 4 };
      this.slider = new Slider("Tokens of the source ", () => this.update(), lengths);
      this.slider.input.before(makeButton("Another source", () => {
        this.number += 1;
        this.update();
      }, "course-word"));
      this.source = make("p", { class: "neck-tokens neck-source" });
      this.context = make("div", { class: "neck-context", "aria-hidden": "true" });
      this.columns = model.examples[0][0].context.map(() => {
        const bar = make("span");
        this.context.append(make("span", { class: "neck-column" }, bar));
        return bar;
      });
      this.written = make("p", { class: "neck-tokens neck-written" });
      this.summary = new Summary();
      el.className = "neck";
      el.append(
        this.slider.element,
        this.part("The encoder reads", this.source),
        this.part(`The context: ${this.columns.length} numbers`, this.context),
        this.part("The decoder writes it backwards", this.written),
        this.summary.element,
      );
      this.update();
    }

    part(title, content) {
      return make("div", { class: "neck-part" }, make("p", { class: "neck-title" }, title), content);
    }

    update() {
      const length = this.slider.get();
      const group = this.model.examples[length - 1];
      const { source, context, written } = group[this.number % group.length];
      const truth = [...source].reverse();
      this.slider.show();
      this.source.replaceChildren(...[...source].map((token) => make("span", {}, token)));
      this.columns.forEach((bar, i) => {
        bar.style.setProperty("--part", Math.abs(context[i]).toFixed(3));
        bar.classList.toggle("is-negative", context[i] < 0);
      });
      const places = Math.max(truth.length, written.length);
      const right = truth.filter((token, i) => token === written[i]).length;
      this.written.replaceChildren(
        ...Array.from({ length: places }, (_, i) => this.makeToken(written[i], truth[i])));
      const share = (100 * this.model.right[length - 1]).toFixed(0);
      const tokens = length === 1 ? "token" : "tokens";
      this.summary.say(`${right} of ${length} ${tokens} right. Of all sequences of ` +
        `${length}, ${share}% come out without a mistake.`);
    }

    /** Make the element of a written token, with the right one below it if it is wrong. */
    makeToken(token, truth) {
      if (token === truth) return make("span", {}, token);
      const wrong = make("span", { class: "is-wrong" }, token ?? "\u2013");
      wrong.append(make("small", {},
        make("span", { class: "course-unseen" }, "should be "), truth ?? "end"));
      return wrong;
    }
  }

  window.courseFigures["bottleneck"] = Bottleneck;
})();
