/* The way in for a model of the reader's own: a file is chosen or dropped, and stays on this computer.
 *
 * new OwnModel(onText): onText is given the text of a file, and returns a promise that is rejected
 * with what is wrong with it.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const MOST_BYTES = 16_000_000;

  class OwnModel {
    constructor(onText) {
      this.onText = onText;
      this.input = make("input", { id: "living-file", type: "file", accept: ".json,application/json", class: "living-file" });
      this.input.addEventListener("change", () => this.take(this.input.files[0]));
      this.problem = make("p", { class: "living-refused", role: "status" });
      this.element = make("details", { class: "living-own" },
        make("summary", {}, "Open a model of your own"),
        make("p", {}, "The last cell of homework 5 writes ", make("code", {}, "my-model.json"),
          ": what you trained, with the layers that you wrote. Choose the file, or drop it here. It is read in your browser and goes nowhere else."),
        make("label", { class: "course-label", for: "living-file" }, "Your model\u2019s file"), this.input, this.problem);
      this.listen();
    }

    listen() {
      const over = (is) => (event) => {
        event.preventDefault();
        this.element.classList.toggle("is-over", is);
      };
      this.element.addEventListener("dragover", over(true));
      this.element.addEventListener("dragleave", over(false));
      this.element.addEventListener("drop", (event) => {
        over(false)(event);
        this.take(event.dataTransfer.files[0]);
      });
    }

    async take(file) {
      if (!file) return;
      this.problem.textContent = "";
      try {
        if (file.size > MOST_BYTES) {
          throw new Error(`It has ${Math.round(file.size / 1e6)} MB; ${MOST_BYTES / 1e6} are the most that this page takes.`);
        }
        await this.onText(await file.text());
      } catch (error) {
        this.problem.textContent = `This file can\u2019t be opened. ${error.message}`;
      }
      this.input.value = ""; // the same file, mended, may be chosen again
    }
  }

  window.courseOwnModel = OwnModel;
})();
