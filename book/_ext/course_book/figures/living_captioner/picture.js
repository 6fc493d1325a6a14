/* Pictures of coloured shapes, painted by the formulas of course_lib's shape_pictures, without noise.
 *
 * render(shapes, { side, colors, sizes }) -> rows of red, green and blue from 0 to 1, pixels row by row.
 * paint(canvas, picture, light) shows it, where there is light: weights of regions darken what gets little.
 */
(function () {
  "use strict";

  const GROUND = 0.5;
  const DARKEST = 0.55; // the rest stays in sight

  /** Distance to a shape's edge, negative inside. */
  const DISTANCES = {
    circle: (x, y, radius) => Math.hypot(x, y) - radius,
    square: (x, y, radius) => Math.max(Math.abs(x), Math.abs(y)) - radius * 0.85,
    triangle: (x, y, radius) => Math.max(y, (Math.sqrt(3) / 2) * Math.abs(x) - y / 2) - radius / 2,
    cross: (x, y, radius) => Math.min(
      Math.max(Math.abs(x) - radius, Math.abs(y) - radius / 3),
      Math.max(Math.abs(x) - radius / 3, Math.abs(y) - radius)),
  };

  function render(shapes, { side, colors, sizes }) {
    const picture = [0, 1, 2].map(() => new Float64Array(side * side).fill(GROUND));
    shapes.forEach(({ kind, color, size, row, column }) => {
      for (let i = 0; i < side * side; i += 1) {
        const [x, y] = [(i % side) + 0.5 - column, Math.floor(i / side) + 0.5 - row];
        const inside = Math.min(Math.max(0.5 - DISTANCES[kind](x, y, sizes[size]), 0), 1);
        picture.forEach((channel, c) => (channel[i] += inside * (colors[color][c] - channel[i])));
      }
    });
    return picture;
  }

  /** Darken what gets little weight; the heaviest region stays as it is. */
  function darken(context, wide, light) {
    const across = Math.sqrt(light.length);
    const [step, most] = [wide / across, Math.max(...light)];
    light.forEach((weight, i) => {
      context.fillStyle = `rgb(0 0 0 / ${DARKEST * (1 - weight / most)})`;
      context.fillRect((i % across) * step, Math.floor(i / across) * step, step, step);
    });
  }

  /** Draw frames around regions, dark and light, to be visible on any colour. */
  function frame(context, wide, across, places) {
    const step = wide / across;
    [["black", 5], ["white", 2]].forEach(([color, width]) => {
      Object.assign(context, { strokeStyle: color, lineWidth: width });
      const outline = new Path2D();
      places.forEach((i) => {
        const [x, y] = [(i % across) * step, Math.floor(i / across) * step];
        const edge = (other, ...line) => {
          if (places.has(other)) return;
          outline.moveTo(...line.slice(0, 2));
          outline.lineTo(...line.slice(2));
        };
        edge(i - across, x, y, x + step, y);
        edge(i + across, x, y + step, x + step, y + step);
        edge(i % across ? i - 1 : NaN, x, y, x, y + step);
        edge((i + 1) % across ? i + 1 : NaN, x + step, y, x + step, y + step);
      });
      context.stroke(outline);
    });
  }

  function paint(canvas, picture, wide, { light = null, framed = new Set() } = {}) {
    const side = Math.sqrt(picture[0].length);
    const small = document.createElement("canvas");
    small.width = small.height = side;
    const pixels = new Uint8ClampedArray(4 * side * side).fill(255);
    picture.forEach((channel, c) => channel.forEach((value, i) => (pixels[4 * i + c] = 255 * value)));
    small.getContext("2d").putImageData(new ImageData(pixels, side, side), 0, 0);
    canvas.width = canvas.height = wide;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, wide, wide);
    if (light) darken(context, wide, light);
    if (light) frame(context, wide, Math.sqrt(light.length), framed);
  }

  window.courseCaptioner = { render, paint };
})();
