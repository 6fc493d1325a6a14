/* course_lib's AttentionDecoder: a GRU that looks at a memory before each word, every number kept.
 *
 * new AttentionDecoder(parameters): those of its model, as matrices. start({ memory, context }) -> a state;
 * step(token, state, turned) -> its trace up to the next word; `turned` are weights to look with
 * in the place of its own. write(decoder, encoded, { start, end, most }, turned) -> a step for each word,
 * always the likeliest; turned is a Map from steps to such weights.
 */
(function () {
  "use strict";

  const { Matrix, dot, linear, softmaxRow } = window.courseEngine;

  /** A GRUCell's parameters, as courseGRU reads them. */
  function cellOf(parameters, name) {
    const parts = { input_projection: "input", hidden_projection: "hidden" };
    return Object.fromEntries(Object.entries(parts).flatMap(([projection, part]) => [
      [`${part}_weight`, parameters[`${name}.${projection}.weight`].map((row) => row)],
      [`${part}_bias`, parameters[`${name}.${projection}.bias`].row(0)],
    ]));
  }

  /** A weighted sum of rows. */
  function mix(weights, memory) {
    const mixed = new Array(memory.cols).fill(0);
    memory.map((row, i) => row.forEach((value, d) => (mixed[d] += weights[i] * value)));
    return mixed;
  }

  class AttentionDecoder {
    constructor(parameters) {
      this.parameters = parameters;
      this.cell = cellOf(parameters, "decoder.cell");
    }

    part(name) {
      return this.parameters[`decoder.${name}`];
    }

    /** One vector through a linear layer. */
    project(name, x) {
      return Array.from(linear(Matrix.of([x]), this.part(`${name}.weight`), this.part(`${name}.bias`)).data);
    }

    /** The state before the first word, with the keys that every step reads. */
    start({ memory, context }) {
      const keys = linear(memory, this.part("attention.key_projection.weight"));
      return { memory, keys, hidden: this.project("bridge", context).map(Math.tanh) };
    }

    /** The terms whose sum is the score of a key for a query. */
    addends(query, key) {
      const bent = query.map((value, d) => Math.tanh(value + key[d]));
      const score = this.part("attention.score.weight").row(0);
      return { bent, score, products: bent.map((value, d) => value * score[d]) };
    }

    step(token, { memory, keys, hidden: before }, turned = null) {
      const query = this.project("attention.query_projection", before);
      const v = this.part("attention.score.weight").row(0);
      const scores = keys.map((key) => dot(query.map((value, d) => Math.tanh(value + key[d])), v));
      const own = softmaxRow(scores, () => true);
      const weights = turned ?? own;
      const context = mix(weights, memory);
      const written = [...this.part("embedding.weight").row(token), ...context];
      const hidden = window.courseGRU.step(this.cell, written, before).map(({ state }) => state);
      const logits = this.project("output", [...hidden, ...written]);
      const probabilities = softmaxRow(logits, () => true);
      const chosen = probabilities.indexOf(Math.max(...probabilities));
      const state = { memory, keys, hidden };
      return { token, before, query, scores, own, weights, context, hidden, logits, probabilities, chosen, state };
    }
  }

  function write(decoder, encoded, { start, end, most }, turned = new Map()) {
    const steps = [];
    let [token, state] = [start, decoder.start(encoded)];
    while (steps.length < most) {
      steps.push(decoder.step(token, state, turned.get(steps.length)));
      ({ chosen: token, state } = steps.at(-1));
      if (token === end) break;
    }
    return steps;
  }

  Object.assign(window.courseEngine, { AttentionDecoder, cellOf, write });
})();
