/* The figure "bottleneck": a sequence, the one vector it becomes, and what is written from that.
 *
 * model: { examples, right, note }; examples[length - 1] is a list of { source, context, written }.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  let count = 0;

  class Bottleneck {
    constructor(model, el) {
      this.model = model;
      this.length = 4;
      this.number = 0;
      this.source = make("p", { class: "neck-tokens neck-source" });
      this.context = make("div", { class: "neck-context", "aria-hidden": "true" });
      this.columns = model.examples[0][0].context.map(() => {
        const bar = make("span");
        this.context.append(make("span", { class: "neck-column" }, bar));
        return bar;
      });
      this.written = make("p", { class: "neck-tokens neck-written" });
      this.summary = make("p", { class: "neck-summary", "aria-live": "polite" });
      el.className = "neck";
      el.append(
        this.makeControls(),
        this.part("The encoder reads", this.source),
        this.part(`The context: ${this.columns.length} numbers`, this.context),
        this.part("The decoder writes it backwards", this.written),
        this.summary,
        make("p", { class: "course-interactive__note" }, model.note),
      );
      this.update();
    }

    makeControls() {
      const id = `neck-length-${(count += 1)}`;
      this.input = make("input", {
        type: "range", id, min: 1, max: this.model.examples.length, step: 1, value: this.length,
      });
      this.output = make("output", { for: id });
      this.input.addEventListener("input", () => {
        this.length = Number(this.input.value);
        this.update();
      });
      const another = make("button", { type: "button", class: "neck-another" }, "Another source");
      another.addEventListener("click", () => {
        this.number += 1;
        this.update();
      });
      return make("div", { class: "neck-controls" },
        make("label", { for: id }, "Tokens of the source "), this.output, another, this.input);
    }

    part(title, content) {
      return make("div", { class: "neck-part" }, make("p", { class: "neck-title" }, title), content);
    }

    update() {
      const group = this.model.examples[this.length - 1];
      const { source, context, written } = group[this.number % group.length];
      const truth = [...source].reverse();
      this.output.textContent = this.length;
      this.source.replaceChildren(...[...source].map((token) => make("span", {}, token)));
      this.columns.forEach((bar, i) => {
        bar.style.setProperty("--part", Math.abs(context[i]).toFixed(3));
        bar.classList.toggle("is-negative", context[i] < 0);
      });
      const places = Math.max(truth.length, written.length);
      const right = truth.filter((token, i) => token === written[i]).length;
      this.written.replaceChildren(
        ...Array.from({ length: places }, (_, i) => this.makeToken(written[i], truth[i])));
      const share = (100 * this.model.right[this.length - 1]).toFixed(0);
      const tokens = this.length === 1 ? "token" : "tokens";
      this.summary.textContent = `${right} of ${this.length} ${tokens} right. Of all sequences of ` +
        `${this.length}, ${share}% come out without a mistake.`;
    }

    /** A written token; where it is wrong, the right one stands below. */
    makeToken(token, truth) {
      if (token === truth) return make("span", {}, token);
      const wrong = make("span", { class: "is-wrong" }, token ?? "\u2013");
      wrong.append(make("small", {},
        make("span", { class: "course-unseen" }, "should be "), truth ?? "end"));
      return wrong;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures.bottleneck = {
    render({ model, el }) {
      new Bottleneck(model, el);
    },
  };
})();
