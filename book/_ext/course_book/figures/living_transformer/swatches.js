/* Vectors as small pictures: a cell for each number, the stronger the larger. Positive numbers have
 * the colour of their role, negative ones are grey; a table gives the numbers of each picture.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const FULL = 2.5; // a number of this size has its full colour
  const CELL = { width: 8, height: 20 };
  const LONGEST = 48; // numbers in a line

  const known = {}; // asking the page for a colour thousands of times a frame would be slow

  /** A role's colour in the theme that is shown. */
  function color(role) {
    const key = `${document.documentElement.dataset.theme} ${role}`;
    known[key] ??= getComputedStyle(document.documentElement).getPropertyValue(`--course-${role}`).trim();
    return known[key];
  }

  /** Paint a vector into a box, in rows of so many numbers. */
  function paint(context, vector, { x, y, width, height, perRow, role }) {
    const rows = Math.ceil(vector.length / perRow);
    const [w, h] = [width / perRow, height / rows];
    const [positive, negative] = [color(role), color("mask")];
    vector.forEach((value, i) => {
      context.globalAlpha = Math.min(Math.abs(value) / FULL, 1);
      context.fillStyle = value < 0 ? negative : positive;
      context.fillRect(x + (i % perRow) * w, y + Math.floor(i / perRow) * h, w, h);
    });
    context.globalAlpha = 1;
  }

  /** A canvas of a size in CSS pixels, sharp on any screen. */
  function sharpen(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return context;
  }

  /** One vector in a line, its name before it. */
  function makeStrip(name, vector, role) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const perRow = Math.min(vector.length, LONGEST);
    const height = CELL.height * Math.ceil(vector.length / perRow);
    const context = sharpen(canvas, perRow * CELL.width, height);
    paint(context, vector, { x: 0, y: 0, width: perRow * CELL.width, height, perRow, role });
    canvas.style.width = "";
    canvas.style.aspectRatio = `${perRow * CELL.width} / ${height}`;
    canvas.style.height = "";
    canvas.style.maxWidth = `${perRow * CELL.width}px`;
    return make("div", { class: "living-strip", "data-role": role }, make("span", {}, name), canvas);
  }

  /** The legend of strips: the meaning of their colours. */
  function makeStripKey(role) {
    const swatch = (name) => {
      const box = make("span", { class: "living-swatch", "aria-hidden": "true" });
      box.style.background = `var(--course-${name})`;
      return box;
    };
    return make("p", { class: "living-hint" }, "Each cell is a number: ", swatch(role), " above 0, ", swatch("mask"), ` below; the stronger, the larger, in full colour from ${FULL} on.`);
  }

  Object.assign(window.courseLiving, { color, paint, sharpen, makeStrip, makeStripKey });
})();
