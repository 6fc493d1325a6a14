/* BLEU of one sentence as in course_lib/metrics/bleu.py: 13a tokens, "exp" smoothing, effective order. */
(function () {
  "use strict";

  const RULES = [
    [/([{-~[-`!-&(-+:-@/])/g, " $1 "],
    [/([^0-9])([.,])/g, "$1 $2 "],
    [/([.,])([^0-9])/g, " $1 $2"],
    [/([0-9])(-)/g, "$1 $2 "],
  ];
  const ENTITIES = { "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">" };

  function tokenize(text) {
    let line = text.replaceAll("<skipped>", "").replaceAll("-\n", "").replaceAll("\n", " ");
    Object.entries(ENTITIES).forEach(([entity, sign]) => (line = line.replaceAll(entity, sign)));
    line = ` ${line.trimEnd()} `;
    RULES.forEach(([pattern, replacement]) => (line = line.replace(pattern, replacement)));
    return line.split(/\s+/).filter(Boolean);
  }

  function count(tokens, n) {
    const counts = new Map();
    for (let i = 0; i + n <= tokens.length; i += 1) {
      const ngram = tokens.slice(i, i + n).join(" ");
      counts.set(ngram, (counts.get(ngram) || 0) + 1);
    }
    return counts;
  }

  /** The fate of each n-gram of the candidate, in order: "counts", "clipped" or "missing". */
  function fates(candidate, references, n) {
    const left = new Map();
    references.forEach((reference) =>
      count(reference, n).forEach((number, ngram) =>
        left.set(ngram, Math.max(number, left.get(ngram) || 0))));
    const result = [];
    for (let i = 0; i + n <= candidate.length; i += 1) {
      const ngram = candidate.slice(i, i + n).join(" ");
      if (!left.has(ngram)) result.push("missing");
      else if (left.get(ngram) > 0) {
        left.set(ngram, left.get(ngram) - 1);
        result.push("counts");
      } else result.push("clipped");
    }
    return result;
  }

  function penalty(length, lengths) {
    const closest = [...lengths].sort((a, b) =>
      Math.abs(a - length) - Math.abs(b - length) || a - b)[0];
    if (length >= closest) return { closest, factor: 1 };
    return { closest, factor: length ? Math.exp(1 - closest / length) : 0 };
  }

  function score(candidate, references) {
    const orders = [1, 2, 3, 4].map((n) => {
      const found = fates(candidate, references, n);
      return {
        n,
        fates: found,
        total: found.length,
        matches: found.filter((fate) => fate === "counts").length,
        unclipped: found.filter((fate) => fate !== "missing").length,
      };
    });
    let share = 1;
    const logs = [];
    orders.filter(({ total }) => total).forEach(({ matches, total }) => {
      if (!matches) share /= 2;
      logs.push(Math.log((matches || share) / total));
    });
    const { closest, factor } = penalty(candidate.length, references.map(({ length }) => length));
    const any = orders.some(({ matches }) => matches);
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    return { orders, closest, factor, bleu: any ? 100 * factor * Math.exp(mean) : 0 };
  }

  window.courseBLEU = { tokenize, score };
})();
