/* A plane with two axes, arrows from its middle, and handles at their tips. */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const SIZE = 400; // units of the drawing, which is a square
  const HEAD = 16; // length of an arrow's head
  const RING = 8; // from a handle's middle to its edge

  class Plane {
    /** `reach`: the largest coordinate that is in view; `axes`: names of the two. */
    constructor(reach, axes) {
      this.reach = reach;
      this.svg = makeSvg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" },
        ...this.grid(), this.axisName(axes[0], SIZE - 4, SIZE / 2 - 9, "end"), this.axisName(axes[1], SIZE / 2 - 9, 20, "end"));
      this.element = make("div", { class: "course-plane" }, this.svg);
    }

    grid() {
      const lines = [];
      for (let at = -Math.floor(this.reach); at <= this.reach; at += 1) {
        const name = at === 0 ? "course-plane__axis" : "course-plane__grid";
        const [x, y] = this.view([at, at]);
        lines.push(makeSvg("line", { class: name, x1: x, x2: x, y1: 0, y2: SIZE }));
        lines.push(makeSvg("line", { class: name, x1: 0, x2: SIZE, y1: y, y2: y }));
      }
      return lines;
    }

    axisName(words, x, y, anchor) {
      return makeSvg("text", { class: "course-plane__name", x, y, "text-anchor": anchor }, words);
    }

    /** A point of the plane in the drawing's units. */
    view([x, y]) {
      const scale = SIZE / 2 / this.reach;
      return [SIZE / 2 + scale * x, SIZE / 2 - scale * y];
    }

    /** The point at these fractions of the drawing's width and height. */
    point(across, down) {
      return [(2 * across - 1) * this.reach, (1 - 2 * down) * this.reach];
    }

    add(...parts) {
      this.svg.append(...parts);
    }

    arrow(role) {
      const line = makeSvg("line", { class: "course-arrow__line" });
      const head = makeSvg("path", { class: "course-arrow__head" });
      return { line, head, element: makeSvg("g", { class: `course-arrow course-arrow--${role}` }, line, head) };
    }

    /** Draw an arrow from the middle to a point; its head ends where the handle's ring begins. */
    aim({ line, head }, point, width) {
      const [[x0, y0], [x, y]] = [this.view([0, 0]), this.view(point)];
      const length = Math.hypot(x - x0, y - y0);
      const [dx, dy] = length ? [(x - x0) / length, (y - y0) / length] : [0, 0];
      const at = (along, aside) => [x0 + along * dx - aside * dy, y0 + along * dy + aside * dx]
        .map((value) => value.toFixed(1)).join(" ");
      const tip = Math.max(length - RING, 0);
      const back = Math.max(tip - HEAD, 0);
      const wing = 5 + width / 2;
      const [endX, endY] = at(back, 0).split(" ");
      Object.entries({ x1: x0, y1: y0, x2: endX, y2: endY }).forEach(([name, value]) => line.setAttribute(name, value));
      line.style.strokeWidth = width;
      head.setAttribute("d", tip ? `M${at(tip, 0)}L${at(back, wing)}L${at(back, -wing)}Z` : "");
    }

    put(handle, point, spoken) {
      const [x, y] = this.view(point);
      handle.show(x / SIZE, y / SIZE, spoken);
    }

    /** The nearest point that is in view. */
    inside(point) {
      return point.map((at) => Math.min(Math.max(at, -this.reach), this.reach));
    }
  }

  window.coursePlane = Plane;
})();
