/* Arithmetic on plain arrays that several figures do. */
(function () {
  "use strict";

  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

  /** Softmax: positive weights that sum to 1. The largest score is subtracted, lest exp overflow. */
  function softmax(scores) {
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  window.courseArithmetic = { dot, softmax };
})();
