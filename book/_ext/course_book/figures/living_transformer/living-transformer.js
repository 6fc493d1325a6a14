/* The figure "living-transformer": a Transformer runs in the page, open to the last number.
 *
 * model: { model: id of its file, right, examples, note }; see data.py. What runs it and shows it, the
 * engine and the workbench, is loaded with it, once the reader starts it. The reader may open a model of
 * their own in its place.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { makeButton, makeSelect } = window.courseControls;

  /** Words as a text: nothing before a full stop. */
  const join = (words) => words.join(" ").replaceAll(" .", ".");

  class LivingTransformer {
    constructor(model, el) {
      this.model = model;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.bench = make("div", { class: "living-bench" });
      this.own = new window.courseOwnModel((text) => this.open(text), { homework: 5, file: "my-model.json" });
      this.mine = make("div", { class: "living-mine", "aria-live": "polite" });
      el.className = "living";
      el.append(this.makeForm(), this.mine, this.bench, this.own.element);
      this.offer(model.examples.map(({ src }) => src));
      this.bench.append(this.makeStart());
    }

    makeForm() {
      const id = "living-sentence";
      this.input = make("input", { id, class: "course-field living-input", autocomplete: "off", spellcheck: "false" });
      this.pick = makeSelect("or pick one", [], () => {
        this.input.value = this.pick.select.value;
        this.read();
      });
      this.problem = make("p", { class: "living-problem", role: "status" });
      const form = make("form", { class: "living-form" },
        make("label", { class: "course-label", for: id }, "An English sentence"), this.input,
        make("button", { class: "course-pill", type: "submit" }, "Translate"), this.pick.label, this.pick.select);
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
        make("p", {}, "Nothing has been loaded yet. Start it, and every number is computed here, in your browser."),
        makeButton(`Start the model (${size} kB)`, () => this.read(), "course-pill living-go"));
    }

    /** Load what runs and shows a model, and further files, the first time that they are asked for. */
    load(...files) {
      return window.courseLoad([...window.courseDeferred["living-transformer"], ...files]);
    }

    /** Put a model on the bench; the truth is known of the examples. */
    show(file, examples) {
      this.shown?.close();
      this.bench.replaceChildren();
      this.shown = new window.courseLiving.Workbench(file, examples, this.bench);
    }

    async wake() {
      if (this.shown) return;
      await this.load(this.file.file);
      const { config, words, parameters } = window.courseModels[this.model.model];
      this.show({ config, words, parameters: window.courseEngine.unpack(parameters) }, this.model.examples);
    }

    async read() {
      await this.wake();
      this.problem.textContent = this.shown.read(this.input.value);
    }

    // ---- a model of the reader's own ----

    /** Open a file's text as a model; rejected with what is wrong with it. */
    async open(text) {
      await this.load();
      const file = window.courseEngine.readTranslator(text);
      const gap = window.courseEngine.largestGap(file);
      this.show(file, []);
      this.offer(file.sentences.map(({ src }) => src.slice(0, -1).map((id) => file.words.src[id])));
      await this.read();
      this.describe(file, gap);
      this.own.element.open = false;
      this.mine.scrollIntoView({ block: "nearest" });
    }

    describe({ config, count }, gap) {
      const layers = `${config.num_encoder_layers} + ${config.num_decoder_layers} layers, width ${config.d_model}, ${config.num_heads} heads, ${grouped(count)} numbers`;
      this.mine.replaceChildren(...window.courseOwnModel.describe(layers, gap, () => this.leave()));
    }

    /** Put the course's model back in its place. */
    async leave() {
      this.shown = this.shown.close();
      this.mine.replaceChildren();
      this.offer(this.model.examples.map(({ src }) => src));
      await this.read();
      this.input.focus();
    }
  }

  window.courseFigures["living-transformer"] = LivingTransformer;
})();
