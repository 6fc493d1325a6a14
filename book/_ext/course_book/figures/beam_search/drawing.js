/* A drawing of a beam search: its tree, and a table of the finished sentences.
 *
 * new BeamDrawing(end): end is the word that ends a sentence. show(found, step, { isOver, truth }): the
 * first steps that search.js found, whether no other follows, and the right sentence, or null.
 */
(function () {
  "use strict";

  const { make, makeScroller, makeSvg, signed } = window.courseElements;
  const { makeTree, leadsTo, isDead } = window.courseBeamTree;
  const COLUMN = 98; // units from a step to the next
  const ROW = 50;
  const BOX = { width: 76, height: 40 };
  const ROOT = 16; // where the tree begins
  const LETTERS = 6; // that have room in a box
  const SMALLEST = 0.74; // scale below which it scrolls

  const join = (words) => words.join(" ").replaceAll("' ", "'").replace(" .", ".");

  class BeamDrawing {
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

    /** A result's words as text. */
    text({ words }) {
      return join(words.filter((word) => word !== this.end));
    }

    show(found, step, { isOver, truth }) {
      const { root, nodes, rows } = makeTree(found.steps, step, isOver);
      const [width, height] = [ROOT + step * COLUMN + 6, rows * ROW];
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.style.width = `max(${SMALLEST * width}px, min(100%, ${width}px))`;
      const best = found.results.length ? found.results[0].words : [];
      const kind = (node) => {
        const fate = isDead(node, step) ? "dropped" : node.candidate.fate;
        return `is-${fate}${leadsTo(node, best) ? " is-best" : ""}`;
      };
      const middle = ({ row }) => row * ROW + ROW / 2;
      this.svg.replaceChildren(
        ...nodes.map((node) => this.drawEdge(node, kind(node), middle)),
        makeSvg("circle", { class: "beam-root", cx: ROOT - 8, cy: middle(root), r: 6 }),
        ...nodes.map((node) => this.drawNode(node, kind(node), middle(node))),
      );
      this.list(found.results.filter(({ length }) => length <= step), truth);
    }

    left({ column }) {
      return ROOT + column * COLUMN - BOX.width;
    }

    /** Draw the edge to a node, as thick as its word is probable. */
    drawEdge(node, kind, middle) {
      const from = node.parent.column ? this.left(node.parent) + BOX.width : ROOT - 8;
      const [to, y0, y] = [this.left(node), middle(node.parent), middle(node)];
      const edge = makeSvg("path", { class: kind, d: `M${from} ${y0}C${from + 12} ${y0} ${to - 12} ${y} ${to} ${y}` });
      edge.style.strokeWidth = 1 + 6 * node.chance;
      return edge;
    }

    drawNode({ candidate, chance, column }, kind, y) {
      const x = this.left({ column });
      const word = candidate.word === this.end ? "end" : candidate.word;
      const name = makeSvg("text", { x: x + BOX.width / 2, y: y - 1 }, word);
      name.style.fontSize = `${17 * Math.min(1, LETTERS / word.length)}px`;
      return makeSvg("g", { class: `beam-node ${kind}` },
        makeSvg("rect", { x, y: y - BOX.height / 2, rx: 7, ...BOX }), name,
        makeSvg("text", { class: "beam-chance", x: x + BOX.width / 2, y: y + 14 }, this.percent(chance)));
    }

    percent(chance) {
      return chance < 0.01 ? "under 1%" : `${Math.round(100 * chance)}%`;
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

  window.courseBeamTree.BeamDrawing = BeamDrawing;
})();
