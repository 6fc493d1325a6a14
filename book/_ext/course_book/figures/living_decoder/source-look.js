/* One word's look at the source: a slider for each weight, and the annotations that they mix.
 *
 * handlers: onTurn(weights), onScore(place). load(source, memory) makes the rows, show(...) fills them.
 */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;
  const { makeButton } = window.courseControls;
  const { sharpen, paint, makeStrip, makeTable, makeFolded, makeVectors } = window.courseLiving;
  const { reweigh } = window.courseLooks;
  const SHARE = { width: 192, height: 14 }; // of a drawn annotation, in pixels

  const percent = (share) => `${Math.round(100 * share)}%`;

  class SourceLook {
    constructor({ onTurn, onScore }) {
      Object.assign(this, { onTurn, onScore });
      this.list = make("ul", { class: "looks-rows" });
      this.below = make("div", { class: "looks-below" });
      this.element = make("div", { class: "looks-look" }, this.list, this.below);
    }

    load(source, memory) {
      Object.assign(this, { source, memory });
      this.rows = source.map((word, i) => this.row(word, i));
      const head = make("li", { class: "looks-row looks-head", "aria-hidden": "true" },
        ...["look here alone", "its weight: drag it", "", "score", "weight \u00D7 annotation"].map((name) => make("span", {}, name)));
      this.list.replaceChildren(head, ...this.rows.map(({ element }) => element));
    }

    row(word, i) {
      const alone = makeButton(word, () => this.onTurn(this.weights.map((_, j) => Number(j === i))), "course-word");
      alone.setAttribute("aria-label", `Look at \u201c${word}\u201d alone`);
      const input = make("input", { type: "range", min: 0, max: 100, step: 1, class: "looks-slider", "aria-label": `Weight of \u201c${word}\u201d` });
      input.addEventListener("input", () => this.onTurn(reweigh(this.weights, i, input.value / 100)));
      const output = make("output");
      const score = makeButton("", () => this.onScore(i), "looks-score");
      const canvas = make("canvas", { "aria-hidden": "true" });
      const element = make("li", { class: "looks-row" }, alone, input, output, score, canvas);
      return { element, alone, input, output, score, canvas };
    }

    show({ weights, scores, context }, { due, key }) {
      this.weights = weights;
      this.rows.forEach((row, i) => this.fill(row, i, weights[i], scores[i], { isTrue: due.has(i), isChosen: i === key }));
      this.below.replaceChildren(
        makeStrip("their sum, the context", context, "encoder"),
        makeFolded("The context as a table", () => makeTable("The context", context.map((_, d) => String(d + 1)), [["context", context]])),
        makeVectors("The annotations as a table", this.source, this.memory));
    }

    fill({ element, input, output, score, canvas }, i, weight, value, { isTrue, isChosen }) {
      element.classList.toggle("is-true", isTrue);
      input.value = Math.round(100 * weight);
      input.setAttribute("aria-valuetext", `${percent(weight)}${isTrue ? ", the true source" : ""}`);
      input.style.setProperty("--share", percent(weight));
      output.textContent = percent(weight);
      output.dataset.weight = weight;
      score.textContent = signed(value);
      score.setAttribute("aria-label", `Score of \u201c${this.source[i]}\u201d: ${signed(value)}, number by number`);
      score.setAttribute("aria-pressed", String(isChosen));
      score.dataset.score = value;
      const context = sharpen(canvas, SHARE.width, SHARE.height);
      paint(context, this.memory.row(i).map((number) => number * weight), { x: 0, y: 0, ...SHARE, perRow: this.memory.cols, role: "encoder" });
      canvas.style.width = "";
    }
  }

  window.courseLooks.SourceLook = SourceLook;
})();
