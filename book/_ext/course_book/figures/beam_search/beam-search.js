/* The figure "beam-search": the search as a tree that grows to the right, a word a step.
 *
 * model: { sentences: [{ name, source, truth, next }], widest, end, max_steps, note }.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, Summary, makeSelect } = window.courseControls;
  const { search } = window.courseBeamSearch;
  const { BeamDrawing } = window.courseBeamTree;

  class BeamSearch {
    constructor(model, el) {
      this.model = model;
      const sources = model.sentences.map(({ source }) => source);
      const { label, select } = makeSelect("Source", Object.entries(sources), () => this.run());
      this.source = select;
      this.shows = make("p", { class: "beam-shows" });
      this.width = new Slider("Beam width", () => this.run(), { min: 1, max: model.widest, value: Math.min(3, model.widest) });
      this.alpha = new Slider("Length penalty \u03b1", () => this.run(), { max: 1.5, step: 0.1, value: 1 });
      this.shown = new Slider("Step", () => this.draw(), { min: 1, max: 1, value: 1 });
      this.drawing = new BeamDrawing(model.end);
      this.summary = new Summary();
      el.className = "beam";
      el.append(
        make("div", { class: "beam-source" }, label, select, this.shows),
        make("div", { class: "beam-controls" },
          this.width.element, this.shown.element, this.alpha.element),
        this.drawing.scroller,
        this.summary.element,
        this.drawing.results,
      );
      this.run();
    }

    /** Search again, and show all steps. */
    run() {
      const { sentences, end, max_steps: maxSteps } = this.model;
      this.sentence = sentences[this.source.value];
      const { next, name } = this.sentence;
      this.shows.textContent = `Here ${name}.`;
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
      const isOver = step === this.found.steps.length;
      this.shown.show(`${step} of ${this.found.steps.length}`);
      this.drawing.show(this.found, step, { isOver, truth: this.sentence.truth });
      this.drawing.scroller.scrollLeft = 0;
      this.tell(step, isOver);
    }

    tell(step, isOver) {
      const finished = this.found.results.filter(({ length }) => length <= step).length;
      const right = this.drawing.text(this.found.results[0]) === this.sentence.truth;
      this.summary.say(isOver
        ? `The search returns the first line below, which is ${right ? "right" : "wrong"}` +
          `${right ? "." : `: right would be \u201c${this.sentence.truth}\u201d`}`
        : `${finished} finished so far. The search goes on. Dashed beginnings are dropped here.`);
    }
  }

  window.courseFigures["beam-search"] = BeamSearch;
})();
