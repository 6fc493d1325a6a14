/* The figure "mlm-guesser": hide words of a sentence; a BERT and a left-to-right model guess them.
 *
 * model: { model: id of their file, models: their names, sentences, note }; see data.py. They run in the page,
 * and are loaded once the reader starts them. The reader may open a BERT of their own.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { makeButton, makeSelect } = window.courseControls;

  const join = (words) => words.join(" ").replaceAll(" ##", "").replaceAll(" .", ".").replaceAll("[MASK]", "___");

  class MLMGuesser {
    constructor(model, el) {
      this.model = model;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.own = new window.courseOwnModel((text) => this.open(text), { homework: 8, file: "my-bert.json" });
      this.mine = make("div", { class: "living-mine", "aria-live": "polite" });
      this.known = make("details", { class: "guesser-known" });
      this.bench = make("div", { class: "guesser-bench" });
      el.className = "living guesser";
      el.append(this.makeForm(), this.known, this.mine, this.bench, this.own.element);
      this.offer(model.sentences.map(({ words }) => words));
      this.known.hidden = true;
      this.bench.append(this.makeStart());
    }

    makeForm() {
      const id = "guesser-sentence";
      this.input = make("input", { id, class: "course-field living-input", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
      this.pick = makeSelect("or pick one", [], () => {
        this.input.value = this.pick.select.value;
        this.read();
      });
      this.problem = make("p", { class: "living-problem", role: "status" });
      const form = make("form", { class: "living-form" },
        make("label", { class: "course-label", for: id }, "A sentence"), this.input,
        make("button", { class: "course-pill", type: "submit" }, "Read"), this.pick.label, this.pick.select);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.read();
      });
      return make("div", {}, form, this.problem);
    }

    /** Sentences to pick from; the first one stands ready. */
    offer(sentences) {
      const texts = sentences.map(join);
      this.pick.select.replaceChildren(...texts.map((text) => make("option", { value: text }, text)));
      this.input.value = texts[0];
    }

    makeStart() {
      const size = Math.round(this.file.bytes / 1000);
      return make("div", { class: "living-start" },
        make("p", {}, "Nothing has been loaded yet. Start them, and both models run here, in your browser."),
        makeButton(`Start both models (${size}\u00A0kB)`, () => this.read(), "course-pill living-go"));
    }

    /** Load what runs and shows a model, and further files, the first time that they are asked for. */
    load(...files) {
      return window.courseLoad([...window.courseDeferred["mlm-guesser"], ...files]);
    }

    /** Put readers on the bench, with the words and places that they have. */
    show({ words, config }, readers) {
      this.bench.replaceChildren();
      this.shown = { words, longest: config.max_length, bench: new window.courseBlanks.BlanksBench({ words }, readers, this.bench) };
      const listed = words.filter((word) => !/^\[/.test(word));
      this.known.hidden = false;
      this.known.replaceChildren(make("summary", {}, `The ${listed.length} words that it knows`), make("p", {}, listed.join(", ")));
    }

    async wake() {
      if (this.shown) return;
      await this.load(this.file.file);
      const { MaskedLM, unpack } = window.courseEngine;
      const { bothSides, leftToRight } = window.courseBlanks;
      const [both, left] = window.courseModels[this.model.model];
      const [first, second] = [both, left].map(({ config, parameters }) => new MaskedLM(config, unpack(parameters)));
      this.examples = this.model.sentences;
      this.show(both, [bothSides(this.model.models[0], first), leftToRight(this.model.models[1], second)]);
    }

    async read() {
      await this.wake();
      const { words, longest, bench } = this.shown;
      const { problem = "", ...sentence } = window.courseBlanks.toTokens(this.input.value, words, longest);
      this.problem.textContent = problem;
      if (problem) return;
      const example = this.examples.find((one) => join(one.words) === this.input.value);
      const clues = (example?.clues ?? []).map((pair) => pair.map((word) => word + 1)); // after [CLS]
      bench.show(sentence, { clues, gap: clues[0]?.[0] ?? Math.min(3, sentence.ids.length - 2) });
    }

    // ---- a model of the reader's own ----

    /** Open a file's text as a model; rejected with what is wrong with it. */
    async open(text) {
      await this.load();
      const { MaskedLM, readMaskedLM, maskedGap } = window.courseEngine;
      const { bothSides, rightHidden } = window.courseBlanks;
      const file = readMaskedLM(text);
      const gap = maskedGap(file);
      const model = new MaskedLM(file.config, file.parameters);
      this.examples = [];
      const mask = file.words.indexOf("[MASK]");
      this.show(file, [bothSides("Yours, both sides", model), rightHidden("Yours, the right side hidden", model, mask)]);
      this.offer(file.sentences.map(({ read }) => read.slice(1, -1).map((id) => file.words[id])));
      await this.read();
      const { num_layers: layers, d_model: wide, num_heads: heads } = file.config;
      const sizes = `${layers} ${layers === 1 ? "layer" : "layers"}, width ${wide}, ${heads} heads, ${grouped(file.count)} numbers`;
      this.mine.replaceChildren(...window.courseOwnModel.describe(sizes, gap, () => this.leave()));
      this.own.element.open = false;
      this.mine.scrollIntoView({ block: "nearest" });
    }

    /** Put the course's models back in its place. */
    async leave() {
      this.shown = null;
      this.mine.replaceChildren();
      this.offer(this.model.sentences.map(({ words }) => words));
      await this.read();
      this.input.focus();
    }
  }

  window.courseFigures["mlm-guesser"] = MLMGuesser;
})();
