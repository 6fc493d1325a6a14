/* The figure "attention-cost": a layer's cost, by length, width and heads.
 *
 * model: { lengths, widths, heads, start: [length, width, heads], note }.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { Slider, Summary } = window.courseControls;
  const PREFIXES = ["", "K", "M", "G", "T", "P", "E"];
  const PARTS = [
    ["scores", "Attention: scores and averages, 4 n\u00B2 d", ({ n, d }) => 4 * n * n * d],
    ["projections", "Attention: projections, 8 n d\u00B2", ({ n, d }) => 8 * n * d * d],
    ["feed-forward", "Feed-forward layer, 16 n d\u00B2", ({ n, d }) => 16 * n * d * d],
    ["recurrent", "For comparison a GRU layer, 12 n d\u00B2", ({ n, d }) => 12 * n * d * d],
  ];

  /** A number with three digits and a prefix, such as 1.05 M; `base` is 1024 for bytes. */
  function short(number, base = 1000) {
    let power = 0;
    let rest = number;
    while (rest >= base && power < PREFIXES.length - 1) {
      rest /= base;
      power += 1;
    }
    const binary = base === 1024 && power ? "i" : "";
    return `${Number(rest.toPrecision(3))} ${PREFIXES[power]}${binary}`;
  }

  class AttentionCost {
    constructor(model, el) {
      const [n, d, h] = model.start;
      this.sliders = {
        n: this.slider("Length n", model.lengths, n),
        d: this.slider("Width d", model.widths, d),
        h: this.slider("Heads h", model.heads, h),
      };
      this.bars = PARTS.map(([name, words]) => this.bar(name, words));
      this.memory = make("p", { class: "cost-memory" });
      this.steps = make("p", { class: "cost-memory" });
      this.summary = new Summary();
      el.className = "cost";
      el.append(
        make("div", { class: "course-sliders" }, ...Object.values(this.sliders).map(({ element }) => element)),
        make("div", { class: "cost-bars" }, ...this.bars.map(({ element }) => element)),
        this.memory,
        this.steps,
        this.summary.element,
      );
      this.update();
    }

    slider(name, values, value) {
      return new Slider(name, () => this.update(), { values, value });
    }

    bar(name, words) {
      const fill = make("span", { class: `cost-fill cost-fill--${name}` });
      const number = make("span", { class: "cost-number" });
      number.dataset.part = name;
      const element = make(
        "div",
        { class: "cost-bar" },
        make("span", { class: "cost-words" }, words),
        make("span", { class: "cost-track" }, fill),
        number,
      );
      return { element, fill, number };
    }

    update() {
      const sizes = {};
      Object.entries(this.sliders).forEach(([letter, slider]) => {
        sizes[letter] = slider.get();
        slider.show();
      });
      const costs = PARTS.map(([, , cost]) => cost(sizes));
      const largest = Math.max(...costs);
      this.bars.forEach(({ fill, number }, index) => {
        fill.style.width = `${((100 * costs[index]) / largest).toFixed(2)}%`;
        number.textContent = `${short(costs[index])}FLOP`;
        number.dataset.value = costs[index];
      });
      const bytes = 4 * sizes.h * sizes.n * sizes.n;
      this.memory.textContent = `Weights written out: 4 h n\u00B2 = ${short(bytes, 1024)}B. Fused kernel: none of them.`;
      this.memory.dataset.value = bytes;
      this.steps.textContent = `Steps that must wait for one another: attention 1, GRU ${grouped(sizes.n)}.`;
      const share = costs[0] / (costs[0] + costs[1] + costs[2]);
      this.summary.tell(
        `At length ${grouped(sizes.n)} and width ${grouped(sizes.d)} the part that is quadratic in n ` +
          `takes ${(100 * share).toFixed(0)}% of the layer's operations. It takes half from n = 6 d = ${grouped(6 * sizes.d)} on.`,
      );
    }
  }

  window.courseFigures["attention-cost"] = AttentionCost;
})();
