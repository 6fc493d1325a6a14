/* The figure "attention-plane": a query and keys as arrows to drag; the mix of the values
 * is where the line below balances.
 *
 * model: { names, query, key, value, axes, unit, reach, note }; queries and keys in the plane.
 */
(function () {
  "use strict";

  const { dot, softmax } = window.courseArithmetic;
  const { make, makeSvg, signed } = window.courseElements;
  const { Summary, makeButton } = window.courseControls;
  const Handle = window.courseHandle;
  const STEP = 0.1;
  const LINE = { width: 640, height: 130, left: 60, right: 60, y: 58, radius: 30 };

  class AttentionPlane {
    constructor(model, el) {
      this.model = model;
      this.plane = new window.coursePlane(model.reach, model.axes);
      this.shadows = model.names.map(() => makeSvg("path", { class: "plane-shadow" }));
      this.keys = model.names.map((name, i) => this.makeKey(name, i));
      this.query = { arrow: this.plane.arrow("query"), label: this.label("query", "query") };
      this.query.handle = this.handle("query", "query", () => this.point, (p) => (this.point = p), "drag me");
      this.ray = makeSvg("line", { class: "plane-ray" });
      this.plane.add(this.ray, ...this.shadows, ...this.keys.map(({ arrow }) => arrow.element), this.query.arrow.element,
        ...this.keys.map(({ label }) => label), this.query.label);
      this.plane.element.append(...this.keys.map(({ handle }) => handle.element), this.query.handle.element);
      this.rows = model.names.map((name) => this.makeRow(name));
      this.summary = new Summary();
      el.className = "plane";
      el.append(
        make("div", { class: "plane-board" },
          this.plane.element,
          make("div", { class: "plane-side" }, this.makeTable(),
            makeButton("Start again", () => this.reset()))),
        this.makeLine(),
        this.summary.element,
      );
      this.reset();
    }

    reset() {
      this.point = [...this.model.query];
      this.places = this.model.key.map((key) => [...key]);
      this.update();
    }

    makeKey(name, i) {
      return {
        arrow: this.plane.arrow("key"),
        label: this.label(name, "key"),
        handle: this.handle(`key of ${name}`, "key", () => this.places[i], (p) => (this.places[i] = p)),
      };
    }

    label(words, role) {
      return makeSvg("text", { class: `plane-label plane-label--${role}` }, words);
    }

    handle(name, role, get, set, hint) {
      const to = (point) => {
        set(this.plane.inside(point.map((at) => Number(at.toFixed(2)))));
        this.update();
      };
      return new Handle(name, {
        role, hint,
        onDrag: (across, down) => to(this.plane.point(across, down)),
        onStep: (right, up) => to([get()[0] + STEP * right, get()[1] + STEP * up]),
      });
    }

    makeRow(name) {
      const bar = make("span", { class: "plane-fill" });
      const row = { score: make("td", { class: "plane-score" }), weight: make("span", { class: "plane-weight" }), bar };
      row.element = make("tr", {}, make("th", { scope: "row" }, name), row.score,
        make("td", {}, make("span", { class: "plane-share" },
          make("span", { class: "plane-track", "aria-hidden": "true" }, bar), row.weight)));
      return row;
    }

    makeTable() {
      const heads = [["", ""], ["course-key", "score q\u00B7k"], ["course-query", "weight"]];
      return make("table", { class: "plane-table" },
        make("caption", { class: "course-unseen" }, "Score and weight of each key"),
        make("thead", {}, make("tr", {}, ...heads.map(([role, words]) =>
          words ? make("th", { scope: "col" }, make("span", { class: role }, words)) : make("td")))),
        make("tbody", {}, ...this.rows.map(({ element }) => element)));
    }

    /** Make the line of values, each as heavy as its weight, with the point where it balances. */
    makeLine() {
      const { names, value, unit } = this.model;
      const { width, height, left, right, y } = LINE;
      const [low, high] = [Math.min(...value), Math.max(...value)];
      this.toX = (v) => left + ((width - left - right) * (v - low)) / (high - low || 1);
      this.discs = value.map((v) => makeSvg("circle", { class: "plane-disc", cx: this.toX(v), cy: y }));
      this.pivot = makeSvg("path", { class: "plane-pivot", d: `M0 ${y + 4}l-13 24h26Z` });
      this.answer = makeSvg("text", { class: "plane-answer", y: height - 8 });
      const texts = names.map((name, i) =>
        makeSvg("text", { class: "plane-value", x: this.toX(value[i]), y: 20 }, `${name} ${value[i]}`));
      const svg = makeSvg("svg", { class: "course-chart plane-line", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
        makeSvg("line", { class: "plane-beam", x1: left / 2, x2: width - right / 2, y1: y, y2: y }),
        ...this.discs, ...texts, this.pivot, this.answer);
      return make("div", {},
        make("p", { class: "course-chart-title" }, make("span", { class: "course-value" }, "values"), ` (${unit}), each as heavy as its weight`),
        svg);
    }

    update() {
      const { names, value } = this.model;
      const scores = this.places.map((key) => dot(this.point, key));
      const weights = softmax(scores);
      const mixed = dot(weights, value);
      this.keys.forEach((key, i) => {
        this.plane.aim(key.arrow, this.places[i], 2 + 8 * weights[i]);
        this.plane.put(key.handle, this.places[i], this.where(this.places[i]));
        this.name(key.label, this.places[i]);
        this.shade(this.shadows[i], this.places[i], scores[i]);
        const row = this.rows[i];
        row.score.textContent = signed(scores[i]);
        row.weight.textContent = weights[i].toFixed(2);
        row.bar.style.width = `${(100 * weights[i]).toFixed(1)}%`;
        this.discs[i].setAttribute("r", (LINE.radius * Math.sqrt(weights[i])).toFixed(1));
      });
      this.drawRay();
      this.plane.aim(this.query.arrow, this.point, 6);
      this.plane.put(this.query.handle, this.point, this.where(this.point));
      this.name(this.query.label, this.point);
      this.pivot.setAttribute("transform", `translate(${this.toX(mixed).toFixed(1)} 0)`);
      this.answer.setAttribute("x", Math.min(Math.max(this.toX(mixed), LINE.left), LINE.width - LINE.right).toFixed(1));
      this.answer.textContent = `${mixed.toFixed(1)} ${this.model.unit}`;
      const best = weights.indexOf(Math.max(...weights));
      this.summary.tell(
        `The query agrees most with ${names[best]}, which gets ${Math.round(100 * weights[best])}% of the weight. ` +
        `The answer, ${mixed.toFixed(1)} ${this.model.unit}, is where the values balance.`,
      );
    }

    get state() {
      return { point: this.point, places: this.places };
    }

    restore(state) {
      Object.assign(this, state);
      this.update();
    }

    where(point) {
      return point.map((at, i) => `${this.model.axes[i]} ${signed(at, 1)}`).join(", ");
    }

    /** Put an arrow's name beside its tip, on the side away from the middle. */
    name(label, point) {
      const [x, y] = this.plane.view(point);
      const [dx, dy] = [Math.sign(point[0]) || 1, Math.sign(point[1]) || 1];
      label.setAttribute("x", (x + 14 * dx).toFixed(1));
      label.setAttribute("y", (y - 14 * dy + 6).toFixed(1));
      label.setAttribute("text-anchor", dx > 0 ? "start" : "end");
    }

    /** Draw the line along the query, through the whole plane. */
    drawRay() {
      const length = Math.hypot(...this.point) || 1;
      const far = this.point.map((at) => (2 * this.model.reach * at) / length);
      const [[x1, y1], [x2, y2]] = [far.map((at) => -at), far].map((end) => this.plane.view(end));
      Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => this.ray.setAttribute(name, value.toFixed(1)));
    }

    /** Draw the key's projection onto the query's line, at the score divided by the query's length. */
    shade(path, key, score) {
      const square = dot(this.point, this.point);
      const foot = square ? this.point.map((at) => (at * score) / square) : [0, 0];
      const [[x, y], [fx, fy]] = [this.plane.view(key), this.plane.view(foot)];
      path.setAttribute("d", `M${x.toFixed(1)} ${y.toFixed(1)}L${fx.toFixed(1)} ${fy.toFixed(1)}`);
    }
  }

  window.courseFigures["attention-plane"] = AttentionPlane;
})();
