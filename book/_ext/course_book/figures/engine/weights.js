/* A model's parameters, as course_lib's training/export.py writes them, read as matrices. */
(function () {
  "use strict";

  const { Matrix } = window.courseEngine;

  /** A number of two bytes: a sign, five bits of exponent, ten of fraction. */
  function half(bits) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, (bits & 1023) / 1024];
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }

  /** Parameters by name: { shapes: { name: [cols] or [rows, ...] }, float32 or float16: base64 }. */
  function unpack({ shapes, float32, float16 }) {
    const bytes = Uint8Array.from(atob(float32 ?? float16), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer); // little-endian on every machine
    const read = float32 !== undefined
      ? (place) => view.getFloat32(4 * place, true)
      : (place) => half(view.getUint16(2 * place, true));
    let place = 0;
    return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
      const [rows, sizes] = shape.length > 1 ? [shape[0], shape.slice(1)] : [1, shape];
      const cols = sizes.reduce((product, size) => product * size);
      const matrix = new Matrix(rows, cols);
      matrix.data.forEach((_, i) => (matrix.data[i] = read(place + i)));
      place += rows * cols;
      return [name, matrix];
    }));
  }

  window.courseEngine.unpack = unpack;
})();
