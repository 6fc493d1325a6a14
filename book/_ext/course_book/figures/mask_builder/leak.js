/* How much each output of a stack of attention layers depends on each input, under a mask.
 *
 * Each layer is x + attention(x), one head, the same matrices in all. Rows are tokens.
 */
(function () {
  "use strict";

  const { dot } = window.courseArithmetic;

  const range = (n) => [...Array(n).keys()];
  const times = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, value, k) => sum + value * b[k][j], 0)));

  /** Softmax over the permitted keys; a query without any gets zeros. */
  function shares(scores, permitted) {
    const seen = scores.filter((_, j) => permitted[j]);
    if (!seen.length) return scores.map(() => 0);
    const top = Math.max(...seen);
    const grown = scores.map((score, j) => (permitted[j] ? Math.exp(score - top) : 0));
    const total = grown.reduce((sum, value) => sum + value, 0);
    return grown.map((value) => value / total);
  }

  /** One layer: its output, and its derivative as a matrix of n d rows (outputs) and n d columns (inputs). */
  function layer(x, { query, key, value }, mask) {
    const width = x[0].length;
    const root = Math.sqrt(width);
    const q = times(x, query);
    const k = times(x, key);
    const v = times(x, value);
    const weights = q.map((one, t) => shares(k.map((other) => dot(one, other) / root), mask[t]));
    const read = times(weights, v);
    const output = x.map((row, t) => row.map((entry, c) => entry + read[t][c]));
    const derivative = range(x.length * width).map(() => Array(x.length * width).fill(0));
    x.forEach((_, t) => {
      x.forEach((__, s) => {
        range(width).forEach((e) => {
          const moved = k.map(
            (other, j) => ((j === s ? dot(q[t], key[e]) : 0) + (t === s ? dot(query[e], other) : 0)) / root,
          );
          const mean = dot(weights[t], moved);
          range(width).forEach((c) => {
            let sum = weights[t][s] * value[e][c] + (t === s && c === e ? 1 : 0);
            v.forEach((row, j) => (sum += row[c] * weights[t][j] * (moved[j] - mean)));
            derivative[t * width + c][s * width + e] = sum;
          });
        });
      });
    });
    return { output, derivative };
  }

  /** The norm of d out_t / d in_s after some layers, a row for each t. */
  function leak(model, mask, layers) {
    let { x } = model;
    let total = null;
    range(layers).forEach(() => {
      const { output, derivative } = layer(x, model, mask);
      total = total ? times(derivative, total) : derivative;
      x = output;
    });
    const width = x[0].length;
    return x.map((_, t) =>
      x.map((__, s) => {
        const block = range(width).map((c) => total[t * width + c].slice(s * width, (s + 1) * width));
        return Math.sqrt(block.flat().reduce((sum, entry) => sum + entry * entry, 0));
      }),
    );
  }

  window.courseLeak = leak;
})();
