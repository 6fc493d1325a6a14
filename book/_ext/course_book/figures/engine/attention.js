/* Multi-head attention, with every number on the way kept.
 *
 * attendByHeads(given, { heads, may, scaled, silent }) -> { scores, weights, outputs, joined }
 *
 * given: { queries, keys, values }, projected, all heads side by side. may(i, j): whether query i
 * may attend to key j. scaled: whether scores are divided by the root of a head's width. silent(h):
 * whether head h is switched off. Scores are those before the mask; a weight that the mask forbids
 * is 0, and a query that may attend to nothing has weights of 0 alone.
 */
(function () {
  "use strict";

  const { Matrix, dot } = window.courseEngine;

  /** Softmax over the scores that are allowed. */
  function softmaxRow(scores, allowed) {
    const top = scores.reduce((most, score, j) => (allowed(j) ? Math.max(most, score) : most), -Infinity);
    const powers = scores.map((score, j) => (allowed(j) ? Math.exp(score - top) : 0));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => (total > 0 ? power / total : 0));
  }

  function attend({ queries, keys, values }, { may, scaled }) {
    const divisor = scaled ? Math.sqrt(queries.cols) : 1;
    const scores = Matrix.of(queries.map((query) => keys.map((key) => dot(query, key) / divisor)));
    const weights = Matrix.of(scores.map((row, i) => softmaxRow(row, (j) => may(i, j))));
    const output = new Matrix(queries.rows, values.cols);
    for (let i = 0; i < queries.rows; i += 1) {
      const mixed = output.row(i);
      weights.row(i).forEach((weight, j) => {
        values.row(j).forEach((value, d) => (mixed[d] += weight * value));
      });
    }
    return { scores, weights, output };
  }

  function attendByHeads({ queries, keys, values }, { heads, may, scaled, silent }) {
    const wide = queries.cols / heads;
    const found = { scores: [], weights: [], outputs: [], joined: new Matrix(queries.rows, queries.cols) };
    for (let head = 0; head < heads; head += 1) {
      const [q, k, v] = [queries, keys, values].map((all) => all.columns(head * wide, (head + 1) * wide));
      const { scores, weights, output } = attend({ queries: q, keys: k, values: v }, { may, scaled });
      if (silent(head)) output.data.fill(0);
      output.map((row, i) => found.joined.row(i).set(row, head * wide));
      found.scores.push(scores);
      found.weights.push(weights);
      found.outputs.push(output);
    }
    return found;
  }

  Object.assign(window.courseEngine, { softmaxRow, attendByHeads });
})();
