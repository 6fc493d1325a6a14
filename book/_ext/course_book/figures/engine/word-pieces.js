/* Words in the pieces of a vocabulary, as course_lib's WordPiece: always the longest piece that fits, from
 * the left; ## marks one that doesn't begin a word.
 *
 * pieces(word, vocabulary) -> texts of the vocabulary, empty if they can't make the word.
 */
(function () {
  "use strict";

  function pieces(word, vocabulary) {
    const found = [];
    for (let start = 0; start < word.length; ) {
      const begun = start > 0 ? "##" : "";
      let end = word.length;
      while (end > start && !vocabulary.includes(begun + word.slice(start, end))) end -= 1;
      if (end === start) return [];
      found.push(begun + word.slice(start, end));
      start = end;
    }
    return found;
  }

  window.courseEngine.pieces = pieces;
})();
