/* A sentence that a reader types: its words, and which of them the model does not know. */
(function () {
  "use strict";

  const MOST_WORDS = 14; // the model was trained on shorter sentences
  const NEIGHBOURS = 3;

  /** Words and the mark at the end, in small letters but for "I"; a missing mark is a full stop. */
  function split(text) {
    const words = (text.toLowerCase().match(/[a-z]+|[.?]/g) ?? []).map((word) => (word === "i" ? "I" : word));
    return words.length && /[a-z]/i.test(words.at(-1)) ? [...words, "."] : words;
  }

  /** How many letters must be changed, added or dropped to make one word of another. */
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

  function similar(word, known) {
    const far = (other) => distance(word, other);
    return [...known].sort((a, b) => far(a) - far(b) || a.length - b.length).slice(0, NEIGHBOURS);
  }

  /** What keeps a sentence from being translated, in a sentence; empty if nothing does. */
  function complaint(words, vocabulary) {
    if (words.length === 0) return "Type an English sentence, or pick one.";
    if (words.length > MOST_WORDS) {
      return `That is ${words.length} words; the model was trained on sentences of at most ten, and ${MOST_WORDS} are the most that fit here.`;
    }
    const known = vocabulary.filter((word) => /^[a-z]+$/i.test(word));
    const unknown = [...new Set(words.filter((word) => !vocabulary.includes(word)))];
    if (unknown.length === 0) return "";
    const each = unknown.map((word) => `\u201c${word}\u201d (near it: ${similar(word, known).join(", ")})`);
    const who = unknown.length === 1 ? "a word" : "words";
    return `The model knows ${known.length} English words, and has no vector for ${who} outside them: ${each.join("; ")}.`;
  }

  /** Words as a text: nothing after an apostrophe, nothing before a full stop. */
  function join(words) {
    return words.join(" ").replaceAll("' ", "'").replaceAll(" .", ".");
  }

  window.courseLiving = { split, complaint, join };
})();
