/* Beam search as in course_lib/generation/beam_search.py.
 *
 * A beginning is an array of words; next(words) gives pairs [word, log-probability] of words that may
 * follow it, most probable first, at least twice as many as the beam is wide.
 */
(function () {
  "use strict";

  const byTotal = (a, b) => b.total - a.total;
  const byScore = (a, b) => b.score - a.score;

  /** Yields after each step all there is so far: { steps, results }, each step's best candidates with their fate. */
  function* grow(next, { width, alpha, end, maxSteps }) {
    const penalty = (length) => length ** alpha;
    const steps = [];
    const results = [];
    let inPlay = [{ words: [], total: 0 }];
    for (let length = 1; length <= maxSteps; length += 1) {
      const candidates = inPlay
        .flatMap((parent, row) =>
          next(parent.words).map(([word, gain]) => ({
            words: [...parent.words, word], word, row, total: parent.total + gain, fate: "dropped",
          })))
        .sort(byTotal)
        .slice(0, 2 * width);
      candidates.slice(0, width).forEach((candidate) => {
        if (candidate.word !== end && length < maxSteps) return;
        candidate.fate = "finished";
        results.push({ ...candidate, length, score: candidate.total / penalty(length) });
      });
      results.sort(byScore).splice(width);
      inPlay = candidates.filter(({ word }) => word !== end).slice(0, width);
      steps.push(candidates);
      const last = length === maxSteps ||
        (results.length === width && results[width - 1].score >= inPlay[0].total / penalty(maxSteps));
      if (!last) inPlay.forEach((candidate) => (candidate.fate = "kept"));
      yield { steps, results };
      if (last) return;
    }
  }

  /** Run the whole search, and return its last { steps, results }. */
  function search(next, options) {
    return [...grow(next, options)].at(-1);
  }

  window.courseBeamSearch = { grow, search };
})();
