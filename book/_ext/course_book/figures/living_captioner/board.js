/* The picture, and a grid of buttons over it: places for shapes, or regions for a look.
 *
 * new Board({ onPlace, onRegion }): onPlace(row, column) is told in pixels, onRegion(place) by number.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton, steerGrid } = window.courseControls;
  const { paint } = window.courseCaptioner;
  const WIDE = 512; // pixels of the canvas
  const PLACES = { columns: 4, rows: 8 }; // a shape a column, as in the pictures of the training
  const REGIONS = { columns: 8, rows: 8 };
  const HIGHEST = 4; // pixels that a shape's centre keeps from the upper and the lower edge

  class Board {
    constructor({ side, onPlace, onRegion }) {
      Object.assign(this, { side });
      this.canvas = make("canvas", { "aria-hidden": "true" });
      this.places = this.grid(PLACES, (i) => {
        const [row, column] = [Math.floor(i / PLACES.columns), i % PLACES.columns];
        const middle = ((row + 0.5) * side) / PLACES.rows;
        onPlace(Math.min(Math.max(middle, HIGHEST), side - HIGHEST), ((column + 0.5) * side) / PLACES.columns);
      });
      this.regions = this.grid(REGIONS, onRegion);
      this.element = make("div", { class: "caption-board" }, this.canvas, this.places.element, this.regions.element);
    }

    grid({ columns, rows }, onPress) {
      const buttons = Array.from({ length: columns * rows }, (_, i) => makeButton("", () => onPress(i), "caption-cell"));
      const element = make("div", { class: "caption-grid", role: "group" }, ...buttons);
      element.style.setProperty("--columns", columns);
      steerGrid(buttons, columns);
      return { buttons, element };
    }

    /** Show a picture: its pixels and its shapes. `look` has the weights of regions, null while drawing. */
    show({ picture, shapes, look, framed }) {
      paint(this.canvas, picture, WIDE, { light: look, framed });
      this.places.element.hidden = Boolean(look);
      this.regions.element.hidden = !look;
      this.places.element.setAttribute("aria-label", "The picture: places for shapes");
      this.regions.element.setAttribute("aria-label", "The picture: regions that are looked at");
      this.places.buttons.forEach((button, i) => button.setAttribute("aria-label", this.namePlace(i, shapes)));
      if (look) this.regions.buttons.forEach((button, i) => button.setAttribute("aria-label", this.nameRegion(i, look[i], framed.has(i))));
    }

    namePlace(i, shapes) {
      const [row, column] = [Math.floor(i / PLACES.columns), i % PLACES.columns];
      const [high, wide] = [this.side / PLACES.rows, this.side / PLACES.columns];
      const here = shapes.find((shape) => Math.floor(shape.column / wide) === column && Math.floor(shape.row / high) === row);
      return `row ${row + 1}, column ${column + 1}${here ? `: ${here.size} ${here.color} ${here.kind}` : ""}`;
    }

    nameRegion(i, weight, isTrue) {
      const [row, column] = [Math.floor(i / REGIONS.columns), i % REGIONS.columns];
      return `row ${row + 1}, column ${column + 1}: ${Math.round(100 * weight)}%${isTrue ? ", on the shape" : ""}`;
    }
  }

  window.courseCaptioner.Board = Board;
})();
