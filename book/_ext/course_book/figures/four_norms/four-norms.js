/* The figure "four-norms": four numbers to move, and what four formulas make of them, held against
 * the right one.
 *
 * model: { entries, epsilon, note }.
 */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;
  const { Radios, Slider, Summary } = window.courseControls;
  const REACH = 3; // an entry goes from -REACH to REACH; bars are drawn to 2.2
  const FULL = 2.2;
  const SCALES = [[10, "times 10"], [1, "as they are"], [0.1, "divided by 10"], [0.01, "by 100"]];

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

  /** A row of bars, one an entry, up for positive and down for negative; frames show the right ones. */
  class Bars {
    constructor(name, isRight, size) {
      this.bars = Array.from({ length: size }, () => {
        const [frame, fill] = ["norms-frame", "norms-fill"].map((kind) => make("span", { class: kind }));
        const number = make("span", { class: "norms-number" });
        return { frame, fill, number, element: make("div", { class: "norms-bar" }, make("div", { class: "norms-track" }, fill, frame), number) };
      });
      this.verdict = make("span", { class: "norms-verdict" });
      this.element = make(
        "div",
        { class: `norms-row ${isRight ? "" : "norms-row--wrong"}` },
        make("div", { class: "norms-name" }, make("strong", {}, name), this.verdict),
        make("div", { class: "norms-bars" }, ...this.bars.map(({ element }) => element)),
      );
    }

    set(numbers, right, verdict) {
      numbers.forEach((value, index) => {
        const { frame, fill, number } = this.bars[index];
        [[frame, right[index]], [fill, value]].forEach(([bar, height]) => {
          bar.style.setProperty("--part", Math.min(Math.abs(height) / FULL, 1).toFixed(4));
          bar.classList.toggle("is-negative", height < 0);
        });
        number.textContent = signed(value);
      });
      this.verdict.textContent = verdict;
    }
  }

  /** The length of a result, in percent of the right result's. */
  function percent(numbers, right) {
    const length = (all) => Math.sqrt(mean(squares(all)));
    return length(right) ? Math.round((100 * length(numbers)) / length(right)) : 100;
  }

  class FourNorms {
    constructor(model, el) {
      this.model = model;
      this.sliders = model.entries.map((value, index) => new Slider(
        `Entry ${index + 1}`, () => this.update(), { min: -REACH, max: REACH, step: 0.1, value },
      ));
      this.scale = new Radios("Take all four", SCALES.map(([, name]) => name), 1, () => this.update());
      this.rows = NORMS.map(([name, , isRight]) => new Bars(name, isRight, model.entries.length));
      this.summary = new Summary();
      el.className = "norms";
      el.append(
        this.scale.element,
        ...this.rows.map(({ element }) => element),
        this.summary.element,
        make("div", { class: "course-sliders" }, ...this.sliders.map(({ element }) => element)),
      );
      this.update();
    }

    update() {
      const scale = SCALES[this.scale.get()][0];
      const moved = this.sliders.map((slider) => slider.get());
      this.sliders.forEach((slider, index) => slider.show(signed(moved[index], 1)));
      const x = moved.map((number) => number * scale);
      const middle = mean(x);
      const deviations = x.map((number) => number - middle);
      const results = NORMS.map(([, compute]) => compute(deviations, x, this.model.epsilon));
      const [right, pulled, unbiased, outside] = results;
      const [three, four] = [percent(unbiased, right), percent(outside, right)];
      const verdicts = ["the right one", `its mean stays: ${signed(mean(pulled))}`, `${three}% of its size`, `${four}% of its size`];
      this.rows.forEach((row, index) => row.set(results[index], right, verdicts[index]));
      this.summary.tell(this.sentence(three, four));
    }

    sentence(unbiased, outside) {
      const isHidden = Math.abs(outside - 100) <= 2;
      const first = isHidden
        ? "Numbers as large as these hide the place of epsilon."
        : `Small numbers show it: with epsilon outside the root, every output is ${outside}% of its right size.`;
      return isHidden && unbiased < 98 ? `${first} The unbiased variance shows: ${unbiased}%.` : first;
    }
  }

  window.courseFigures["four-norms"] = FourNorms;
})();
