/* course_lib's ConvEncoder: readPicture(parameters, picture) -> { memory, context }: a vector for each
 * region, and their mean. A picture is a matrix with a row for red, green and blue, of pixels row by row.
 */
(function () {
  "use strict";

  const { Matrix } = window.courseEngine;
  const EPSILON = 1e-5; // of GroupNorm
  const LAYERS = [{ at: 0, stride: 2 }, { at: 3, stride: 2 }, { at: 6, stride: 1 }];

  const sideOf = (channels) => Math.sqrt(channels.cols);

  /** Five channels from -1 to 1: three colours, and the row and the column of each pixel. */
  function locate(picture) {
    const side = sideOf(picture);
    const place = (i) => -1 + (2 * i) / (side - 1);
    const pixels = Array.from({ length: picture.cols }, (_, i) => i);
    return Matrix.of([
      ...picture.map((row) => row.map((value) => 2 * value - 1)),
      pixels.map((i) => place(Math.floor(i / side))),
      pixels.map((i) => place(i % side)),
    ]);
  }

  /** A matrix with a row for each window of a picture; pixels outside of the picture are 0. */
  function windows(channels, wide, stride) {
    const side = sideOf(channels);
    const across = Math.ceil(side / stride);
    const border = (wide - 1) / 2;
    const cut = new Matrix(across * across, channels.rows * wide * wide);
    for (let place = 0; place < cut.rows; place += 1) {
      const [top, left] = [Math.floor(place / across), place % across].map((at) => at * stride - border);
      const row = cut.row(place);
      let n = 0;
      for (let c = 0; c < channels.rows; c += 1) {
        const channel = channels.row(c);
        for (let y = top; y < top + wide; y += 1) {
          for (let x = left; x < left + wide; x += 1, n += 1) {
            if (y >= 0 && x >= 0 && y < side && x < side) row[n] = channel[y * side + x];
          }
        }
      }
    }
    return cut;
  }

  const transpose = (matrix) => Matrix.of(Array.from({ length: matrix.cols }, (_, j) => matrix.map((row) => row[j])));

  function convolve(channels, weight, bias, stride) {
    const wide = Math.sqrt(weight.cols / channels.rows);
    return transpose(window.courseEngine.linear(windows(channels, wide, stride), weight, bias));
  }

  /** All numbers of a picture to mean 0 and variance 1, then each channel to its gain and bias. */
  function normaliseAll(channels, weight, bias) {
    const { data } = channels;
    const mean = data.reduce((sum, value) => sum + value, 0) / data.length;
    const variance = data.reduce((sum, value) => sum + (value - mean) ** 2, 0) / data.length;
    const deviation = Math.sqrt(variance + EPSILON);
    return Matrix.of(channels.map((row, c) => row.map((value) => ((value - mean) / deviation) * weight.data[c] + bias.data[c])));
  }

  function readPicture(parameters, picture) {
    const part = (at, name) => parameters[`encoder.layers.${at}.${name}`];
    const channels = LAYERS.reduce((x, { at, stride }) => {
      const seen = convolve(x, part(at, "weight"), part(at, "bias"), stride);
      return window.courseEngine.rectify(normaliseAll(seen, part(at + 1, "weight"), part(at + 1, "bias")));
    }, locate(picture));
    const means = channels.map((row) => row.reduce((sum, value) => sum + value, 0) / row.length);
    return { memory: transpose(channels), context: means };
  }

  window.courseEngine.readPicture = readPicture;
})();
