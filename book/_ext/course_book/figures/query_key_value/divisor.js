/* The slider: the divisor of the scores before the softmax, on a logarithmic scale.
 *
 * Two places have a name: 1 (no division) and the square root of head_dim (the paper's choice).
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const STEPS = 200;
  let count = 0;

  class Divisor {
    constructor(headDim, onChange) {
      this.root = Math.sqrt(headDim);
      this.low = Math.log(0.25);
      this.high = Math.log(4 * this.root);
      this.value = this.root;
      const id = `qkv-divisor-${(count += 1)}`;
      this.input = make("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
      this.output = make("output", { for: id });
      this.marks = this.places().map(([value, name]) => this.makeMark(value, name));
      this.element = make(
        "div",
        { class: "course-slider" },
        make("label", { class: "course-label", for: id }, "Divide the scores by"),
        this.output,
        make(
          "div",
          { class: "qkv-slider" },
          this.input,
          make("div", { class: "qkv-marks" }, ...this.marks.map(({ button }) => button)),
        ),
      );
      this.onChange = onChange;
      this.input.addEventListener("input", () => this.take(this.fromStep(this.input.value)));
      this.show();
    }

    places() {
      const root = [this.root, `\u221Ahead_dim = ${this.format(this.root)}`];
      // Names that would lie on top of each other are one name too many.
      return this.root > 1.8 ? [[1, "1: not at all"], root] : [root];
    }

    makeMark(value, name) {
      const button = make("button", { type: "button" }, name);
      const part = (Math.log(value) - this.low) / (this.high - this.low);
      button.style.setProperty("--place", part.toFixed(4));
      button.addEventListener("click", () => this.take(value));
      return { button, value };
    }

    fromStep(step) {
      const value = Math.exp(this.low + (step / STEPS) * (this.high - this.low));
      const near = this.marks.find((mark) => Math.abs(Math.log(value / mark.value)) < 0.03);
      return near ? near.value : value; // the named places are easy to hit
    }

    take(value) {
      this.value = value;
      this.show();
      this.onChange(value);
    }

    show() {
      const part = (Math.log(this.value) - this.low) / (this.high - this.low);
      this.input.value = Math.round(part * STEPS);
      this.input.setAttribute("aria-valuetext", this.describe());
      this.output.textContent = this.format(this.value);
      this.marks.forEach(({ button, value }) =>
        button.setAttribute("aria-pressed", String(value === this.value)),
      );
    }

    format(value) {
      return value.toFixed(value < 10 ? 2 : 1).replace(/\.?0+$/, "");
    }

    describe() {
      if (this.value === this.root) return `${this.format(this.value)}, the root of head_dim`;
      return this.value === 1 ? "1, that is not at all" : this.format(this.value);
    }
  }

  window.courseDivisor = Divisor;
})();
