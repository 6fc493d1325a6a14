/* course_lib's RecurrentEncoder, one layer in both directions: readBothWays(parameters, ids) ->
 * { memory, context }: an annotation for each word, and the two last states.
 */
(function () {
  "use strict";

  const { Matrix, cellOf } = window.courseEngine;

  /** The states after each vector. */
  function run(cell, vectors) {
    let state = new Array(cell.hidden_weight[0].length).fill(0);
    return vectors.map((x) => (state = window.courseGRU.step(cell, x, state).map((unit) => unit.state)));
  }

  function readBothWays(parameters, ids) {
    const words = ids.map((id) => parameters["encoder.embedding.weight"].row(id));
    const [ahead, back] = [0, 1].map((way) => cellOf(parameters, `encoder.recurrent.cells.${way}`));
    const forward = run(ahead, words);
    const backward = run(back, [...words].reverse()).reverse();
    const memory = Matrix.of(forward.map((state, i) => [...state, ...backward[i]]));
    return { memory, context: [...forward.at(-1), ...backward[0]] };
  }

  window.courseEngine.readBothWays = readBothWays;
})();
