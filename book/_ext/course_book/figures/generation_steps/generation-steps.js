/* The figure "generation-steps": a language model writes in the page, and the reader chooses.
 *
 * model: { model: id of its file, steps, note }; see figure.py. The scripts that run and show it are loaded
 * with it, once the reader starts it. The reader may open a model of their own.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;

  class GenerationSteps {
    constructor(model, el) {
      this.model = model;
      this.file = window.courseModelFile(model.model);
      this.own = new window.courseOwnModel((text) => this.open(text), { homework: 6, file: "my-language-model.json" });
      this.bench = make("div", { class: "steps" });
      el.className = "steps";
      el.append(this.own.mine, this.bench, this.own.element);
      this.bench.append(window.courseMakeStart(this.file, {
        says: "Nothing has been loaded yet. Start it, and the model runs here, in your browser.",
        name: "Start the model",
      }, () => this.wake()));
    }

    /** Load the scripts that run and show a model, and further files, once. */
    load(...files) {
      return window.courseLoad([...window.courseDeferred["generation-steps"], ...files]);
    }

    /** Load the course's model, and let it write. */
    async wake() {
      await this.load(this.file.file);
      const { parameters, ...model } = window.courseModels[this.model.model];
      new window.courseWriter({ ...model, parameters: window.courseEngine.unpack(parameters) }, this.bench);
      this.bench.querySelector("button").focus();
    }

    // ---- a model of the reader's own ----

    /** Open a file's text as a model; the promise is rejected with an Error that names the fault. */
    async open(text) {
      await this.load();
      const { readDecoderLM, decoderGap } = window.courseEngine;
      const file = readDecoderLM(text);
      const gap = decoderGap(file);
      new window.courseWriter(file, this.bench);
      const { num_layers: layers, d_model: wide, num_heads: heads } = file.config;
      const sizes = `${layers} ${layers === 1 ? "layer" : "layers"}, width ${wide}, ${heads} heads, ${grouped(file.count)} numbers`;
      this.own.announce(sizes, gap, () => this.wake());
    }
  }

  window.courseFigures["generation-steps"] = GenerationSteps;
})();
