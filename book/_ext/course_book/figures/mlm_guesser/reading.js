/* A model's guess at a gap, and each other word's effect on it.
 *
 * toTokens(text, words, longest) -> { ids, truth } or { problem }: the ids with [CLS] and [SEP], the truth
 * null where the text has a gap, ___.
 * Readers: { name, read(ids, gap) -> { probabilities, looks, sees } }: looks[layer][head], a weight for each
 * place; sees(place), whether the reader sees that place.
 */
(function () {
  "use strict";

  const { pieces, softmaxRow } = window.courseEngine;
  const { complaint } = window.courseLiving;
  const GAP = /^_{2,}$/;

  const isMark = (word) => /^\[.*\]$/.test(word);

  /** A missing mark at the end is a full stop, where the vocabulary has one. */
  function split(text, words) {
    const found = text.toLowerCase().match(/_{2,}|\p{L}+|[.?]/gu) ?? [];
    const open = found.length > 0 && !/^[.?]$/.test(found.at(-1));
    return open && words.includes(".") ? [...found, "."] : found;
  }

  function toTokens(text, words, longest) {
    const found = split(text, words);
    if (found.length === 0) return { problem: "Type a sentence, or pick one." };
    const cut = found.map((word) => (GAP.test(word) ? ["[MASK]"] : pieces(word, words)));
    const unknown = found.filter((_, i) => cut[i].length === 0);
    if (unknown.length > 0) return { problem: complaint(unknown, words) };
    const tokens = cut.flat();
    if (tokens.length > longest - 2) return { problem: `That is ${tokens.length} words or pieces; the model has places for ${longest - 2}.` };
    const ids = ["[CLS]", ...tokens, "[SEP]"].map((token) => words.indexOf(token));
    return { ids, truth: ids.map((id) => (words[id] === "[MASK]" ? null : id)) };
  }

  const rowsOf = (weights, asks) => weights.map((heads) => heads.map((head) => Array.from(head.row(asks))));

  /** A BERT as a reader: the gap is the query, and sees all words. */
  function bothSides(name, model) {
    return {
      name, asks: (gap) => gap, sees: () => true,
      read(ids, gap) {
        const { logits, weights } = model.read(ids);
        return { probabilities: softmaxRow(logits.row(gap), () => true), looks: rowsOf(weights, gap) };
      },
    };
  }

  /** A left-to-right model as a reader: the place before the gap is the query, and sees no later word. */
  function leftToRight(name, model) {
    return {
      name, asks: (gap) => gap - 1, sees: (place, gap) => place < gap,
      read(ids, gap) {
        const { logits, weights } = model.read(ids.slice(0, gap));
        return { probabilities: softmaxRow(logits.row(gap - 1), () => true), looks: rowsOf(weights, gap - 1) };
      },
    };
  }

  /** A BERT as a reader, with all words after the gap masked. */
  function rightHidden(name, model, mask) {
    const whole = bothSides(name, model);
    const isHidden = (place, gap, length) => place > gap && place < length - 1;
    return {
      ...whole, sees: (place, gap, length) => !isHidden(place, gap, length),
      read: (ids, gap) => whole.read(ids.map((id, i) => (isHidden(i, gap, ids.length) ? mask : id)), gap),
    };
  }

  const withHidden = (ids, places, mask) => ids.map((id, i) => (places.has(i) ? mask : id));

  /** The total variation distance of two distributions, from 0 to 1. */
  function moved(before, after) {
    return before.reduce((sum, p, i) => sum + Math.abs(p - after[i]), 0) / 2;
  }

  /** For each place, the change of the guess if that place is hidden too; null where nothing can be hidden. */
  function worths(reader, ids, hidden, gap, mask) {
    const now = reader.read(withHidden(ids, hidden, mask), gap).probabilities;
    return ids.map((_, i) => {
      if (i === 0 || i === ids.length - 1 || hidden.has(i)) return null;
      return moved(now, reader.read(withHidden(ids, new Set([...hidden, i]), mask), gap).probabilities);
    });
  }

  window.courseBlanks = { toTokens, bothSides, leftToRight, rightHidden, withHidden, worths, isMark };
})();
