/* The figure "living-decoder": Bahdanau's decoder runs in the page, and its look can be moved by hand.
 *
 * model: { model: id of its file, tasks: [{ name, ask, right, examples }], note }; see figure.py. The engine,
 * the desk that shows it and the models, one for each task, are loaded once the reader starts it.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Radios } = window.courseControls;

  /** Words as a text: nothing before a full stop. */
  const join = (words) => words.join(" ").replaceAll(" .", ".");

  class LivingDecoder {
    constructor(model, el) {
      this.model = model;
      this.file = window.courseModelFile(model.model);
      this.form = new window.courseSentenceForm({ ask: "", send: "Read it" }, () => this.read());
      this.bench = make("div", { class: "living-bench" });
      this.tasks = new Radios("It has learnt to", model.tasks.map(({ name }) => name), 0, () => this.change());
      el.className = "living looks";
      el.append(this.tasks.element, this.form.element, this.bench);
      this.offer();
      this.bench.append(window.courseMakeStart(this.file, {
        says: "Nothing has been loaded yet. Start it, and every number is computed here, in your browser.",
        name: "Start the decoder",
      }, () => this.read()));
    }

    get task() {
      return this.model.tasks[this.tasks.get()];
    }

    /** Sources of this task to pick from; the first one stands ready. */
    offer() {
      this.form.ask.textContent = this.task.ask;
      this.form.offer(this.task.examples.map(({ src }) => join(src)));
    }

    async change() {
      this.offer();
      if (this.desk) await this.read();
    }

    /** Load the scripts that run and show the models, once. */
    async wake() {
      if (this.desk) return;
      await window.courseLoad([...window.courseDeferred["living-decoder"], this.file.file]);
      this.bench.replaceChildren();
      this.desk ??= new window.courseLooks.Desk(window.courseModels[this.model.model], this.bench);
    }

    async read() {
      await this.wake();
      this.form.say(this.desk.read(this.tasks.get(), this.task, this.form.text));
    }
  }

  window.courseFigures["living-decoder"] = LivingDecoder;
})();
