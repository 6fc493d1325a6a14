/* The figure "warm-up-schedule": the Transformer's learning rate, by width, warm-up and update.
 *
 * model: { d_model, warmup_steps, steps, note }: the curve that stays for comparison.
 */
(function () {
  "use strict";

  const { make, makeChart, makeChartLabel, makeSvg, grouped, powerOfTen, scientific } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const WIDTH = 640;
  const HEIGHT = 300;
  const MARGIN = { left: 84, right: 34, top: 14, bottom: 52 };
  const WIDTHS = [64, 128, 256, 512, 1024, 2048];
  const WARMUPS = [1, 250, 500, 1000, 2000, 4000, 8000, 16000];
  const STEPS = [5000, 10000, 20000, 50000, 100000, 300000];
  const POINTS = 300;
  const LOWEST = -8; // logarithmic axes: rates from 10^LOWEST to 10^HIGHEST
  const HIGHEST = 0;

  /** The paper's equation 3, for the n-th update. */
  function rate(update, width, warmup) {
    return width ** -0.5 * Math.min(update ** -0.5, update * warmup ** -1.5);
  }

  const short = (number) => (number >= 1000 ? `${number / 1000}k` : String(number));
  const power = (exponent) => (exponent === 0 ? "1" : powerOfTen(exponent));

  /** A rate as text: 0.000699, or 1.75 x 10^-7 if it is very small. */
  function written(number) {
    const exponent = Math.floor(Math.log10(number));
    if (exponent >= -4) return Number(number.toPrecision(3)).toFixed(2 - exponent);
    return scientific(number, 2);
  }

  class WarmUpSchedule {
    constructor(model, el) {
      this.model = model;
      this.width = this.slider("Width d_model", WIDTHS, model.d_model);
      this.warmup = this.slider("Warm-up w", WARMUPS, model.warmup_steps);
      this.steps = this.slider("Updates shown", STEPS, model.steps);
      this.isLog = false;
      this.axes = makeButton("Logarithmic axes", () => {
        this.isLog = !this.isLog;
        this.update();
      });
      this.svg = makeChart(WIDTH, HEIGHT);
      this.grid = makeSvg("g");
      this.paper = makeSvg("polyline", { class: "schedule-curve schedule-curve--paper" });
      this.curve = makeSvg("polyline", { class: "schedule-curve schedule-curve--own" });
      this.peak = makeSvg("circle", { class: "schedule-peak", r: 7 });
      this.svg.append(this.grid, this.paper, this.curve, this.peak);
      this.summary = new Summary();
      el.className = "schedule";
      el.append(
        make("p", { class: "course-chart-title" }, "Learning rate"),
        this.svg,
        make(
          "p",
          { class: "course-legend" },
          make("span", { class: "schedule-key--own" }, "as you set it"),
          make("span", { class: "schedule-key--paper" }, `d_model ${model.d_model}, warm-up ${grouped(model.warmup_steps)}`),
        ),
        make("div", { class: "course-sliders" }, this.width.element, this.warmup.element, this.steps.element),
        this.axes,
        this.summary.element,
      );
      this.update();
    }

    slider(name, values, value) {
      return new Slider(name, () => this.update(), { values, value });
    }

    x(update) {
      const part = this.isLog ? Math.log(update) / Math.log(this.last) : update / this.last;
      return MARGIN.left + (WIDTH - MARGIN.left - MARGIN.right) * part;
    }

    y(value) {
      const part = this.isLog ? (Math.log10(value) - LOWEST) / (HIGHEST - LOWEST) : value / this.top;
      return HEIGHT - MARGIN.bottom - (HEIGHT - MARGIN.top - MARGIN.bottom) * Math.max(part, 0);
    }

    /** Updates that are drawn: evenly spread on the axis as it is, and both peaks. */
    updates() {
      const spread = Array.from({ length: POINTS + 1 }, (_, i) => {
        const part = i / POINTS;
        return Math.max(1, Math.round(this.isLog ? this.last ** part : this.last * part));
      });
      const peaks = [this.warmup.get(), this.model.warmup_steps].filter((peak) => peak <= this.last);
      return [...new Set([...spread, ...peaks])].sort((a, b) => a - b);
    }

    points(updates, width, warmup) {
      return updates
        .map((update) => `${this.x(update).toFixed(1)},${this.y(rate(update, width, warmup)).toFixed(1)}`)
        .join(" ");
    }

    ticks() {
      if (this.isLog) {
        const powers = Array.from({ length: (HIGHEST - LOWEST) / 2 + 1 }, (_, i) => 10 ** (LOWEST + 2 * i));
        return { rates: powers, updates: [1, 10, 100, 1000, 10000, 100000].filter((n) => n <= this.last) };
      }
      const rough = this.top / 4;
      const unit = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].find((times) => times * unit >= rough) * unit;
      const rates = [];
      for (let i = 0; i * step <= this.top; i += 1) rates.push(Number((i * step).toPrecision(3)));
      return { rates, updates: [0, 1, 2, 3, 4].map((quarter) => (quarter * this.last) / 4) };
    }

    drawGrid() {
      const { rates, updates } = this.ticks();
      const parts = [];
      rates.forEach((value) => {
        const y = this.y(value);
        parts.push(
          makeSvg("line", { class: "course-chart-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
          makeChartLabel(this.isLog ? power(Math.round(Math.log10(value))) : String(value), MARGIN.left - 8, y + 5, "end"),
        );
      });
      updates.forEach((update) => parts.push(makeChartLabel(short(update), this.x(update), HEIGHT - MARGIN.bottom + 22, "middle")));
      parts.push(makeChartLabel("update", WIDTH - MARGIN.right, HEIGHT - 7, "end"));
      this.grid.replaceChildren(...parts);
    }

    update() {
      const width = this.width.get();
      const warmup = this.warmup.get();
      this.last = this.steps.get();
      const reached = Math.min(warmup, this.last);
      const highest = Math.max(
        rate(reached, width, warmup),
        rate(Math.min(this.model.warmup_steps, this.last), this.model.d_model, this.model.warmup_steps),
      );
      this.top = 1.08 * highest;
      [this.width, this.warmup, this.steps].forEach((slider) => slider.show());
      this.axes.setAttribute("aria-pressed", String(this.isLog));
      this.drawGrid();
      const updates = this.updates();
      this.paper.setAttribute("points", this.points(updates, this.model.d_model, this.model.warmup_steps));
      this.curve.setAttribute("points", this.points(updates, width, warmup));
      const peak = rate(warmup, width, warmup);
      this.peak.style.display = warmup <= this.last ? "" : "none";
      this.peak.setAttribute("cx", this.x(reached).toFixed(1));
      this.peak.setAttribute("cy", this.y(rate(reached, width, warmup)).toFixed(1));
      const end = rate(this.last, width, warmup);
      this.svg.dataset.peak = peak;
      this.svg.dataset.end = end;
      this.summary.tell(
        `The first update has ${written(rate(1, width, warmup))}, the peak, ` +
          `update ${grouped(warmup)}, ${written(peak)}. ` +
          `Update ${grouped(this.last)} has ${written(end)}.`,
      );
    }
  }

  window.courseFigures["warm-up-schedule"] = WarmUpSchedule;
})();
