/* The translations: by the whole model, by the broken one, and the right one. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { join, readable } = window.courseLiving;
  const MOST_NAMED = 3; // words that changed; if more did, the whole sentence is told

  /** Make the button of a written word, with its probability; `differs` marks a difference from `beside`. */
  function makeChip(word, probability, differs, onChoose) {
    const chip = make("button", { type: "button", class: `living-chip${differs ? " is-different" : ""}`, title: `probability ${(100 * probability).toFixed(1)}%` },
      word, make("span", { class: "living-sure", "aria-hidden": "true" }));
    chip.lastChild.style.width = `${100 * probability}%`;
    chip.addEventListener("click", onChoose);
    return chip;
  }

  function makeLine(name, ...chips) {
    return make("div", { class: "living-result" }, make("span", { class: "living-whose" }, name), make("div", { class: "living-chips" }, ...chips));
  }

  /** The places of words that the longest common subsequence with other words leaves out. */
  function outsiders(words, others) {
    const longest = Array.from({ length: words.length + 1 }, () => new Array(others.length + 1).fill(0));
    for (let i = words.length - 1; i >= 0; i -= 1) {
      for (let j = others.length - 1; j >= 0; j -= 1) {
        longest[i][j] = words[i] === others[j]
          ? longest[i + 1][j + 1] + 1
          : Math.max(longest[i + 1][j], longest[i][j + 1]);
      }
    }
    const found = new Set();
    for (let i = 0, j = 0; i < words.length; ) {
      if (j < others.length && words[i] === others[j]) [i, j] = [i + 1, j + 1];
      else if (j < others.length && longest[i][j + 1] >= longest[i + 1][j]) j += 1;
      else found.add(i++);
    }
    return found;
  }

  /** A run's words as a line of chips; `beside` are the words to compare with, null for none; `says` the meaning of a frame. */
  function makeRun(name, run, vocabulary, beside, onChoose, says = "not right") {
    const words = run.steps.map(({ chosen }) => vocabulary[chosen]);
    const different = beside ? outsiders(words, beside) : new Set();
    const line = makeLine(name, ...run.steps.map(({ chosen, probabilities }, step) => {
      const word = words[step];
      return makeChip(readable(word), probabilities[chosen], different.has(step), () => onChoose(step));
    }));
    const key = different.size ? `framed: ${says}` : "bar: how sure it is";
    line.lastChild.append(make("small", { class: "living-key" }, key));
    line.dataset.written = join(words.filter((word) => !word.startsWith("<")));
    return line;
  }

  /** A sentence that compares the words of two runs. */
  function compareRuns(before, after) {
    const change = [[before, after], [after, before]].map(([words, others]) => [...outsiders(words, others)].map((i) => readable(words[i])));
    if (change.every((words) => words.length === 0)) return "The French stays the same. Does it with other sentences? With another part off as well?";
    if (change.some((words) => words.length > MOST_NAMED)) return `The French becomes \u201c${join(after.filter((word) => !word.startsWith("<")))}\u201d`;
    const [lost, gained] = change.map((words) => (words.length ? `\u201c${words.join(" ")}\u201d` : "nothing"));
    return `The French changes: ${lost} becomes ${gained}.`;
  }

  function makeRight(words) {
    return makeLine("right", ...words.map((word) => make("span", { class: "living-chip" }, readable(word))));
  }

  Object.assign(window.courseLiving, { makeRun, makeRight, compareRuns });
})();
