/* The arithmetic of a GRU, on plain arrays: one step, and the reading of a sentence.
 *
 * Weights are stored as in course_lib: reset, update, candidate, one below the other.
 */
(function () {
  "use strict";

  const sigmoid = (a) => 1 / (1 + Math.exp(-a));

  /** weight times x, plus bias: one number a row of `weight`. */
  function project(weight, bias, x) {
    return weight.map((row, i) => row.reduce((sum, w, j) => sum + w * x[j], bias[i]));
  }

  /** One step: each unit's gates and the new state. */
  function step(model, x, state) {
    const size = state.length;
    const fromInput = project(model.input_weight, model.input_bias, x);
    const fromState = project(model.hidden_weight, model.hidden_bias, state);
    return state.map((old, i) => {
      const reset = sigmoid(fromInput[i] + fromState[i]);
      const update = sigmoid(fromInput[size + i] + fromState[size + i]);
      const candidate = Math.tanh(fromInput[2 * size + i] + reset * fromState[2 * size + i]);
      return { old, reset, update, candidate, state: (1 - update) * candidate + update * old };
    });
  }

  /** Read `words`; return for each its units and the probability of "plural" after it. */
  function read(model, words) {
    let state = model.output_weight.map(() => 0);
    return words.map((word) => {
      const units = step(model, model.embedding[word], state);
      state = units.map((unit) => unit.state);
      const logit = project([model.output_weight], [model.output_bias], state)[0];
      return { units, plural: sigmoid(logit) };
    });
  }

  window.courseGRU = { step, read };
})();
