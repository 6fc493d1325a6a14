/* The next words of each beginning of a translation: every distribution is computed once and kept.
 *
 * makeFollowers(model, source, words, start) -> a function of a beginning, as words, that returns pairs
 * [word, log-probability], likeliest first.
 */
(function () {
  "use strict";

  /** Logarithms of a softmax; the largest logit is taken off first, lest exp overflow. */
  function logSoftmax(logits) {
    const top = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
    return logits.map((logit) => logit - top - Math.log(total));
  }

  function makeFollowers(model, source, words, start) {
    const memory = model.encode(source).encoder;
    const known = new Map();
    const ids = new Map(words.map((word, id) => [word, id]));
    const compute = (beginning) => {
      const read = [start, ...beginning.map((word) => ids.get(word))];
      const logs = logSoftmax(model.decode(read, memory).output_projection.row(read.length - 1));
      return words.map((word, id) => [word, logs[id]]).sort((a, b) => b[1] - a[1]);
    };
    return (beginning) => {
      const name = beginning.join(" ");
      if (!known.has(name)) known.set(name, compute(beginning));
      return known.get(name);
    };
  }

  Object.assign(window.courseEngine, { logSoftmax, makeFollowers });
})();
