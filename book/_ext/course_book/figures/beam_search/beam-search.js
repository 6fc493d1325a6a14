/* The figure "beam-search": a search whose every step can be looked at again.
 *
 * model: { sentences: [{ name, source, truth, next }], widest, end, max_steps, note }; next maps words,
 * joined by blanks, to what may follow them.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, Summary, makeSelect } = window.courseControls;
  const { search, BeamTree } = window.courseBeamSearch;

  class BeamSearch {
    constructor(model, el) {
      this.model = model;
      const sources = model.sentences.map(({ name, source }) => `${source} (${name})`);
      const { label, select } = makeSelect("Source", Object.entries(sources), () => this.run());
      this.source = select;
      this.width = new Slider("Beam width", () => this.run(), { min: 1, max: model.widest, value: Math.min(3, model.widest) });
      this.alpha = new Slider("Length penalty \u03b1", () => this.run(), { max: 1.5, step: 0.1, value: 1 });
      this.shown = new Slider("Step", () => this.draw(), { min: 1, max: 1, value: 1 });
      this.tree = new BeamTree(model.end);
      this.summary = new Summary();
      el.className = "beam";
      el.append(
        make("div", { class: "beam-source" }, label, select),
        make("div", { class: "beam-controls" },
          this.width.element, this.alpha.element, this.shown.element),
        this.tree.scroller,
        this.summary.element,
        this.tree.results,
      );
      this.run();
    }

    /** Search anew, and show all of it. */
    run() {
      const { sentences, end, max_steps: maxSteps } = this.model;
      this.sentence = sentences[this.source.value];
      const { next } = this.sentence;
      const [width, alpha] = [this.width.get(), this.alpha.get()];
      this.found = search((words) => next[words.join(" ")] || [], { width, alpha, end, maxSteps });
      this.width.show();
      this.alpha.show(alpha.toFixed(1));
      this.shown.input.max = this.found.steps.length;
      this.shown.set(this.found.steps.length);
      this.draw();
    }

    draw() {
      const step = this.shown.get();
      this.shown.show(`${step} of ${this.found.steps.length}`);
      this.tree.show(this.found, step, this.sentence.truth);
      this.tree.scroller.scrollLeft = 0;
      this.tell(step);
    }

    tell(step) {
      const finished = this.found.results.filter(({ length }) => length <= step).length;
      const done = step === this.found.steps.length;
      const right = this.tree.text(this.found.results[0]) === this.sentence.truth;
      this.summary.say(done
        ? `The search returns the first line below, which is ${right ? "right" : "wrong"}` +
          `${right ? "." : `: right would be \u201c${this.sentence.truth}\u201d`}`
        : `${finished} finished so far. The search goes on.`);
    }
  }

  window.courseFigures["beam-search"] = BeamSearch;
})();
