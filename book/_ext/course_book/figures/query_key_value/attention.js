/* The arithmetic of attention for one query, on plain arrays.
 *
 * Dimensions: n words; head_dim entries of a query and of each key; value_dim of each value.
 */
(function () {
  "use strict";

  const { dot } = window.courseArithmetic;

  /** The product of a query with every key, divided by `divisor`: n numbers. */
  function scores(query, keys, divisor) {
    return keys.map((key) => dot(key, query) / divisor);
  }

  /** The sum of the values, each times its weight: value_dim numbers. */
  function mix(weights, values) {
    return values[0].map((_, i) =>
      values.reduce((sum, value, j) => sum + weights[j] * value[i], 0),
    );
  }

  window.courseAttention = { scores, mix };
})();
