/* A reader's answers and choices stay in this browser, and nowhere else.
 *
 * courseMemory.get(key) and .set(key, value) keep JSON values in localStorage. Where a browser
 * refuses it (private windows, some settings for file://) they forget when the page is left.
 * courseMemory.answers(label, version) are the numbers of the answers given to a question.
 */
(function () {
  "use strict";

  const PREFIX = "seq2seq-to-bert:";
  const fallback = new Map();

  function storage() {
    try {
      return window.localStorage; // the mere access may be refused
    } catch (error) {
      return null;
    }
  }

  function read(key) {
    try {
      return storage().getItem(PREFIX + key);
    } catch (error) {
      return fallback.get(key); // refused
    }
  }

  function get(key) {
    try {
      return JSON.parse(read(key) ?? null);
    } catch (error) {
      return null; // unreadable: as if never answered
    }
  }

  function set(key, value) {
    const text = JSON.stringify(value);
    fallback.set(key, text);
    try {
      storage()?.setItem(PREFIX + key, text);
    } catch (error) {
      /* full or refused: the fallback has it */
    }
  }

  function remove(key) {
    fallback.delete(key);
    try {
      storage()?.removeItem(PREFIX + key);
    } catch (error) {
      /* refused: nothing was kept there */
    }
  }

  /** Forget everything of this book. */
  function clear() {
    fallback.clear();
    try {
      const own = Object.keys(storage() ?? {}).filter((key) => key.startsWith(PREFIX));
      own.forEach((key) => storage().removeItem(key));
    } catch (error) {
      /* refused: nothing was kept there */
    }
  }

  function answers(label, version) {
    const kept = get(`choices:${label}`);
    return kept && kept.version === version ? kept.chosen : []; // not to an older question
  }

  window.courseMemory = { get, set, remove, clear, answers };
})();
