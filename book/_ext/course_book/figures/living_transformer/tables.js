/* Numbers as tables: what a drawing shows, for everyone who would rather read it. */
(function () {
  "use strict";

  const { make, makeScroller, signed } = window.courseElements;

  /** A table of a matrix: a row for each word. */
  function makeTable(caption, heads, rows, write = signed) {
    return makeScroller(caption, make("table", { class: "living-numbers" },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("td", {}), ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(([name, values]) => make("tr", {}, make("th", { scope: "row" }, name),
        ...Array.from(values, (value) => make("td", {}, write(value))))))));
  }

  /** A folded table, made when it is opened for the first time. */
  function makeFolded(summary, build) {
    const details = make("details", { class: "living-folded" }, make("summary", {}, summary));
    details.addEventListener("toggle", () => details.children.length === 1 && details.append(build()));
    return details;
  }

  /** The vectors of all words at a place, folded. */
  function makeVectors(summary, words, matrix) {
    return makeFolded(summary, () => makeTable(summary,
      Array.from({ length: matrix.cols }, (_, d) => String(d + 1)),
      matrix.map((row, i) => [words[i], row])));
  }

  Object.assign(window.courseLiving, { makeTable, makeFolded, makeVectors });
})();
