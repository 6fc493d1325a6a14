/* The figure "living-transformer": a Transformer runs in the page, open to the last number.
 *
 * model: { model: id of its file, right, examples, kinds, opening, note }; see figure.py. Its scripts, the engine and
 * the workbench, are loaded with it. It starts by itself once it is in view, unless it is on a slide or the reader
 * has asked for less motion or less data. The reader may open a model of their own in its place. A page may ask
 * questions of it: JSON with the id "living-questions", see questions.js.
 */
(function () {
  "use strict";

  const { make, grouped, whenSeen } = window.courseElements;

  /** Words as a text: nothing before a full stop. */
  const join = (words) => words.join(" ").replaceAll(" .", ".");

  class LivingTransformer {
    constructor(model, el) {
      this.model = model;
      this.el = el;
      this.file = window.courseModelFile(model.model);
      this.form = new window.courseSentenceForm({ ask: "An English sentence", send: "Translate" }, () => this.read());
      this.bench = make("div", { class: "living-bench" });
      this.own = new window.courseOwnModel((text) => this.open(text), { homework: 5, file: "my-model.json" });
      const asked = document.getElementById("living-questions");
      this.questions = asked && new window.courseFigureQuestions(JSON.parse(asked.textContent), () => this.shown && this.ask());
      el.className = "living living-whole";
      this.known = this.makeKnown(model.kinds);
      el.append(...(asked ? [this.questions.element] : []), this.form.element, this.known, this.own.mine, this.bench, this.own.element);
      this.offer();
      const start = window.courseMakeStart(this.file, {
        says: "Where it looked while it translated. Start it, and every number is computed here, in your browser.",
        name: "Start the model",
      }, async () => {
        await this.begin();
        this.shown.greet();
      });
      start.append(window.courseMakeOpening(model.opening));
      this.bench.append(start);
      const isPage = "content_root" in document.documentElement.dataset; // on a slide it keeps its size
      if (isPage && !navigator.connection?.saveData && whenSeen(start, () => this.beginUnasked())) this.keepRoom(true);
    }

    /** Show the first question, or the sentence of a link, and play it. */
    async begin() {
      await (this.questions && !this.linked ? this.ask() : this.read());
      this.shown.play();
    }

    /** Begin without a press, unless the reader is using the figure already. */
    beginUnasked() {
      if (this.el.contains(document.activeElement)) return;
      this.begin().catch((error) => {
        this.keepRoom(false);
        throw error;
      });
    }

    /** Keep room for the drawing, so that the text below does not jump when it comes. */
    keepRoom(keep) {
      this.bench.classList.toggle("is-starting", keep);
    }

    /** The words that the course's model knows, by their kind. */
    makeKnown(kinds) {
      const count = Object.values(kinds).flat().length;
      return make("details", { class: "living-known" }, make("summary", {}, `The ${count} words that it knows`),
        ...Object.entries(kinds).map(([kind, words]) => make("p", {}, make("strong", {}, `${kind}: `), words.join(", "))));
    }

    offer() {
      const { examples } = this.model;
      this.form.offer(examples.map(({ src }) => join(src)), window.courseFindWrong(examples));
    }

    /** Load the scripts that run and show a model, and further files, once. */
    load(...files) {
      return window.courseLoad([...window.courseDeferred["living-transformer"], ...files]);
    }

    /** Show a model on the workbench; the right translations of the examples are known. */
    show(file, examples) {
      this.shown?.close();
      this.bench.replaceChildren();
      this.shown = new window.courseLiving.Workbench(file, examples, this.bench);
    }

    async wake() {
      if (!this.shown) await this.load(this.file.file);
      if (this.shown) return; // another press may have started it meanwhile
      const { config, words, parameters } = window.courseModels[this.model.model];
      this.show({ config, words, parameters: window.courseEngine.unpack(parameters) }, this.model.examples);
      this.shown.question = this.questions?.asked ?? null;
    }

    async read() {
      await this.wake();
      this.form.say(this.shown.read(this.form.text));
    }

    /** Show the chosen question: its sentence and its place in the model. */
    async ask() {
      const { scene } = this.questions.chosen;
      await this.wake();
      this.form.text = scene.sentence;
      this.form.say("");
      this.shown.question = this.questions.asked;
      this.shown.set(scene);
    }

    // ---- a link to it ----

    get state() {
      return { sentence: this.form.text, ...this.shown?.state };
    }

    /** Set the scene that a link holds; one of a model that was not started holds its sentence alone. */
    async restore({ sentence, ...state }) {
      this.form.text = sentence;
      this.linked = true;
      if (state.place === undefined) return;
      await this.read();
      this.shown.restore(state);
    }

    // ---- a model of the reader's own ----

    /** Open a file's text as a model; the promise is rejected with an Error that names the fault. */
    async open(text) {
      await this.load();
      const file = window.courseEngine.readTranslator(text);
      const gap = window.courseEngine.largestGap(file);
      this.show(file, []);
      this.known.hidden = true;
      if (this.questions) this.questions.element.hidden = true; // their answers are of the course's model
      this.form.offer(file.sentences.map(({ src }) => join(src.slice(0, -1).map((id) => file.words.src[id]))));
      await this.read();
      const { num_encoder_layers: encoders, num_decoder_layers: decoders, d_model: wide, num_heads: heads } = file.config;
      const sizes = `${encoders} + ${decoders} layers, width ${wide}, ${heads} heads, ${grouped(file.count)} numbers`;
      this.own.announce(sizes, gap, () => this.leave());
    }

    /** Put the course's model back in its place. */
    async leave() {
      this.shown = this.shown.close();
      this.known.hidden = false;
      if (this.questions) this.questions.element.hidden = false;
      this.offer();
      await (this.questions ? this.ask() : this.read());
      this.form.input.focus();
    }
  }

  window.courseFigures["living-transformer"] = LivingTransformer;
})();
