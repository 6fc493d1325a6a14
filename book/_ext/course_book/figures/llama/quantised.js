/* Matrices whose weights stay in the blocks of their file, 32 of a row in each, and products with them.
 *
 * Q4_0 and Q4_1: a half-precision scale d (Q4_1: and a minimum m), then 16 bytes; byte j holds number j in
 * its lower four bits and number j + 16 in its upper ones. A weight is d (q - 8), or d q + m.
 * Q8_0: a scale d and 32 signed bytes; a weight is d q.
 */
(function () {
  "use strict";

  const { BLOCKS } = window.courseLlama;
  const HALVES = Float64Array.from({ length: 65536 }, (_, bits) => readHalf(bits)); // by their 16 bits

  function readHalf(bits) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }

  const half = (bytes, p) => HALVES[bytes[p] | (bytes[p + 1] << 8)];

  function unpackFours(bytes, p, out, k, scale, minimum) {
    for (let j = 0; j < 16; j += 1) {
      const pair = bytes[p + j];
      out[k + j] = scale * (pair & 15) + minimum;
      out[k + j + 16] = scale * (pair >> 4) + minimum;
    }
  }

  /** For each type: write the block that begins at byte p into out, from place k. */
  const UNPACK = {
    Q4_0: (bytes, p, out, k) => unpackFours(bytes, p + 2, out, k, half(bytes, p), -8 * half(bytes, p)),
    Q4_1: (bytes, p, out, k) => unpackFours(bytes, p + 4, out, k, half(bytes, p), half(bytes, p + 2)),
    Q8_0: (bytes, p, out, k) => {
      const scale = half(bytes, p);
      for (let j = 0; j < 32; j += 1) out[k + j] = scale * ((bytes[p + 2 + j] << 24) >> 24);
    },
    F16: (bytes, p, out, k) => {
      out[k] = half(bytes, p);
    },
  };

  function dot(a, b) {
    let [s, t, u, v] = [0, 0, 0, 0];
    const whole = a.length - (a.length % 4);
    for (let i = 0; i < whole; i += 4) {
      s += a[i] * b[i];
      t += a[i + 1] * b[i + 1];
      u += a[i + 2] * b[i + 2];
      v += a[i + 3] * b[i + 3];
    }
    for (let i = whole; i < a.length; i += 1) s += a[i] * b[i];
    return s + t + u + v;
  }

  /** The products of one row with four vectors: each weight is read once. */
  function dotFour(row, xs, t, outs, r) {
    const [a, b, c, d] = [xs[t], xs[t + 1], xs[t + 2], xs[t + 3]];
    let [s, u, v, w] = [0, 0, 0, 0];
    for (let i = 0; i < row.length; i += 1) {
      const weight = row[i];
      s += weight * a[i];
      u += weight * b[i];
      v += weight * c[i];
      w += weight * d[i];
    }
    outs[t][r] = s;
    outs[t + 1][r] = u;
    outs[t + 2][r] = v;
    outs[t + 3][r] = w;
  }

  /** The factor of each number of a block in scaledForWords. Bits 4i to 4i + 3 of a word hold q 16^i. */
  const SCALES = Array.from({ length: 32 }, (_, j) => (j % 4 === 3 && j >= 16 ? 1 : 2 ** -(8 * (j % 4) + (j < 16 ? 0 : 4))));

  /** Rows of Q4_1 times one vector: the sum of (d q + m) x is d sum(q x) + m sum(x).
   * A word has eight q. Its bits stay where they are, and x is divided by their power of 16, which is exact; only the
   * top four are shifted down, since they hold the sign. Two rows at a time use each x twice.
   */
  function multiplyQ41({ bytes, rows, cols }, x, out) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const sums = Float64Array.from({ length: cols / 32 }, (_, b) =>
      x.subarray(32 * b, 32 * b + 32).reduce((sum, value) => sum + value, 0));
    const scaled = x.map((value, k) => value * SCALES[k % 32]);
    const blockOf = (p, b, sum) => HALVES[words[p] & 65535] * sum + HALVES[words[p] >>> 16] * sums[b];
    for (let r = 0; r < rows; r += 2) {
      let p = 5 * sums.length * r;
      let q = r + 1 < rows ? p + 5 * sums.length : p; // the last of an odd number of rows is read twice
      let [first, second] = [0, 0];
      for (let b = 0; b < sums.length; b += 1, p += 5, q += 5) {
        let k = 32 * b;
        let s = 0;
        let t = 0;
        let u = 0;
        let v = 0;
        for (let j = 1; j < 5; j += 1, k += 4) {
          const one = words[p + j];
          const two = words[q + j];
          s += (one & 0xf) * scaled[k];
          u += (two & 0xf) * scaled[k];
          t += (one & 0xf0) * scaled[k + 16];
          v += (two & 0xf0) * scaled[k + 16];
          s += (one & 0xf00) * scaled[k + 1];
          u += (two & 0xf00) * scaled[k + 1];
          t += (one & 0xf000) * scaled[k + 17];
          v += (two & 0xf000) * scaled[k + 17];
          s += (one & 0xf0000) * scaled[k + 2];
          u += (two & 0xf0000) * scaled[k + 2];
          t += (one & 0xf00000) * scaled[k + 18];
          v += (two & 0xf00000) * scaled[k + 18];
          s += (one & 0xf000000) * scaled[k + 3];
          u += (two & 0xf000000) * scaled[k + 3];
          t += (one >>> 28) * scaled[k + 19];
          v += (two >>> 28) * scaled[k + 19];
        }
        first += blockOf(p, b, s + t);
        second += blockOf(q, b, u + v);
      }
      out[r] = first;
      if (r + 1 < rows) out[r + 1] = second;
    }
  }

  /** Rows of Q8_0 times one vector. */
  function multiplyQ80({ bytes, rows, cols }, x, out) {
    const signed = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    let p = 0;
    for (let r = 0; r < rows; r += 1) {
      let total = 0;
      for (let k = 0; k < cols; k += 32, p += 34) {
        let s = 0;
        let t = 0;
        for (let j = 0; j < 32; j += 2) {
          s += signed[p + 2 + j] * x[k + j];
          t += signed[p + 3 + j] * x[k + j + 1];
        }
        total += half(bytes, p) * (s + t);
      }
      out[r] = total;
    }
  }

  const FAST = { Q4_1: multiplyQ41, Q8_0: multiplyQ80 };

  /** A tensor of readGGUF as a matrix: a row for each output. */
  class QuantisedMatrix {
    constructor({ name, type, rows, cols, bytes }) {
      Object.assign(this, { name, type, rows, cols, bytes });
    }

    /** One row as numbers, written into out. */
    row(r, out = new Float64Array(this.cols)) {
      const [size, length] = BLOCKS[this.type];
      const begin = (r * this.cols * length) / size;
      if (this.type === "F32") {
        out.set(new Float32Array(this.bytes.buffer, this.bytes.byteOffset + begin, this.cols));
        return out;
      }
      const unpack = UNPACK[this.type];
      for (let k = 0, p = begin; k < this.cols; k += size, p += length) unpack(this.bytes, p, out, k);
      return out;
    }

    /** The products with vectors (Float64Array): one vector of so many rows for each. */
    times(xs) {
      const outs = xs.map(() => new Float64Array(this.rows));
      if (xs.length === 1 && FAST[this.type]) {
        FAST[this.type](this, xs[0], outs[0]);
        return outs;
      }
      const row = new Float64Array(this.cols);
      for (let r = 0; r < this.rows; r += 1) {
        this.row(r, row);
        let t = 0;
        for (; t + 4 <= xs.length; t += 4) dotFour(row, xs, t, outs, r);
        for (; t < xs.length; t += 1) outs[t][r] = dot(row, xs[t]);
      }
      return outs;
    }
  }

  Object.assign(window.courseLlama, { QuantisedMatrix });
})();
