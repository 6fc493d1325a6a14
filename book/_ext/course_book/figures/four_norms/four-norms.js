/* The figure "four-norms": a vector to move, and what four normalisations make of it.
 *
 * model: { entries, epsilon, note }.
 */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;
  const { Slider, Summary, makeSelect } = window.courseControls;
  const REACH = 3; // an entry goes from -REACH to REACH; bars are drawn to 2.2
  const FULL = 2.2;
  const SCALES = [["10", "all times 10"], ["1", "as they are"], ["0.1", "all divided by 10"], ["0.01", "all divided by 100"]];

  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const squares = (numbers) => numbers.map((number) => number * number);

  const NORMS = [
    ["LayerNorm", (d, x, epsilon) => d.map((n) => n / Math.sqrt(mean(squares(d)) + epsilon)), true],
    ["RMSNorm", (d, x, epsilon) => x.map((n) => n / Math.sqrt(mean(squares(x)) + epsilon)), true],
    [
      "unbiased variance",
      (d, x, epsilon) =>
        d.map((n) => n / Math.sqrt((mean(squares(d)) * d.length) / (d.length - 1) + epsilon)),
      false,
    ],
    [
      "epsilon outside",
      (d, x, epsilon) => d.map((n) => n / (Math.sqrt(mean(squares(d))) + epsilon)),
      false,
    ],
  ];

  /** A row of bars, one an entry, up for positive and down for negative. */
  class Bars {
    constructor(name, isRight, size) {
      this.bars = Array.from({ length: size }, () => {
        const fill = make("span", { class: "norms-fill" });
        const number = make("span", { class: "norms-number" });
        return { fill, number, element: make("div", { class: "norms-bar" }, make("div", { class: "norms-track" }, fill), number) };
      });
      this.about = make("span", { class: "norms-about" });
      this.element = make(
        "div",
        { class: `norms-row ${isRight ? "" : "norms-row--wrong"}` },
        make("div", { class: "norms-name" }, make("strong", {}, name), this.about),
        make("div", { class: "norms-bars" }, ...this.bars.map(({ element }) => element)),
      );
    }

    set(numbers) {
      numbers.forEach((value, index) => {
        const { fill, number } = this.bars[index];
        fill.style.setProperty("--part", Math.min(Math.abs(value) / FULL, 1).toFixed(4));
        fill.classList.toggle("is-negative", value < 0);
        number.textContent = signed(value);
      });
      const middle = mean(numbers);
      const variance = mean(squares(numbers.map((number) => number - middle)));
      this.about.textContent = `mean ${signed(middle)}, variance ${variance.toFixed(2)}`;
    }
  }

  class FourNorms {
    constructor(model, el) {
      this.model = model;
      this.sliders = model.entries.map((value, index) => new Slider(
        `Entry ${index + 1}`, () => this.update(), { min: -REACH, max: REACH, step: 0.1, value },
      ));
      const { label, select } = makeSelect("Take the numbers", SCALES, () => this.update());
      this.scale = select;
      this.scale.value = "1";
      this.rows = NORMS.map(([name, , isRight]) => new Bars(name, isRight, model.entries.length));
      this.summary = new Summary();
      el.className = "norms";
      el.append(
        make("div", { class: "course-sliders" }, ...this.sliders.map(({ element }) => element)),
        make("div", { class: "norms-scale" }, label, select),
        ...this.rows.map(({ element }) => element),
        this.summary.element,
      );
      this.update();
    }

    update() {
      const scale = Number(this.scale.value);
      const moved = this.sliders.map((slider) => slider.get());
      this.sliders.forEach((slider, index) => slider.show(signed(moved[index], 1)));
      const x = moved.map((number) => number * scale);
      const middle = mean(x);
      const deviations = x.map((number) => number - middle);
      const results = NORMS.map(([, compute]) => compute(deviations, x, this.model.epsilon));
      this.rows.forEach((row, index) => row.set(results[index]));
      const words = NORMS.map(([name], index) => `${name} ${signed(results[index][0])}`).join(", ");
      this.summary.tell(`Of the first entry, ${signed(x[0])}, they make: ${words}.`);
    }
  }

  window.courseFigures["four-norms"] = FourNorms;
})();
