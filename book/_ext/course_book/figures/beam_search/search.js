/* Beam search as in course_lib/generation/beam_search.py, on a table of what may follow each beginning.
 *
 * A beginning is an array of words; `next` maps the words joined by blanks to pairs [word,
 * log-probability], most probable first, at least twice as many as the beam is wide.
 */
(function () {
  "use strict";

  const byTotal = (a, b) => b.total - a.total;
  const byScore = (a, b) => b.score - a.score;

  /** Returns { steps, results }: for each step its best candidates with their fate. */
  function search(next, { width, alpha, end, maxSteps }) {
    const penalty = (length) => length ** alpha;
    const steps = [];
    const results = [];
    let inPlay = [{ words: [], total: 0 }];
    for (let length = 1; length <= maxSteps; length += 1) {
      const candidates = inPlay
        .flatMap((parent, row) =>
          (next[parent.words.join(" ")] || []).map(([word, gain]) => ({
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
      if (length === maxSteps) break;
      const reachable = inPlay[0].total / penalty(maxSteps);
      const over = results.length === width && results[width - 1].score >= reachable;
      if (over) break;
      inPlay.forEach((candidate) => (candidate.fate = "kept"));
    }
    return { steps, results };
  }

  window.courseBeamSearch = { search };
})();
