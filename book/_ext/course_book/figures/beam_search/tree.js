/* The tree of a beam search: each step a column of candidates, best on top; and what is finished.
 *
 * new BeamTree(end): end is the word that ends a sentence. show(found, step, truth) draws the first steps
 * of what search.js found, and lists what had finished by then; truth is the right sentence, or null.
 */
(function () {
  "use strict";

  const { make, makeScroller, makeSvg, signed } = window.courseElements;
  const COLUMN = 104; // pixels from a step to the next
  const ROW = 40;
  const BOX = { width: 86, height: 32 };

  const join = (words) => words.join(" ").replaceAll("' ", "'").replace(" .", ".");

  class BeamTree {
    constructor(end) {
      this.end = end;
      this.svg = makeSvg("svg", { class: "beam-tree", "aria-hidden": "true" });
      this.scroller = makeScroller("Steps of the search, scrolls sideways", this.svg);
      this.scroller.classList.add("beam-scroll");
      this.rows = make("tbody");
      this.results = makeScroller("Finished sentences, best first", this.makeTable());
    }

    makeTable() {
      const heads = ["finished", "log P", "tokens", "score"];
      return make("table", { class: "beam-results" },
        make("caption", { class: "course-unseen" }, "Finished sentences, best first"),
        make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
        this.rows);
    }

    /** A result as a text. */
    text({ words }) {
      return join(words.filter((word) => word !== this.end));
    }

    show(found, step, truth) {
      const steps = found.steps.slice(0, step);
      const rows = Math.max(...steps.map((column) => column.length));
      const size = { width: steps.length * COLUMN, height: rows * ROW + 4 };
      this.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
      this.svg.style.width = `${size.width}px`;
      this.svg.replaceChildren();
      const best = found.results.length ? found.results[0].words : [];
      let parents = [];
      steps.forEach((column, number) => {
        column.forEach((candidate, row) => this.drawCandidate(candidate, number, row, parents, best));
        parents = column.map((candidate, row) => ({ candidate, row }))
          .filter(({ candidate }) => candidate.fate === "kept");
      });
      this.list(found.results.filter(({ length }) => length <= step), truth);
    }

    drawCandidate(candidate, number, row, parents, best) {
      const [x, y] = [number * COLUMN + 2, row * ROW + 2];
      const onBest = candidate.words.every((word, i) => word === best[i]);
      const name = `is-${candidate.fate}${onBest ? " is-best" : ""}`;
      if (number > 0) {
        const from = parents[candidate.row].row * ROW + 2 + BOX.height / 2;
        const left = x - COLUMN + BOX.width;
        this.svg.append(makeSvg("path", {
          class: name,
          d: `M${left} ${from}C${left + 14} ${from} ${x - 14} ${y + BOX.height / 2} ${x} ${y + BOX.height / 2}`,
        }));
      }
      this.svg.append(makeSvg("rect", { class: name, x, y, rx: 6, ...BOX }));
      const middle = x + BOX.width / 2;
      const word = candidate.word === this.end ? "end" : candidate.word;
      this.svg.append(
        makeSvg("text", { class: name, x: middle, y: y + 14 }, word),
        makeSvg("text", { class: `${name} beam-total`, x: middle, y: y + 27 }, signed(candidate.total)),
      );
    }

    list(results, truth) {
      this.rows.replaceChildren(...results.map((result, rank) => {
        const written = this.text(result);
        const mark = written === truth ? " \u2713" : "";
        return make("tr", rank === 0 ? { class: "is-best" } : {},
          make("th", { scope: "row" }, (written || "(nothing)") + mark),
          make("td", { "data-total": result.total }, signed(result.total)), make("td", {}, result.length),
          make("td", { "data-score": result.score }, signed(result.score)));
      }));
    }
  }

  window.courseBeamSearch.BeamTree = BeamTree;
})();
