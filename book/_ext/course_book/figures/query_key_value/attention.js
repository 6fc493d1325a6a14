/* The arithmetic of attention for one query, on plain arrays.
 *
 * Dimensions: n words; head_dim entries of a query and of each key; value_dim of each value.
 */
(function () {
  "use strict";

  /** The product of a query with every key, divided by `divisor`: n numbers. */
  function scores(query, keys, divisor) {
    return keys.map((key) => key.reduce((sum, k, i) => sum + k * query[i], 0) / divisor);
  }

  /** Positive weights that sum to 1; the largest score is taken off first, lest exp overflow. */
  function softmax(numbers) {
    const top = Math.max(...numbers);
    const powers = numbers.map((number) => Math.exp(number - top));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  /** The sum of the values, each times its weight: value_dim numbers. */
  function mix(weights, values) {
    return values[0].map((_, i) =>
      values.reduce((sum, value, j) => sum + weights[j] * value[i], 0),
    );
  }

  window.courseAttention = { scores, softmax, mix };
})();
