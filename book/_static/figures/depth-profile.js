/* The figure "depth-profile": sizes and gradients through a stack of layers, in four stackings.
 *
 * model: { depths, profiles: { stacking: [{ sizes, gradients } for each depth] }, note }.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const STACKINGS = [
    ["plain", "plain: f(x)"],
    ["residual", "residual: x + f(x)"],
    ["post", "post: norm(x + f(x))"],
    ["pre", "pre: x + f(norm(x))"],
  ];
  const WIDTH = 640;
  const HEIGHT = 190;
  const MARGIN = { left: 62, right: 14, top: 12, bottom: 26 };
  const PAUSE = 200; // milliseconds before a change is read out
  let count = 0;

  /** A number as a person would write it: 0.15, 2.2, 6 x 10^6. */
  function written(number) {
    if (number >= 0.01 && number < 1000) return String(Number(number.toPrecision(2)));
    const power = Math.floor(Math.log10(number));
    const digits = { "-": "\u207B", 0: "\u2070", 1: "\u00B9", 2: "\u00B2", 3: "\u00B3" };
    const raised = [...String(power)]
      .map((sign) => digits[sign] || String.fromCharCode(0x2070 + Number(sign)))
      .join("");
    return `${(number / 10 ** power).toFixed(1)} \u00B7 10${raised}`;
  }

  /** One logarithmic chart; all depths share its scale, so that deeper is seen to be deeper. */
  class Chart {
    constructor(title, key, model) {
      this.key = key;
      const all = Object.values(model.profiles).flatMap((measured) =>
        measured.flatMap((profile) => profile[key]),
      );
      this.low = Math.floor(Math.log10(Math.min(...all)));
      this.high = Math.ceil(Math.log10(Math.max(...all)));
      this.lines = new Map();
      this.svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
      this.drawGrid();
      STACKINGS.forEach(([name]) => {
        const line = makeSvg("polyline", { class: `depth-line depth-line--${name}` });
        this.lines.set(name, line);
        this.svg.append(line);
      });
      this.element = make("div", { class: "depth-chart" }, make("p", {}, title), this.svg);
    }

    drawGrid() {
      const step = Math.max(1, Math.round((this.high - this.low) / 5));
      for (let power = this.low; power <= this.high; power += step) {
        const y = this.y(10 ** power);
        this.svg.append(
          makeSvg("line", { class: "depth-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
        );
        const label = makeSvg("text", { class: "depth-label", x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" });
        label.textContent = power === 0 ? "1" : written(10 ** power).replace(/^1\.0 \u00B7 /, "");
        this.svg.append(label);
      }
      const below = makeSvg("text", { class: "depth-label", x: MARGIN.left, y: HEIGHT - 6 });
      below.textContent = "first layer";
      const last = makeSvg("text", { class: "depth-label", x: WIDTH - MARGIN.right, y: HEIGHT - 6, "text-anchor": "end" });
      last.textContent = "last layer";
      this.svg.append(below, last);
    }

    y(number) {
      const part = (Math.log10(number) - this.low) / (this.high - this.low);
      return HEIGHT - MARGIN.bottom - part * (HEIGHT - MARGIN.top - MARGIN.bottom);
    }

    /** First layer on the left, last on the right, whatever the depth. */
    draw(profiles, chosen) {
      STACKINGS.forEach(([name]) => {
        const numbers = profiles[name][this.key];
        const wide = WIDTH - MARGIN.left - MARGIN.right;
        const points = numbers.map((number, index) => {
          const x = MARGIN.left + (wide * index) / Math.max(numbers.length - 1, 1);
          return `${x.toFixed(1)},${this.y(number).toFixed(1)}`;
        });
        const line = this.lines.get(name);
        line.setAttribute("points", points.join(" "));
        line.classList.toggle("is-chosen", name === chosen);
      });
      this.svg.append(this.lines.get(chosen)); // to the front
    }
  }

  class DepthProfile {
    constructor(model, el) {
      this.model = model;
      this.chosen = "residual";
      this.charts = [
        new Chart("Size of the stream after each layer", "sizes", model),
        new Chart("Size of the gradient in each layer", "gradients", model),
      ];
      this.buttons = STACKINGS.map(([name, words]) => this.makeButton(name, words));
      const id = `depth-${(count += 1)}`;
      const last = model.depths.length - 1;
      this.input = make("input", { type: "range", id, min: 0, max: last, step: 1, value: last });
      this.output = make("output", { for: id });
      this.input.addEventListener("input", () => this.update());
      this.summary = make("p", { class: "depth-summary", "aria-live": "polite" });
      el.className = "depth";
      el.append(
        make("div", { class: "depth-buttons", role: "group", "aria-label": "Stacking" }, ...this.buttons),
        ...this.charts.map(({ element }) => element),
        make("div", { class: "depth-slider" }, make("label", { for: id }, "Layers"), this.output, this.input),
        this.summary,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.update();
    }

    makeButton(name, words) {
      const button = make("button", { type: "button", class: `depth-button depth-button--${name}` }, words);
      button.addEventListener("click", () => {
        this.chosen = name;
        this.update();
      });
      button.dataset.name = name;
      return button;
    }

    update() {
      const index = Number(this.input.value);
      const depth = this.model.depths[index];
      const profiles = Object.fromEntries(
        Object.entries(this.model.profiles).map(([name, measured]) => [name, measured[index]]),
      );
      this.charts.forEach((chart) => chart.draw(profiles, this.chosen));
      this.buttons.forEach((button) =>
        button.setAttribute("aria-pressed", String(button.dataset.name === this.chosen)),
      );
      this.output.textContent = depth;
      this.input.setAttribute("aria-valuetext", `${depth} layers`);
      const { sizes, gradients } = profiles[this.chosen];
      this.tell(
        `${depth} layers, ${this.chosen}: the stream begins with size ${written(sizes[0])} and ends ` +
          `with ${written(sizes[sizes.length - 1])}. The gradient is ` +
          `${written(gradients[gradients.length - 1])} in the last layer and ` +
          `${written(gradients[0])} in the first.`,
      );
    }

    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = sentence), PAUSE);
      if (!this.summary.textContent) this.summary.textContent = sentence;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["depth-profile"] = {
    render({ model, el }) {
      new DepthProfile(model, el);
    },
  };
})();
