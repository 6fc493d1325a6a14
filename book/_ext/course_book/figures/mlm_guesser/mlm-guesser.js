/* The figure "mlm-guesser": hide words of a sentence; a BERT and a left-to-right model guess them.
 *
 * model: { model: id of their file, models: their names, sentences, note }; see figure.py. They run in the page,
 * and are loaded once the reader starts them. The reader may open a BERT of their own.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;

  const join = (words) => words.join(" ").replaceAll(" ##", "").replaceAll(" .", ".").replaceAll("[MASK]", "___");

  class MLMGuesser {
    constructor(model, el) {
      this.model = model;
      this.file = window.courseModelFile(model.model);
      this.form = new window.courseSentenceForm({ ask: "A sentence", send: "Read" }, () => this.read());
      this.own = new window.courseOwnModel((text) => this.open(text), { homework: 8, file: "my-bert.json" });
      this.known = make("details", { class: "guesser-known" });
      this.bench = make("div", { class: "guesser-bench" });
      el.className = "living guesser";
      el.append(this.form.element, this.known, this.own.mine, this.bench, this.own.element);
      this.offer();
      this.known.hidden = true;
      this.bench.append(window.courseMakeStart(this.file, {
        says: "Nothing has been loaded yet. Start them, and both models run here, in your browser.",
        name: "Start both models",
      }, () => this.read()));
    }

    offer() {
      this.form.offer(this.model.sentences.map(({ words }) => join(words)));
    }

    /** Load the scripts that run and show a model, and further files, once. */
    load(...files) {
      return window.courseLoad([...window.courseDeferred["mlm-guesser"], ...files]);
    }

    /** Show readers on the workbench, with their vocabulary and their maximum length. */
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
      const { problem = "", ...sentence } = window.courseBlanks.toTokens(this.form.text, words, longest);
      this.form.say(problem);
      if (problem) return;
      const example = this.examples.find((one) => join(one.words) === this.form.text);
      const clues = (example?.clues ?? []).map((pair) => pair.map((word) => word + 1)); // after [CLS]
      bench.show(sentence, { clues, gap: clues[0]?.[0] ?? Math.min(3, sentence.ids.length - 2) });
    }

    // ---- a model of the reader's own ----

    /** Open a file's text as a model; the promise is rejected with an Error that names the fault. */
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
      this.form.offer(file.sentences.map(({ read }) => join(read.slice(1, -1).map((id) => file.words[id]))));
      await this.read();
      const { num_layers: layers, d_model: wide, num_heads: heads } = file.config;
      const sizes = `${layers} ${layers === 1 ? "layer" : "layers"}, width ${wide}, ${heads} heads, ${grouped(file.count)} numbers`;
      this.own.announce(sizes, gap, () => this.leave());
    }

    /** Put the course's models back in its place. */
    async leave() {
      this.shown = null;
      this.offer();
      await this.read();
      this.form.input.focus();
    }
  }

  window.courseFigures["mlm-guesser"] = MLMGuesser;
})();
