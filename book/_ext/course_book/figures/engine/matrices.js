/* Matrices of numbers, row by row, and the operations of a Transformer other than attention.
 *
 * A row is a token's vector. All arithmetic is in double precision; the weights came in single.
 */
(function () {
  "use strict";

  const EPSILON = 1e-5; // of LayerNorm, where nothing else is said

  class Matrix {
    constructor(rows, cols, data = new Float64Array(rows * cols)) {
      Object.assign(this, { rows, cols, data });
    }

    static of(rows) {
      const matrix = new Matrix(rows.length, rows[0].length);
      rows.forEach((row, i) => matrix.data.set(row, i * matrix.cols));
      return matrix;
    }

    /** One row: a view, not a copy. */
    row(i) {
      return this.data.subarray(i * this.cols, (i + 1) * this.cols);
    }

    /** A copy of the columns from start up to end. */
    columns(start, end) {
      return Matrix.of(this.map((row) => row.subarray(start, end)));
    }

    /** A matrix of f(row, index) for each row. */
    map(f) {
      return Array.from({ length: this.rows }, (_, i) => f(this.row(i), i));
    }
  }

  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
    return sum;
  }

  /** x W^T + b: the weight has a row for each output, as PyTorch keeps it; the bias may be missing. */
  function linear(x, weight, bias = null) {
    const out = new Matrix(x.rows, weight.rows);
    for (let i = 0; i < x.rows; i += 1) {
      const row = x.row(i);
      for (let j = 0; j < weight.rows; j += 1) {
        out.data[i * weight.rows + j] = dot(row, weight.row(j)) + (bias ? bias.data[j] : 0);
      }
    }
    return out;
  }

  function add(a, b) {
    return new Matrix(a.rows, a.cols, a.data.map((value, i) => value + b.data[i]));
  }

  function rectify(x) {
    return new Matrix(x.rows, x.cols, x.data.map((value) => Math.max(value, 0)));
  }

  /** Layer normalisation: each row to mean 0 and variance 1, then to a learned gain and bias. */
  function normalise(x, weight, bias, epsilon = EPSILON) {
    return Matrix.of(x.map((row) => {
      const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
      const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
      const deviation = Math.sqrt(variance + epsilon);
      return row.map((value, i) => ((value - mean) / deviation) * weight.data[i] + bias.data[i]);
    }));
  }

  window.courseEngine = { Matrix, dot, linear, add, rectify, normalise };
})();
