/* The figure "bend-curve": a few ReLU units, each one bend, follow a curve. The reader drags the
 * bends; the slopes follow, so that the line runs through all dots.
 *
 * model: { x, y, units: [[bend, slope], ...], bias, note }.
 */
(function () {
  "use strict";

  const { make, makeChart, makeSvg, signed } = window.courseElements;
  const { Summary, makeButton } = window.courseControls;
  const Handle = window.courseHandle;
  const WIDTH = 640;
  const HEIGHT = 380;
  const MARGIN = 24;
  const TALLEST = 1.7; // heights beyond +-TALLEST times the curve's own are cut off
  const STEP = 0.05; // of an arrow key
  const NEAREST = 0.05; // from a dot to the next

  /** The layer's output at x: the bias and one hinge for each unit. */
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
      this.svg = makeChart(WIDTH, HEIGHT);
      this.gap = makeSvg("polygon", { class: "bend-gap" });
      this.line = makeSvg("polyline", { class: "bend-sum" });
      this.hinge = makeSvg("polyline", { class: "bend-hinge" });
      this.names = ["the curve", "the layer", "the unit alone"].map((words, i) =>
        makeSvg("text", { class: `bend-name bend-name--${["curve", "sum", "hinge"][i]}` }, words));
      this.svg.append(
        this.gap,
        makeSvg("line", { class: "bend-axis", x1: 0, x2: WIDTH, y1: this.toY(0), y2: this.toY(0) }),
        makeSvg("polyline", { class: "bend-curve", points: this.points(model.x, model.y) }),
        this.hinge, this.line, ...this.names,
      );
      // one handle a bend, and one at the end of the line
      this.handles = Array.from({ length: model.units.length + 1 }, (_, i) => this.makeHandle(i));
      this.table = this.makeTable();
      this.summary = new Summary();
      el.className = "bend";
      el.append(
        make("div", { class: "bend-stage" }, this.svg, ...this.handles.map(({ element }) => element)),
        make("div", { class: "course-pills" },
          makeButton("Best slopes", () => this.solve()), makeButton("Start again", () => this.reset())),
        this.summary.element,
        this.table,
      );
      this.reset();
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

    makeHandle(i) {
      const isEnd = i === this.model.units.length;
      const handle = new Handle(isEnd ? "end of the line" : `bend of unit ${i + 1}`, {
        role: isEnd ? "prediction" : "key", hint: i === 2 ? "drag me" : "",
        onDrag: (across, down) => this.move(i,
          this.low + ((across * WIDTH - MARGIN) / (WIDTH - 2 * MARGIN)) * (this.high - this.low),
          (this.tall * (HEIGHT / 2 - down * HEIGHT)) / (HEIGHT / 2 - MARGIN)),
        onStep: (right, up) => {
          const [x, y] = this.dots()[i];
          this.move(i, x + STEP * right, y + STEP * up);
        },
      });
      handle.element.addEventListener("focus", () => this.single(i));
      return handle;
    }

    makeTable() {
      this.cells = this.model.units.map(() => [make("td"), make("td")]);
      const names = this.model.units.map((_, i) => make("th", { scope: "col" }, `unit ${i + 1}`));
      const row = (name, cells) => make("tr", {}, make("th", { scope: "row" }, name), ...cells);
      return make("table", { class: "bend-table" },
        make("caption", { class: "course-unseen" }, "Where each unit bends, and how much"),
        make("thead", {}, make("tr", {}, make("td"), ...names)),
        make("tbody", {}, row("bends at t", this.cells.map(([at]) => at)), row("slope w", this.cells.map(([, slope]) => slope))));
    }

    /** The corners of the line: one for each unit, and the line's end. */
    dots() {
      const xs = [...this.units.map(([bend]) => bend), this.high];
      return xs.map((x) => [x, layer(this.units, this.bias, x)]);
    }

    /** Move one corner and keep the others; it stays between its neighbours. */
    move(i, x, y) {
      const dots = this.dots();
      const isEnd = i === dots.length - 1;
      const left = i ? dots[i - 1][0] + NEAREST : this.low;
      const right = isEnd ? this.high : dots[i + 1][0] - NEAREST;
      const height = Math.min(Math.max(y, -this.tall), this.tall);
      dots[i] = [isEnd ? this.high : Math.min(Math.max(x, left), right), height];
      this.through(dots);
      this.chosen = i;
      this.update();
    }

    /** The units whose sum is the line through these corners. */
    through(dots) {
      this.bias = dots[0][1];
      let before = 0;
      this.units = dots.slice(0, -1).map(([x, y], i) => {
        const slope = (dots[i + 1][1] - y) / (dots[i + 1][0] - x);
        const added = slope - before;
        before = slope;
        return [x, added];
      });
    }

    single(i) {
      this.chosen = i;
      this.update();
    }

    solve() {
      const [bias, ...slopes] = bestSlopes(this.model, this.units.map(([bend]) => bend));
      this.bias = bias;
      slopes.forEach((slope, index) => (this.units[index][1] = slope));
      this.update();
    }

    reset() {
      this.units = this.model.units.map((unit) => [...unit]).sort(([a], [b]) => a - b);
      this.bias = this.model.bias;
      this.chosen = null;
      this.update();
    }

    get state() {
      return { units: this.units, bias: this.bias };
    }

    restore(state) {
      Object.assign(this, state);
      this.update();
    }

    error(units = this.units, bias = this.bias) {
      const { x, y } = this.model;
      const squares = x.map((at, i) => (layer(units, bias, at) - y[i]) ** 2);
      return squares.reduce((sum, square) => sum + square, 0) / squares.length;
    }

    update() {
      const { x, y } = this.model;
      const xs = [...x, ...this.units.map(([bend]) => bend)].sort((a, b) => a - b);
      const ys = xs.map((at) => layer(this.units, this.bias, at));
      this.line.setAttribute("points", this.points(xs, ys));
      this.gap.setAttribute("points", `${this.points(xs, ys)} ${this.points([...x].reverse(), [...y].reverse())}`);
      this.dots().forEach(([at, height], i) =>
        this.handles[i].show(this.toX(at) / WIDTH, this.toY(height) / HEIGHT, `${signed(at)} across, ${signed(height)} up`));
      this.units.forEach((unit, i) => unit.forEach((value, j) => (this.cells[i][j].textContent = signed(value))));
      this.showHinge();
      this.name(this.names[0], 0.76, y[Math.round(0.76 * (y.length - 1))], 28);
      this.name(this.names[1], 0.82, layer(this.units, this.bias, this.low + 0.82 * (this.high - this.low)), -14);
      const best = bestSlopes(this.model, this.units.map(([bend]) => bend));
      const least = this.error(this.units.map(([bend], i) => [bend, best[i + 1]]), best[0]);
      this.summary.tell(
        `Mean squared error ${this.error().toFixed(4)}. With the bends where they are, the best slopes leave ${least.toFixed(4)}.`,
      );
    }

    /** Draw the chosen unit's output alone: 0 up to its bend, straight from there. */
    showHinge() {
      const unit = this.units[this.chosen];
      [this.hinge, this.names[2]].forEach((part) => (part.style.display = unit ? "" : "none"));
      if (!unit) return;
      const end = unit[1] * (this.high - unit[0]);
      const reach = Math.min(1, this.tall / Math.abs(end || 1)); // cut off where the drawing ends
      const corner = [unit[0] + reach * (this.high - unit[0]), reach * end];
      this.hinge.setAttribute("points", this.points([this.low, unit[0], corner[0]], [0, 0, corner[1]]));
      this.name(this.names[2], 0.02, 0, 22);
    }

    name(text, part, y, dy) {
      text.setAttribute("x", this.toX(this.low + part * (this.high - this.low)).toFixed(1));
      text.setAttribute("y", (this.toY(y) + dy).toFixed(1));
    }
  }

  window.courseFigures["bend-curve"] = BendCurve;
})();
