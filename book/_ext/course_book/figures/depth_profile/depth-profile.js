/* The figure "depth-profile": sizes and gradients through a stack of layers, in four stackings.
 *
 * model: { depths, profiles: { stacking: [{ sizes, gradients } for each depth] }, note }.
 */
(function () {
  "use strict";

  const { make, makeChart, makeChartLabel, makeSvg, scientific } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const STACKINGS = [
    ["plain", "plain: f(x)"],
    ["residual", "residual: x + f(x)"],
    ["post", "post: norm(x + f(x))"],
    ["pre", "pre: x + f(norm(x))"],
  ];
  const WIDTH = 640;
  const HEIGHT = 240;
  const MARGIN = { left: 62, right: 14, top: 14, bottom: 34 };

  /** A number as short text: 0.15, 2.2, 6 x 10^6. */
  function written(number) {
    if (number >= 0.01 && number < 1000) return String(Number(number.toPrecision(2)));
    return scientific(number);
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
      this.svg = makeChart(WIDTH, HEIGHT);
      this.drawGrid();
      STACKINGS.forEach(([name]) => {
        const line = makeSvg("polyline", { class: `depth-line depth-line--${name}` });
        this.lines.set(name, line);
        this.svg.append(line);
      });
      this.element = make("div", { class: "depth-chart" }, make("p", { class: "course-chart-title" }, title), this.svg);
    }

    drawGrid() {
      const step = Math.max(1, Math.round((this.high - this.low) / 5));
      for (let power = this.low; power <= this.high; power += step) {
        const y = this.y(10 ** power);
        const words = power === 0 ? "1" : written(10 ** power).replace(/^1\.0 \u00B7 /, "");
        this.svg.append(
          makeSvg("line", { class: "course-chart-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
          makeChartLabel(words, MARGIN.left - 8, y, "end", "0.35em"),
        );
      }
      this.svg.append(
        makeChartLabel("first layer", MARGIN.left, HEIGHT - 6, "start"),
        makeChartLabel("last layer", WIDTH - MARGIN.right, HEIGHT - 6, "end"),
      );
    }

    y(number) {
      const part = (Math.log10(number) - this.low) / (this.high - this.low);
      return HEIGHT - MARGIN.bottom - part * (HEIGHT - MARGIN.top - MARGIN.bottom);
    }

    /** Draw the profiles; at every depth the first layer is on the left and the last on the right. */
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
      const { depths } = model;
      const deepest = { max: depths.length - 1, value: depths.length - 1 };
      this.slider = new Slider("Layers", () => this.update(), deepest);
      this.summary = new Summary();
      el.className = "depth";
      el.append(
        make("div", { class: "course-pills", role: "group", "aria-label": "Stacking" }, ...this.buttons),
        ...this.charts.map(({ element }) => element),
        this.slider.element,
        this.summary.element,
      );
      this.update();
    }

    makeButton(name, words) {
      const button = makeButton(words, () => {
        this.chosen = name;
        this.update();
      }, `course-pill depth-button--${name}`);
      button.dataset.name = name;
      return button;
    }

    update() {
      const index = this.slider.get();
      const depth = this.model.depths[index];
      const profiles = Object.fromEntries(
        Object.entries(this.model.profiles).map(([name, measured]) => [name, measured[index]]),
      );
      this.charts.forEach((chart) => chart.draw(profiles, this.chosen));
      this.buttons.forEach((button) =>
        button.setAttribute("aria-pressed", String(button.dataset.name === this.chosen)),
      );
      this.slider.show(depth, `${depth} layers`);
      const { sizes, gradients } = profiles[this.chosen];
      this.summary.tell(
        `${depth} layers, ${this.chosen}: the stream begins with size ${written(sizes[0])} and ends ` +
          `with ${written(sizes[sizes.length - 1])}. The gradient is ` +
          `${written(gradients[gradients.length - 1])} in the last layer and ` +
          `${written(gradients[0])} in the first.`,
      );
    }
  }

  window.courseFigures["depth-profile"] = DepthProfile;
})();
