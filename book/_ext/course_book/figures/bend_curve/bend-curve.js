/* The figure "bend-curve": a few ReLU units, each one bend, follow a curve.
 *
 * model: { x, y, units: [[bend, slope], ...], bias, note }.
 */
(function () {
  "use strict";

  const { make, makeChart, makeSvg, signed } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const WIDTH = 640;
  const HEIGHT = 300;
  const MARGIN = 16;
  const TALLEST = 1.9; // heights beyond +-TALLEST times the curve's own are cut off
  const STEEPEST = 4;

  /** The layer's output at x: one hinge a unit. */
  function layer(units, bias, x) {
    return units.reduce((sum, [bend, slope]) => sum + slope * Math.max(0, x - bend), bias);
  }

  /** Solve a symmetric system by elimination; a unit that changes nothing gets 0. */
  function solve(matrix, right) {
    const rows = matrix.map((row, i) => [...row, right[i]]);
    const size = rows.length;
    for (let i = 0; i < size; i += 1) {
      let pivot = i;
      for (let j = i + 1; j < size; j += 1) {
        if (Math.abs(rows[j][i]) > Math.abs(rows[pivot][i])) pivot = j;
      }
      [rows[i], rows[pivot]] = [rows[pivot], rows[i]];
      if (Math.abs(rows[i][i]) < 1e-9) continue;
      for (let j = 0; j < size; j += 1) {
        if (j === i) continue;
        const share = rows[j][i] / rows[i][i];
        rows[i].forEach((value, column) => (rows[j][column] -= share * value));
      }
    }
    return rows.map((row, i) => (Math.abs(row[i]) < 1e-9 ? 0 : row[size] / row[i]));
  }

  /** Least squares: the bias and slopes that leave the smallest error, bends given. */
  function bestSlopes({ x, y }, bends) {
    const inner = x.map((at) => [1, ...bends.map((bend) => Math.max(0, at - bend))]);
    const columns = [...Array(bends.length + 1).keys()];
    const matrix = columns.map((i) =>
      columns.map((j) => inner.reduce((sum, row) => sum + row[i] * row[j], 0)),
    );
    const right = columns.map((i) => inner.reduce((sum, row, k) => sum + row[i] * y[k], 0));
    return solve(matrix, right);
  }

  class BendCurve {
    constructor(model, el) {
      this.model = model;
      this.low = model.x[0];
      this.high = model.x[model.x.length - 1];
      this.tall = TALLEST * Math.max(...model.y.map(Math.abs));
      this.units = model.units.map((unit) => [...unit]);
      this.bias = model.bias;
      this.svg = makeChart(WIDTH, HEIGHT);
      this.svg.append(
        makeSvg("line", { class: "bend-axis", x1: 0, x2: WIDTH, y1: this.toY(0), y2: this.toY(0) }),
        makeSvg("polyline", { class: "bend-curve", points: this.points(model.x, model.y) }),
      );
      this.line = makeSvg("polyline", { class: "bend-sum" });
      this.dots = this.units.map(() => makeSvg("circle", { class: "bend-dot", r: 7 }));
      this.svg.append(this.line, ...this.dots);
      this.sliders = [];
      const rows = this.units.map((unit, index) => this.unitRow(index));
      const biasSlider = this.slider("b\u2082, the level", -STEEPEST / 2, STEEPEST / 2, () => this.bias, (v) => (this.bias = v));
      this.summary = new Summary();
      el.className = "bend";
      el.append(
        this.svg,
        make("p", { class: "course-legend" }, make("span", { class: "bend-key--curve" }, "the curve"), make("span", { class: "bend-key--sum" }, "the layer")),
        make("div", { class: "bend-units" }, ...rows, make("div", { class: "bend-unit" }, biasSlider)),
        make("div", { class: "course-pills" },
          makeButton("Best slopes", () => this.solve()), makeButton("Start again", () => this.reset())),
        this.summary.element,
      );
      this.update();
    }

    toX(x) {
      return MARGIN + ((WIDTH - 2 * MARGIN) * (x - this.low)) / (this.high - this.low);
    }

    toY(y) {
      const inside = Math.max(-this.tall, Math.min(this.tall, y));
      return HEIGHT / 2 - ((HEIGHT / 2 - MARGIN) * inside) / this.tall;
    }

    points(xs, ys) {
      return xs.map((x, i) => `${this.toX(x).toFixed(1)},${this.toY(ys[i]).toFixed(1)}`).join(" ");
    }

    unitRow(index) {
      return make(
        "fieldset",
        { class: "bend-unit" },
        make("legend", {}, `Unit ${index + 1}`),
        this.slider("bends at", this.low, this.high, () => this.units[index][0], (v) => (this.units[index][0] = v)),
        this.slider("slope", -STEEPEST, STEEPEST, () => this.units[index][1], (v) => (this.units[index][1] = v)),
      );
    }

    slider(name, min, max, get, set) {
      const slider = new Slider(name, () => {
        set(slider.get());
        this.update();
      }, { min, max, step: 0.01, value: get() });
      this.sliders.push({ slider, get });
      return slider.element;
    }

    solve() {
      const [bias, ...slopes] = bestSlopes(this.model, this.units.map(([bend]) => bend));
      this.bias = bias;
      slopes.forEach((slope, index) => (this.units[index][1] = slope));
      this.update();
    }

    reset() {
      this.units = this.model.units.map((unit) => [...unit]);
      this.bias = this.model.bias;
      this.update();
    }

    error() {
      const { x, y } = this.model;
      const squares = x.map((at, i) => (layer(this.units, this.bias, at) - y[i]) ** 2);
      return squares.reduce((sum, square) => sum + square, 0) / squares.length;
    }

    update() {
      const xs = [...this.model.x, ...this.units.map(([bend]) => bend)].sort((a, b) => a - b);
      const ys = xs.map((x) => layer(this.units, this.bias, x));
      this.line.setAttribute("points", this.points(xs, ys));
      this.dots.forEach((dot, index) => {
        const [bend] = this.units[index];
        dot.setAttribute("cx", this.toX(bend).toFixed(1));
        dot.setAttribute("cy", this.toY(layer(this.units, this.bias, bend)).toFixed(1));
      });
      this.sliders.forEach(({ slider, get }) => {
        slider.set(get());
        slider.show(signed(get()));
      });
      const bends = this.units.filter(([, slope]) => Math.abs(slope) > 0.005).length;
      this.summary.tell(`Mean squared error ${this.error().toFixed(4)}, with ${bends} ${bends === 1 ? "unit" : "units"} in use.`);
    }
  }

  window.courseFigures["bend-curve"] = BendCurve;
})();
