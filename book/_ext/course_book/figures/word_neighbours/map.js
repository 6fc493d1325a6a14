/* Places of words on a map: the two directions in which their vectors, all made of length 1, differ
 * most (principal components).
 */
(function () {
  "use strict";

  const { dot } = window.courseArithmetic;
  const ROUNDS = 300; // of the power iteration

  const unit = (vector) => vector.map((at) => at / Math.sqrt(dot(vector, vector)));

  /** The direction of most variance of rows with mean 0, by power iteration with their covariance. */
  function component(rows) {
    let direction = unit(rows[0].map((_, i) => 1 + i / 10)); // anything but a right angle to it
    for (let round = 0; round < ROUNDS; round += 1) {
      const sums = rows[0].map(() => 0);
      rows.forEach((row) => {
        const along = dot(row, direction);
        row.forEach((at, i) => (sums[i] += along * at));
      });
      direction = unit(sums);
    }
    return direction;
  }

  /** A place for each vector: two numbers. */
  function principalPlaces(vectors) {
    const rows = vectors.map(unit);
    const means = rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);
    const centred = rows.map((row) => row.map((at, i) => at - means[i]));
    const first = component(centred);
    const rest = centred.map((row) => {
      const along = dot(row, first);
      return row.map((at, i) => at - along * first[i]);
    });
    const second = component(rest);
    return centred.map((row) => [dot(row, first), dot(row, second)]);
  }

  /** Places on a circle for one-hot vectors, which are all equally far from each other. */
  function roundPlaces(count) {
    return Array.from({ length: count }, (_, i) =>
      [Math.cos, Math.sin].map((side) => side((2 * Math.PI * i) / count)));
  }

  window.courseWordMap = { principalPlaces, roundPlaces };
})();
