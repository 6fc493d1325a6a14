/* The stages that are no attention, under the lens: one word's vectors on the way through. */
(function () {
  "use strict";

  const { make, makeScroller, signed } = window.courseElements;
  const { makeStrip, makeVectors, readable } = window.courseLiving;
  const { Matrix } = window.courseEngine;
  const LIKELIEST = 8;

  const minus = (a, b) => new Matrix(a.rows, a.cols, a.data.map((value, i) => value - b.data[i]));

  function embedding(view) {
    const { stage, query, trace } = view;
    const places = minus(trace[stage.id], trace[stage.table]);
    return [
      makeStrip("the word", trace[stage.table].row(query), stage.side),
      makeStrip(`place ${query}`, places.row(query), stage.side),
      makeStrip("their sum", trace[stage.id].row(query), stage.side),
      makeVectors("The words as a table", view.asking, trace[stage.table]),
      makeVectors("The places as a table", view.asking, places),
      makeVectors("The sums as a table", view.asking, trace[stage.id]),
    ];
  }

  function feedForward(view) {
    const { stage, query, trace } = view;
    const inner = trace[`${stage.path}.inner`];
    const on = inner.row(query).filter((value) => value > 0).length;
    return [
      makeStrip("normed: its input", trace[`${stage.id}.norm`].row(query), stage.side),
      makeStrip(`inside: ${on} of ${inner.cols} are not 0`, inner.row(query), stage.side),
      makeStrip("its output", trace[stage.path].row(query), stage.side),
      makeStrip("the residual stream, with that added", trace[stage.id].row(query), stage.side),
      make("div", { class: "course-pills" },
        view.partButton(stage.id, "this residual path"), view.partButton(`${stage.id}.norm`, "this norm")),
      view.effect,
      makeVectors("The inside as a table", view.asking, inner),
      makeVectors("The residual stream after this stage as a table", view.asking, trace[stage.id]),
    ];
  }

  function memory(view) {
    const matrix = view.trace[view.stage.id];
    return [
      ...matrix.map((row, i) => makeStrip(view.asking[i], row, view.stage.side)),
      makeVectors("The memory as a table", view.asking, matrix),
    ];
  }

  function candidate(view, probabilities, logits, id) {
    const bar = make("span", { class: "living-bar" }, make("span", {}));
    bar.firstChild.style.width = `${100 * probabilities[id]}%`;
    return make("tr", {}, make("th", { scope: "row" }, readable(view.words.tgt[id])),
      make("td", { "data-logit": logits[id] }, signed(logits[id])),
      make("td", { "data-probability": probabilities[id] }, `${(100 * probabilities[id]).toFixed(1)}%`),
      make("td", {}, bar));
  }

  function logits(view) {
    const row = view.trace.output_projection.row(view.query);
    const probabilities = window.courseEngine.softmaxRow(row, () => true);
    const order = Array.from(row, (_, id) => id).sort((a, b) => row[b] - row[a]).slice(0, LIKELIEST);
    return [
      makeStrip("the end of the residual stream, normed", view.trace.decoder.row(view.query), "decoder"),
      makeScroller("The likeliest words", make("table", { class: "living-scores" },
        make("caption", {}, `The ${LIKELIEST} likeliest of ${row.length} words after \u201c${view.asking[view.query]}\u201d`),
        make("thead", {}, make("tr", {}, ...["word", "logit", "probability"].map((name) => make("th", { scope: "col" }, name)), make("td", {}))),
        make("tbody", {}, ...order.map((id) => candidate(view, probabilities, row, id))))),
      makeVectors("The end of the residual stream as a table", view.asking, view.trace.decoder),
    ];
  }

  Object.assign(window.courseLiving, { vectorLens: { embedding, "feed-forward": feedForward, memory, logits } });
})();
