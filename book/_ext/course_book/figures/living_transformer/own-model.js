/* The way in for a model of the reader's own: a file is chosen or dropped, and stays on this computer.
 *
 * new OwnModel(onText, { homework, file }): onText is given the text of a file, and returns a promise that
 * is rejected with an Error that tells the fault; homework is the number of the one whose last cell writes it.
 */
(function () {
  "use strict";

  const { make, scientific } = window.courseElements;
  const { makeButton } = window.courseControls;
  const MOST_BYTES = 16_000_000;
  const CLOSE = 1e-3; // logits of the same formulas, computed in another order, are closer

  class OwnModel {
    constructor(onText, { homework, file }) {
      this.onText = onText;
      const id = `living-file-${homework}`;
      this.input = make("input", { id, type: "file", accept: ".json,application/json", class: "living-file" });
      this.input.addEventListener("change", () => this.take(this.input.files[0]));
      this.problem = make("p", { class: "living-refused", role: "status" });
      this.mine = make("div", { class: "living-mine", "aria-live": "polite" }); // stands above the model
      this.element = make("details", { class: "living-own" },
        make("summary", {}, "Open a model of your own"),
        make("p", {}, `The last cell of homework ${homework} writes `, make("code", {}, file),
          ": what you trained, with the layers that you wrote. Choose the file, or drop it here. It is read in your browser and goes nowhere else."),
        make("label", { class: "course-label", for: id }, "Your model\u2019s file"), this.input, this.problem);
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

    /** Describe the opened model: its sizes, the difference from its code's logits, and a button back. */
    announce(sizes, gap, onLeave) {
      const difference = gap === 0 ? "0" : scientific(gap);
      const verdict = gap <= CLOSE
        ? `For its sentences your own code and this page computed numbers that differ by ${difference} at most: it is the same model.`
        : `But your own code computed other numbers than this page, by up to ${difference}. Some layer of yours differs from the course\u2019s formulas; here you see your weights in the course\u2019s formulas.`;
      this.mine.replaceChildren(
        make("p", {}, make("strong", {}, "This is your model: "), `${sizes}. `, make("span", { "data-gap": gap }, verdict)),
        makeButton("Back to the course\u2019s model", () => {
          this.mine.replaceChildren();
          onLeave();
        }),
      );
      this.element.open = false;
      this.mine.scrollIntoView({ block: "nearest" });
    }
  }

  window.courseOwnModel = OwnModel;
})();
