/* A sentence that a reader types: its words, and which of them the model does not know. */
(function () {
  "use strict";

  const MOST_WORDS = 14; // more would not fit the drawing
  const NEIGHBOURS = 3;

  const isMark = (word) => ["<pad>", "<start>", "<end>"].includes(word);

  /** A text's words: as they stand, if the vocabulary has them all, else taken apart like English. */
  function split(text, vocabulary) {
    const given = text.trim().split(/\s+/);
    if (given.every((word) => vocabulary.includes(word) && !isMark(word))) return finish(given, vocabulary);
    const words = text.toLowerCase().match(/[a-z]+|[.?]/g) ?? [];
    return finish(words.map((word) => (word === "i" ? "I" : word)), vocabulary);
  }

  /** A missing mark at the end is a full stop, where the vocabulary has one. */
  function finish(words, vocabulary) {
    const open = words.length > 0 && !/^[.?]$/.test(words.at(-1));
    return open && vocabulary.includes(".") ? [...words, "."] : words;
  }

  /** The edit distance of two words: letters to change, add or drop. */
  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= b.length; j += 1) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      }
      row = next;
    }
    return row[b.length];
  }

  /** The known words whose spelling is nearest, if any is near. */
  function similar(word, known) {
    const far = (other) => distance(word, other) + Math.abs(word.length - other.length) / 10;
    const near = known.filter((other) => distance(word, other) <= Math.max(1, word.length / 3));
    return near.sort((a, b) => far(a) - far(b)).slice(0, NEIGHBOURS);
  }

  function named(word, known) {
    const near = similar(word, known);
    return near.length ? `\u201c${word}\u201d (spelt like it: ${near.join(", ")})` : `\u201c${word}\u201d`;
  }

  /** The reason why a sentence can't be translated, as text; empty if it can. */
  function complaint(words, vocabulary) {
    if (words.length === 0) return "Type an English sentence, or pick one.";
    if (words.length > MOST_WORDS) {
      return `That is ${words.length} words; ${MOST_WORDS} are the most that fit here, and more than the model has learnt from.`;
    }
    const known = vocabulary.filter((word) => /^\p{L}+$/u.test(word));
    const unknown = [...new Set(words.filter((word) => !vocabulary.includes(word)))];
    if (unknown.length === 0) return "";
    const each = unknown.map((word) => named(word, known));
    const who = unknown.length === 1 ? "a word" : "words";
    return `The model knows ${known.length} words, and has no vector for ${who} outside them: ${each.join("; ")}.`;
  }

  /** Words as a text: nothing after an apostrophe, nothing before a full stop. */
  function join(words) {
    return words.join(" ").replaceAll("' ", "'").replaceAll(" .", ".");
  }

  /** A word as it is shown: the marks at both ends by their names, a curved apostrophe. */
  function readable(word) {
    return word.replace(/^<(start|end)>$/, "$1").replaceAll("'", "\u2019");
  }

  window.courseLiving = { split, complaint, join, readable };
})();
