/* The figure "norm-sphere": LayerNorm lets a vector fall onto the floor, where the mean is 0, and
 * slide onto a circle; RMSNorm pulls it straight onto a sphere.
 *
 * model: { entries, epsilon, note }; three entries.
 */
(function () {
  "use strict";

  const { make, makeSvg, signed } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const { View, SIZE, SCALE, MIDDLE } = window.courseNormView;
  const Handle = window.courseHandle;
  const STEP = 0.1;
  const REACH = 3; // of an entry
  const FALL = 1000; // milliseconds for a step
  const ROUND = 96; // points of a circle
  const AXIS = 2.3; // length of an axis that is drawn
  const BEYOND = 1.18; // part of an axis at which its name stands, outside the sphere
  const FLOOR = 2.4; // radius of the floor that is drawn

  const mean = (x) => x.reduce((sum, at) => sum + at, 0) / x.length;
  const length = (x) => Math.hypot(...x);

  /** The two steps of LayerNorm before its gain and bias. */
  function layerNorm(x, epsilon) {
    const centred = x.map((at) => at - mean(x));
    const deviation = Math.sqrt(length(centred) ** 2 / x.length + epsilon);
    return { centred, normal: centred.map((at) => at / deviation) };
  }

  function rmsNorm(x, epsilon) {
    const size = Math.sqrt(length(x) ** 2 / x.length + epsilon);
    return x.map((at) => at / size);
  }

  /** One drawing of the space: its floor, a line through 0, the vector's handle. */
  class Scene {
    constructor(title, view, ...parts) {
      this.view = view;
      this.floor = makeSvg("path", { class: "sphere-floor" });
      this.floorName = makeSvg("text", { class: "sphere-name" }, "mean 0");
      this.ball = makeSvg("circle", { class: "sphere-ball", r: 8 });
      this.axes = ["entry 1", "entry 2", "entry 3"].map((name) => ({
        line: makeSvg("line", { class: "sphere-axis" }), name: makeSvg("text", { class: "sphere-name" }, name),
      }));
      this.arrow = makeSvg("line", { class: "sphere-x" });
      this.svg = makeSvg("svg", { viewBox: `0 0 ${SIZE[0]} ${SIZE[1]}`, "aria-hidden": "true" },
        this.floor, ...this.axes.map(({ line }) => line), ...parts, this.arrow, this.ball,
        this.floorName, ...this.axes.map(({ name }) => name));
      this.stage = make("div", { class: "course-plane" }, this.svg);
      this.element = make("div", {}, make("p", { class: "course-chart-title" }, title), this.stage);
    }

    circle(radius, change = (x) => x) {
      return Array.from({ length: ROUND }, (_, i) => {
        const angle = (2 * Math.PI * i) / ROUND;
        return change(this.view.vector({ right: radius * Math.cos(angle), away: radius * Math.sin(angle), up: 0 }));
      });
    }

    line(element, from, to) {
      const [[x1, y1], [x2, y2]] = [this.view.place(from), this.view.place(to)];
      Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => element.setAttribute(name, value.toFixed(1)));
    }

    dot(element, x) {
      const [cx, cy] = this.view.place(x);
      element.setAttribute("cx", cx.toFixed(1));
      element.setAttribute("cy", cy.toFixed(1));
    }

    label(element, x, dx, dy) {
      const [left, top] = this.view.place(x);
      element.setAttribute("x", (left + dx).toFixed(1));
      element.setAttribute("y", (top + dy).toFixed(1));
    }

    put(handle, x, spoken) {
      const [left, top] = this.view.place(x);
      handle.show(left / SIZE[0], top / SIZE[1], spoken);
    }

    drawSpace(x) {
      this.floor.setAttribute("d", this.view.path(this.circle(FLOOR)));
      this.axes.forEach(({ line, name }, i) => {
        const tip = [0, 0, 0].map((_, j) => (i === j ? AXIS : 0));
        this.line(line, [0, 0, 0], tip);
        this.label(name, tip.map((at) => at * BEYOND), 0, 5);
      });
      const front = this.view.vector({ right: 0, away: -FLOOR, up: 0 });
      this.label(this.floorName, front, 0, 18);
      this.line(this.arrow, [0, 0, 0], x);
    }
  }

  class NormSphere {
    constructor(model, el) {
      this.model = model;
      this.view = new View();
      this.parts = {
        fall: makeSvg("line", { class: "sphere-fall" }),
        slide: makeSvg("line", { class: "sphere-slide" }),
        circle: makeSvg("path", { class: "sphere-circle" }),
        gained: makeSvg("path", { class: "sphere-gained" }),
        normal: makeSvg("circle", { class: "sphere-dot", r: 9 }),
        output: makeSvg("circle", { class: "sphere-dot sphere-dot--gained", r: 9 }),
        fallName: makeSvg("text", { class: "sphere-step" }, "\u2212 mean"),
        slideName: makeSvg("text", { class: "sphere-step" }, "\u00F7 deviation"),
        pull: makeSvg("line", { class: "sphere-slide" }),
        ball: makeSvg("circle", { class: "sphere-circle", cx: MIDDLE[0], cy: MIDDLE[1], r: SCALE * Math.sqrt(3) }),
        equator: makeSvg("path", { class: "sphere-equator" }),
        pulled: makeSvg("circle", { class: "sphere-dot", r: 9 }),
      };
      const p = this.parts;
      this.layer = new Scene("LayerNorm: onto a circle", this.view,
        p.circle, p.gained, p.fall, p.slide, p.fallName, p.slideName, p.normal, p.output);
      this.rms = new Scene("RMSNorm: onto a sphere", this.view, p.ball, p.equator, p.pull, p.pulled);
      this.handles = [this.liftHandle("drag me"), this.liftHandle("")];
      this.foot = this.handle("x minus its mean", "value", (x, across, down) => this.view.shifted(x, across, down),
        (sides, right, up) => ({ ...sides, right: sides.right + right, away: sides.away + up }));
      this.layer.stage.append(this.foot.element, this.handles[0].element);
      this.rms.stage.append(this.handles[1].element);
      this.turn = this.slider("Walk round it", { min: -180, max: 180, step: 5, value: 0 });
      this.gain = this.slider("Gain of entry 1", { min: 0, max: 2, step: 0.1, value: 1 });
      this.bias = this.slider("Bias of entry 1", { min: -1.5, max: 1.5, step: 0.1, value: 0 });
      this.rows = ["x", "LayerNorm", "RMSNorm"].map((name) => this.makeRow(name));
      this.summary = new Summary();
      this.el = el;
      el.className = "sphere";
      el.append(
        make("div", { class: "sphere-scenes" }, this.layer.element, this.rms.element),
        make("div", { class: "course-pills" },
          makeButton("Let x fall", () => this.fall()), makeButton("Start again", () => this.reset())),
        make("div", { class: "course-sliders" }, this.turn.element, this.gain.element, this.bias.element),
        this.makeTable(),
        this.summary.element,
      );
      this.reset();
    }

    /** Roll a ball along the way of x; for readers who asked for less motion, put it at the end. */
    fall() {
      const { centred, normal } = layerNorm(this.x, this.model.epsilon);
      const pulled = rmsNorm(this.x, this.model.epsilon);
      const between = (from, to, part) => from.map((at, i) => at + part * (to[i] - at));
      const begin = performance.now();
      const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      cancelAnimationFrame(this.frame);
      const move = (now) => {
        const part = isStill ? 2 : Math.min((now - begin) / FALL, 2);
        this.layer.dot(this.layer.ball, part < 1 ? between(this.x, centred, part) : between(centred, normal, part - 1));
        this.rms.dot(this.rms.ball, between(this.x, pulled, part / 2));
        this.el.classList.toggle("is-falling", part < 2);
        if (part < 2) this.frame = requestAnimationFrame(move);
      };
      move(begin);
    }

    slider(name, range) {
      return new Slider(name, () => this.update(), range);
    }

    reset() {
      this.restore({ x: [...this.model.entries], turn: 0, gain: 1, bias: 0 });
    }

    get state() {
      return { x: this.x, turn: this.turn.get(), gain: this.gain.get(), bias: this.bias.get() };
    }

    restore({ x, turn, gain, bias }) {
      this.x = x;
      this.turn.set(turn);
      this.gain.set(gain);
      this.bias.set(bias);
      this.update();
    }

    liftHandle(hint) {
      return this.handle("x", "query", (x, across, down) => this.view.lifted(x, across, down),
        (sides, right, up) => ({ ...sides, right: sides.right + right, up: sides.up + up }), hint);
    }

    /** A handle of x: `drag` finds the vector for a place, `step` moves it to the sides. */
    handle(name, role, drag, step, hint) {
      const to = (x) => {
        this.x = x.map((at) => Math.min(Math.max(at, -REACH), REACH));
        this.update();
      };
      return new Handle(name, {
        role, hint,
        onDrag: (across, down) => to(drag(this.x, across, down)),
        onStep: (right, up) => to(this.view.vector(step(this.view.sides(this.x), STEP * right, STEP * up))),
      });
    }

    makeRow(name) {
      const cells = Array.from({ length: 5 }, () => make("td"));
      return { cells, element: make("tr", {}, make("th", { scope: "row" }, name), ...cells) };
    }

    makeTable() {
      const heads = ["", "1", "2", "3", "mean", "length"];
      return make("table", { class: "sphere-table" },
        make("caption", { class: "course-unseen" }, "Entries of x and of both outputs"),
        make("thead", {}, make("tr", {}, ...heads.map((words) => (words ? make("th", { scope: "col" }, words) : make("td"))))),
        make("tbody", {}, ...this.rows.map(({ element }) => element)));
    }

    update() {
      const { x, view } = this;
      cancelAnimationFrame(this.frame);
      this.el.classList.remove("is-falling");
      view.turn = this.turn.get();
      const [gain, bias] = [this.gain.get(), this.bias.get()];
      this.turn.show(`${view.turn}\u00B0`);
      this.gain.show(gain.toFixed(1));
      this.bias.show(signed(bias, 1));
      const { centred, normal } = layerNorm(x, this.model.epsilon);
      const affine = (vector) => vector.map((at, i) => (i ? at : gain * at + bias));
      const output = affine(normal);
      const pulled = rmsNorm(x, this.model.epsilon);
      this.drawLayer(x, centred, normal, affine);
      this.drawRms(x, pulled);
      [x, output, pulled].forEach((vector, row) => this.fill(this.rows[row].cells, vector));
      this.summary.tell(
        `LayerNorm takes off the mean, ${signed(mean(x))}, and divides by the deviation: ` +
        `all that is left of x is its direction on the floor. RMSNorm keeps a mean of ${signed(mean(pulled))}.`,
      );
    }

    fill(cells, vector) {
      [...vector, mean(vector)].forEach((at, i) => (cells[i].textContent = signed(at)));
      cells[4].textContent = length(vector).toFixed(2);
    }

    drawLayer(x, centred, normal, affine) {
      const { layer, parts } = this;
      layer.drawSpace(x);
      const round = Math.sqrt(3);
      parts.circle.setAttribute("d", this.view.path(layer.circle(round)));
      parts.gained.setAttribute("d", this.view.path(layer.circle(round, affine)));
      const changed = affine([1, 0, 0])[0] !== 1 || affine([0, 0, 0])[0] !== 0;
      [parts.gained, parts.output].forEach((part) => (part.style.display = changed ? "" : "none"));
      layer.line(parts.fall, x, centred);
      layer.line(parts.slide, centred, normal);
      layer.dot(parts.normal, normal);
      layer.dot(parts.output, affine(normal));
      layer.label(parts.fallName, x.map((at, i) => 0.3 * at + 0.7 * centred[i]), 10, 5);
      this.labelSlide(centred, normal);
      layer.put(this.handles[0], x, this.say(x));
      layer.put(this.foot, centred, this.say(centred));
    }

    /** Write the label of the slide below it, or to its left where it runs up or down. */
    labelSlide(centred, normal) {
      const [[x1, y1], [x2, y2]] = [centred, normal].map((x) => this.view.place(x));
      const isFlat = Math.abs(x2 - x1) > 2 * Math.abs(y2 - y1);
      this.parts.slideName.setAttribute("text-anchor", isFlat ? "middle" : "end");
      this.layer.label(this.parts.slideName, centred.map((at, i) => (at + normal[i]) / 2), isFlat ? 0 : -16, isFlat ? 26 : 6);
    }

    drawRms(x, pulled) {
      const { rms, parts } = this;
      rms.drawSpace(x);
      parts.equator.setAttribute("d", this.view.path(rms.circle(Math.sqrt(3))));
      rms.line(parts.pull, x, pulled);
      rms.dot(parts.pulled, pulled);
      rms.put(this.handles[1], x, this.say(x));
    }

    say(vector) {
      return vector.map((at) => signed(at, 1)).join(", ");
    }
  }

  window.courseFigures["norm-sphere"] = NormSphere;
})();
