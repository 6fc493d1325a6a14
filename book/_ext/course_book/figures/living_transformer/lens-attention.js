/* An attention under the lens: all its heads, one head, one query's row of scores, one dot product.
 *
 * view: see living-transformer.js. Each function returns the elements of one level.
 */
(function () {
  "use strict";

  const { make, makeScroller, signed } = window.courseElements;
  const { makeButton } = window.courseControls;
  const { makeStrip, makeColumns, makeFolded, makeVectors, color, sharpen } = window.courseLiving;
  const { dot } = window.courseEngine;
  const CELL = 9;
  const TRUTHS = { partner: "alignment", agreement: "agreement" };

  const percent = (share) => `${Math.round(100 * share)}%`;
  const part = (view, name) => view.trace[`${view.stage.attention}.${name}`];

  function frame(context, keys, i, role, dashed) {
    context.strokeStyle = color(role);
    context.lineWidth = 1.5;
    context.setLineDash(dashed ? [2, 2] : []);
    keys.forEach((j) => context.strokeRect(j * CELL + 1, i * CELL + 1, CELL - 2, CELL - 2));
  }

  /** A head's weights as a small map: a row for each query, a column for each key. */
  function makeMap(view, head) {
    const weights = part(view, "weights")[head];
    const canvas = make("canvas", { "aria-hidden": "true" });
    const context = sharpen(canvas, weights.cols * CELL, weights.rows * CELL);
    weights.map((row, i) => row.forEach((weight, j) => {
      context.globalAlpha = 0.05 + 0.95 * weight;
      context.fillStyle = color("query");
      context.fillRect(j * CELL + 0.5, i * CELL + 0.5, CELL - 1, CELL - 1);
    }));
    context.globalAlpha = 1;
    context.strokeStyle = color("ink");
    context.strokeRect(0.5, view.query * CELL + 0.5, weights.cols * CELL - 1, CELL - 1);
    if (view.truth) {
      weights.map((_, i) => {
        const { partner, agreement } = view.trueKeys(i);
        frame(context, partner, i, "truth", false);
        frame(context, agreement, i, "wrong", true);
      });
    }
    return canvas;
  }

  /** How much of a head's weight lies where the truth says, for the word that asks; empty if nowhere.
   *
   * Where a head is to be found that follows agreement, alignment is left out: it would look like the answer.
   */
  function score(view, head) {
    const weights = part(view, "weights")[head].row(view.query);
    const share = (keys) => percent([...keys].reduce((sum, key) => sum + weights[key], 0));
    return Object.entries(view.trueKeys(view.query))
      .filter(([kind, keys]) => keys.size && !(view.answer && kind === "partner"))
      .map(([kind, keys]) => `${TRUTHS[kind]} ${share(keys)}`).join(", ") || (view.answer ? "no agreement here" : "");
  }

  function headCard(view, head) {
    const off = view.isOff(head);
    const says = off ? "switched off" : view.truth ? score(view, head) : "";
    const card = make("button", { type: "button", class: `living-head${off ? " is-off" : ""}`, "data-head": head },
      make("span", { class: "living-head-name" }, `head ${head + 1}`), makeMap(view, head), make("span", { class: "living-head-says" }, says));
    card.addEventListener("click", () => view.zoom({ head, level: "head" }));
    if (!view.answer) return card;
    const answer = makeButton(`Answer: head ${head + 1}`, () => view.answer(head), "living-answer");
    return make("div", { class: "living-answerable" }, card, answer);
  }

  function layer(view) {
    const { stage, query, trace } = view;
    const { norm_position: norm } = view.config;
    const said = trace[stage.attention].row(query);
    const after = trace[stage.id].row(query);
    const read = trace[`${stage.id}.norm`].row(query);
    const heads = part(view, "weights").map((_, head) => headCard(view, head));
    return [
      make("p", { class: "living-hint" }, "Each head\u2019s weights: rows ask, columns answer. Choose a head to go in."),
      make("div", { class: "living-heads" }, ...heads),
      ...(view.answer ? [view.verdict] : []),
      makeStrip(norm === "pre" ? "normed: the input of the heads" : "after the norm", read, stage.side),
      makeStrip("the output of all heads together", said, stage.side),
      makeStrip("the residual stream, with that added", after, stage.side),
      make("div", { class: "course-pills" },
        view.partButton(stage.id, "this residual path"), view.partButton(`${stage.id}.norm`, "this norm")),
      view.effect,
      makeVectors("The residual stream after this stage as a table", view.asking, trace[stage.id]),
    ];
  }

  function weightsTable(view, head) {
    const weights = part(view, "weights")[head];
    const table = make("table", { class: "living-weights" },
      make("caption", {}, make("span", {}, `${view.isOff(head) ? "Switched off: nothing is mixed by these. " : ""}Weights in percent: rows ask, columns answer. Choose a row to see how it comes about.`)),
      make("thead", {}, make("tr", {}, make("td", {}), ...view.answering.map((word) => make("th", { scope: "col" }, make("span", {}, word))))),
      make("tbody", {}, ...weights.map((row, i) => weightsRow(view, row, i))));
    return makeScroller(`Weights of head ${head + 1}`, table);
  }

  function weightsRow(view, row, i) {
    const { partner, agreement } = view.truth ? view.trueKeys(i) : { partner: new Set(), agreement: new Set() };
    const cells = Array.from(row, (weight, j) => {
      const cell = make("td", { "data-weight": weight }, view.mayLook(i, j) ? String(Math.round(100 * weight)) : "");
      cell.style.setProperty("--weight", weight);
      cell.classList.toggle("is-hidden", !view.mayLook(i, j));
      cell.classList.toggle("is-partner", partner.has(j));
      cell.classList.toggle("is-agreement", agreement.has(j));
      cell.addEventListener("click", () => view.zoom({ query: i, key: j, level: "dot" })); // by keyboard through its row
      return cell;
    });
    const button = makeButton(view.asking[i], () => view.zoom({ query: i, level: "row" }), "course-word");
    return make("tr", { class: i === view.query ? "is-chosen" : "" }, make("th", { scope: "row" }, button), ...cells);
  }

  function head(view) {
    return [
      make("div", { class: "course-pills" }, view.partButton(`${view.stage.attention}.heads.${view.head}`, "this head")),
      view.effect,
      weightsTable(view, view.head),
      makeVectors("Its queries as a table", view.asking, columns(view, "query_projection")),
      makeVectors("Its keys as a table", view.answering, columns(view, "key_projection")),
      makeVectors("Its values as a table", view.answering, columns(view, "value_projection")),
    ];
  }

  function columns(view, projection) {
    const wide = view.config.d_model / view.config.num_heads;
    return part(view, projection).columns(view.head * wide, (view.head + 1) * wide);
  }

  function makeBar(share, role) {
    const bar = make("span", { class: "living-bar" }, make("span", {}));
    bar.firstChild.style.width = percent(share);
    bar.firstChild.style.background = `var(--course-${role})`;
    return bar;
  }

  function scoreRow(view, key, scores, weights) {
    const button = makeButton(view.answering[key], () => view.zoom({ key, level: "dot" }), "course-word");
    const hidden = !view.mayLook(view.query, key);
    return make("tr", {}, make("th", { scope: "row" }, button),
      make("td", { "data-score": scores[key] }, signed(scores[key])),
      make("td", { "data-weight": weights[key] }, hidden ? "masked" : percent(weights[key])),
      make("td", {}, makeBar(weights[key], "query")));
  }

  function row(view) {
    const scores = part(view, "scores")[view.head].row(view.query);
    const weights = part(view, "weights")[view.head].row(view.query);
    const output = part(view, "outputs")[view.head].row(view.query);
    return [
      make("p", { class: "living-says" }, `\u201c${view.asking[view.query]}\u201d asks. Each word answers with a score; the softmax makes weights of the scores, which sum to 1; and the values are mixed by these weights. Choose a word to see its score come about.`),
      makeScroller("Scores and weights", make("table", { class: "living-scores" },
        make("caption", {}, `Head ${view.head + 1}, asked by \u201c${view.asking[view.query]}\u201d`),
        make("thead", {}, make("tr", {}, ...["who answers", "score", "weight", ""].map((name) => (name ? make("th", { scope: "col" }, name) : make("td", {}))))),
        make("tbody", {}, ...view.answering.map((_, key) => scoreRow(view, key, scores, weights))))),
      makeStrip("the values, mixed", output, "value"),
      makeFolded("The values, mixed, as a table", () => makeColumns("The values, mixed", [["mixed", output]])),
    ];
  }

  function product(view) {
    const query = columns(view, "query_projection").row(view.query);
    const key = columns(view, "key_projection").row(view.key);
    const score = part(view, "scores")[view.head].row(view.query)[view.key];
    const weight = part(view, "weights")[view.head].row(view.query)[view.key];
    const divided = view.cuts.has("scale") ? "The scaling is switched off" : `Divided by \u221A${query.length}`;
    const [asks, answers] = [view.asking[view.query], view.answering[view.key]];
    return [
      make("p", { class: "living-says" }, `The query of \u201c${asks}\u201d and the key of \u201c${answers}\u201d, number by number:`),
      makeColumns("One dot product", [
        [`query of ${asks}`, query], [`key of ${answers}`, key], ["product", query.map((value, d) => value * key[d])],
      ]),
      make("p", { class: "living-says", "data-dot": dot(query, key) },
        `The products sum to ${signed(dot(query, key))}. ${divided}, that is a score of ${signed(score)}. `,
        view.mayLook(view.query, view.key)
          ? `Among all scores of this row the softmax gives it a weight of ${percent(weight)}.`
          : "The mask hides it: its weight is 0."),
    ];
  }

  window.courseLiving.attentionLens = { layer, head, row, dot: product };
})();
