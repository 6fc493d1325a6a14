/* The numbers of a drawing as tables, for readers who cannot see it. */
(function () {
  "use strict";

  const { make, makeScroller, signed } = window.courseElements;

  /** A table of a matrix: a row for each word. */
  function makeTable(caption, heads, rows, write = signed) {
    return makeScroller(caption, make("table", { class: "living-numbers" },
      make("caption", {}, make("span", {}, caption)),
      make("thead", {}, make("tr", {}, make("td", {}), ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(([name, values]) => make("tr", {}, make("th", { scope: "row" }, name),
        ...Array.from(values, (value) => make("td", {}, write(value))))))));
  }

  /** A few vectors beside each other: a row for each of their numbers. */
  function makeColumns(caption, vectors) {
    const [[, first]] = vectors;
    return makeTable(caption, vectors.map(([name]) => name),
      Array.from(first, (_, d) => [String(d + 1), vectors.map(([, vector]) => vector[d])]));
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

  Object.assign(window.courseLiving, { makeTable, makeColumns, makeFolded, makeVectors });
})();
