/* A model's parameters, as course_lib's training/export.py writes them, read as matrices. */
(function () {
  "use strict";

  const { Matrix } = window.courseEngine;

  /** Parameters by name: { shapes: { name: [rows, cols] or [cols] }, float32: base64 }. */
  function unpack({ shapes, float32 }) {
    const bytes = Uint8Array.from(atob(float32), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer); // little-endian, whatever the machine
    let place = 0;
    return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
      const [rows, cols] = shape.length === 2 ? shape : [1, shape[0]];
      const matrix = new Matrix(rows, cols);
      matrix.data.forEach((_, i) => (matrix.data[i] = view.getFloat32(4 * (place + i), true)));
      place += rows * cols;
      return [name, matrix];
    }));
  }

  window.courseEngine.unpack = unpack;
})();
