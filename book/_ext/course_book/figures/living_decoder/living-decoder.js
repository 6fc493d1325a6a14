/* The figure "living-decoder": Bahdanau's decoder runs in the page, and its look can be moved by hand.
 *
 * model: { model: id of its file, tasks: [{ name, ask, right, examples }], note }; see data.py. The engine,
 * the desk that shows it and the models, one for each task, are loaded once the reader starts it.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Radios, makeButton, makeSelect } = window.courseControls;

  /** Words as a text: nothing before a full stop. */
  const join = (words) => words.join(" ").replaceAll(" .", ".");

  class LivingDecoder {
    constructor(model, el) {
      this.model = model;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.bench = make("div", { class: "living-bench" });
      this.tasks = new Radios("It has learnt to", model.tasks.map(({ name }) => name), 0, () => this.change());
      el.className = "living looks";
      el.append(this.tasks.element, this.makeForm(), this.bench);
      this.offer();
      this.bench.append(make("div", { class: "living-start" },
        make("p", {}, "Nothing has been loaded yet. Start it, and every number is computed here, in your browser."),
        makeButton(`Start the decoder (${Math.round(this.file.bytes / 1000)} kB)`, () => this.read(), "course-pill living-go")));
    }

    get task() {
      return this.model.tasks[this.tasks.get()];
    }

    makeForm() {
      const id = "looks-source";
      this.ask = make("label", { class: "course-label", for: id });
      this.input = make("input", { id, class: "course-field living-input", autocomplete: "off", spellcheck: "false" });
      this.pick = makeSelect("or pick one", [], () => {
        this.input.value = this.pick.select.value;
        this.read();
      });
      this.problem = make("p", { class: "living-problem", role: "status" });
      const form = make("form", { class: "living-form" }, this.ask, this.input,
        make("button", { class: "course-pill", type: "submit" }, "Read it"), this.pick.label, this.pick.select);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.read();
      });
      return make("div", {}, form, this.problem);
    }

    /** Sources of this task to pick from; the first one stands ready. */
    offer() {
      const texts = this.task.examples.map(({ src }) => join(src));
      this.ask.textContent = this.task.ask;
      this.pick.select.replaceChildren(...texts.map((text) => make("option", { value: text }, text)));
      this.input.value = texts[0];
      this.problem.textContent = "";
    }

    async change() {
      this.offer();
      if (this.desk) await this.read();
    }

    /** Load what runs and shows the models, the first time that it is asked for. */
    async wake() {
      if (this.desk) return;
      await window.courseLoad([...window.courseDeferred["living-decoder"], this.file.file]);
      this.bench.replaceChildren();
      this.desk ??= new window.courseLooks.Desk(window.courseModels[this.model.model], this.bench);
    }

    async read() {
      await this.wake();
      this.problem.textContent = this.desk.read(this.tasks.get(), this.task, this.input.value);
    }
  }

  window.courseFigures["living-decoder"] = LivingDecoder;
})();
