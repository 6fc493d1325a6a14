/* The figure "living-transformer": the course's Transformer runs in the page, open to the last number.
 *
 * model: { model: id of its file, right, examples, note }; see data.py. What runs it and shows it, the
 * engine and the workbench, is loaded with it, once the reader starts it.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton, makeSelect } = window.courseControls;

  /** Words as a text: nothing before a full stop. */
  const join = (words) => words.join(" ").replaceAll(" .", ".");

  class LivingTransformer {
    constructor(model, el) {
      this.model = model;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.bench = make("div", { class: "living-bench" });
      el.className = "living";
      el.append(this.makeForm(), this.bench);
      this.bench.append(this.makeStart());
    }

    makeForm() {
      const id = "living-sentence";
      const { examples } = this.model;
      this.input = make("input", { id, class: "course-field living-input", autocomplete: "off", spellcheck: "false", value: join(examples[0].src) });
      const pick = makeSelect("or pick one", examples.map(({ src }, i) => [i, join(src)]), () => {
        this.input.value = join(examples[Number(pick.select.value)].src);
        this.read();
      });
      this.problem = make("p", { class: "living-problem", role: "status" });
      const form = make("form", { class: "living-form" },
        make("label", { class: "course-label", for: id }, "An English sentence"), this.input,
        make("button", { class: "course-pill", type: "submit" }, "Translate"), pick.label, pick.select);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.read();
      });
      return make("div", {}, form, this.problem);
    }

    makeStart() {
      const size = Math.round(this.file.bytes / 1000);
      return make("div", { class: "living-start" },
        make("p", {}, "Nothing has been loaded yet. Start it, and every number is computed here, in your browser."),
        makeButton(`Start the model (${size} kB)`, () => this.read(), "course-pill living-go"));
    }

    /** Load the model and its workbench, the first time that they are asked for. */
    wake() {
      const addresses = [...window.courseDeferred["living-transformer"], this.file.file];
      this.waking ??= window.courseLoad(addresses).then(() => {
        this.bench.replaceChildren();
        return new window.courseLiving.Workbench(window.courseModels[this.model.model], this.model.examples, this.bench);
      });
      return this.waking;
    }

    async read() {
      const bench = await this.wake();
      this.problem.textContent = bench.read(this.input.value);
    }
  }

  window.courseFigures["living-transformer"] = LivingTransformer;
})();
