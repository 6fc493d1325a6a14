/* From logits to the probabilities that a token is drawn with, as course_lib's generation/sampling.py:
 * divided by the temperature, then all but the top k are ruled out, then all but the top p of the rest.
 */
(function () {
  "use strict";

  const { softmaxRow } = window.courseEngine;

  /** The probabilities with which tokens are drawn; 0 for those ruled out. */
  function drawnWith(logits, { temperature, topK, topP }) {
    const top = Math.max(...logits);
    const cooled = Array.from(logits, (logit) => (logit - top) / temperature);
    const last = [...cooled].sort((a, b) => b - a)[Math.min(topK, cooled.length) - 1];
    const left = softmaxRow(cooled, (i) => cooled[i] >= last);
    if (topP === 1) return left;
    const order = left.map((_, i) => i).sort((a, b) => left[b] - left[a]);
    const kept = new Set();
    for (let sum = 0, i = 0; i < order.length && sum < topP; i += 1) {
      kept.add(order[i]);
      sum += left[order[i]];
    }
    return softmaxRow(cooled, (i) => kept.has(i) && cooled[i] >= last);
  }

  window.courseEngine.drawnWith = drawnWith;
})();
