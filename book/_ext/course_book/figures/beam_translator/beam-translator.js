/* The figure "beam-translator": beam search over the translator that runs in the page, step by step.
 *
 * model: as of "living-transformer", whose engine and model it loads once a search is asked for.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const { grow } = window.courseBeamSearch;
  const { BeamDrawing } = window.courseBeamTree;
  const [WIDEST, LONGEST] = [8, 20];
  const [START, END] = ["<start>", "<end>"];

  const join = (words) => words.join(" ").replaceAll("' ", "'").replaceAll(" .", ".");
  const nextFrame = () => new Promise((resolve) => setTimeout(resolve));

  class BeamTranslator {
    constructor(model, el) {
      this.model = model;
      this.file = window.courseModelFile(model.model);
      this.form = new window.courseSentenceForm({ ask: "An English sentence", send: "Search" }, () => this.read());
      this.form.offer(model.examples.map(({ src }) => join(src)), window.courseFindWrong(model.examples));
      this.width = new Slider("Beam width", () => this.search(), { min: 1, max: WIDEST, value: 3 });
      this.alpha = new Slider("Length penalty \u03b1", () => this.search(), { max: 1.5, step: 0.1, value: 1 });
      this.shown = new Slider("Step", () => this.draw(this.shown.get()), { min: 1, max: 1, value: 1 });
      this.drawing = new BeamDrawing(END);
      this.summary = new Summary();
      this.go = makeButton(`Search (loads ${Math.round(this.file.bytes / 1000)} kB once)`, () => this.read(), "course-pill living-go");
      this.stage = make("div", {}, this.drawing.scroller, this.summary.element, this.drawing.results);
      this.stage.hidden = true;
      el.className = "beam beam-any living";
      el.append(this.form.element,
        make("div", { class: "beam-controls" }, this.width.element, this.alpha.element, this.shown.element),
        make("div", { class: "course-pills" }, this.go), this.stage);
      this.showSliders();
    }

    showSliders() {
      this.width.show();
      this.alpha.show(this.alpha.get().toFixed(1));
      this.shown.input.disabled = !this.found;
    }

    /** Load the model at the first call. */
    async wake() {
      await window.courseLoad([...window.courseDeferred["beam-translator"], this.file.file]);
      const { config, words, parameters } = window.courseModels[this.model.model];
      this.words = words;
      this.translator ??= new window.courseEngine.Transformer(config, window.courseEngine.unpack(parameters));
    }

    /** Encode the typed sentence, and search. */
    async read() {
      await this.wake();
      const { split, complaint } = window.courseLiving;
      const words = split(this.form.text, this.words.src);
      const problem = complaint(words, this.words.src);
      this.form.say(problem);
      if (problem) return;
      const ids = [...words, END].map((word) => this.words.src.indexOf(word));
      const example = this.model.examples.find(({ src }) => join(src) === join(words));
      this.truth = example ? join(example.tgt) : null;
      this.next = window.courseEngine.makeFollowers(this.translator, ids, this.words.tgt, this.words.tgt.indexOf(START));
      this.go.hidden = true;
      this.stage.hidden = false;
      await this.search();
    }

    /** Search again; the tree is drawn as it grows, and a later call ends this search. */
    async search() {
      this.showSliders();
      if (!this.next) return;
      const turn = (this.turn = Symbol("search"));
      const options = { width: this.width.get(), alpha: this.alpha.get(), end: END, maxSteps: LONGEST };
      const { next } = this;
      this.isOver = false;
      this.stage.setAttribute("aria-busy", "true");
      for (const found of grow((words) => next(words).slice(0, 2 * WIDEST), options)) {
        this.found = found;
        this.shown.input.max = found.steps.length;
        this.shown.set(found.steps.length);
        this.draw(found.steps.length);
        await nextFrame();
        if (turn !== this.turn) return;
      }
      this.isOver = true;
      this.draw(this.found.steps.length);
      this.stage.setAttribute("aria-busy", "false");
      this.drawing.scroller.scrollLeft = 0;
      this.showSliders();
      this.tell();
    }

    draw(step) {
      this.shown.show(`${step} of ${this.found.steps.length}`);
      const isOver = this.isOver && step === this.found.steps.length;
      this.drawing.show(this.found, step, { isOver, truth: this.truth });
      this.drawing.scroller.scrollLeft = this.drawing.scroller.scrollWidth;
    }

    tell() {
      const { steps, results } = this.found;
      const written = this.drawing.text(results[0]);
      const right = this.truth === null ? "" : written === this.truth ? " It is right." : ` Right would be \u201c${this.truth}\u201d`;
      const asked = 1 + steps.flat().filter(({ fate }) => fate === "kept").length;
      this.summary.say(`The best of ${results.length} finished sentences: \u201c${written}\u201d${right} The decoder was asked for the next word of ${asked} beginnings.`);
    }
  }

  window.courseFigures["beam-translator"] = BeamTranslator;
})();
