/* Greedy search: word by word, always the likeliest.
 *
 * translate(model, source, { start, end, most }) -> { source, encoded, steps }: the encoder's trace,
 * and for each word a step { read, trace, probabilities, chosen }: the ids that the decoder read, its
 * trace, and its distribution over the next word.
 */
(function () {
  "use strict";

  const { softmaxRow } = window.courseEngine;

  function takeStep(model, read, memory) {
    const trace = model.decode(read, memory);
    const probabilities = softmaxRow(trace.output_projection.row(read.length - 1), () => true);
    const chosen = probabilities.reduce((best, p, id) => (p > probabilities[best] ? id : best), 0);
    return { read, trace, probabilities, chosen };
  }

  function translate(model, source, { start, end, most }) {
    const encoded = model.encode(source);
    const steps = [];
    for (let read = [start]; steps.length < most; read = [...read, steps.at(-1).chosen]) {
      steps.push(takeStep(model, read, encoded.encoder));
      if (steps.at(-1).chosen === end) break;
    }
    return { source, encoded, steps };
  }

  window.courseEngine.translate = translate;
})();
