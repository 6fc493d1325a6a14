/* The figure "beam-search": the search as a tree that grows to the right, a word a step.
 *
 * model: { sentences: [{ name, source, truth, next }], widest, end, max_steps, note }.
 */
(function () {
  "use strict";

  const { make, makeScroller, makeSvg, signed } = window.courseElements;
  const { Slider, Summary, makeSelect } = window.courseControls;
  const { search } = window.courseBeamSearch;
  const { makeTree, leadsTo, isDead } = window.courseBeamTree;
  const COLUMN = 88; // units from a step to the next
  const ROW = 46;
  const BOX = { width: 70, height: 38 };
  const ROOT = 16; // where the tree begins
  const LETTERS = 6.5; // that have room in a box
  const SMALLEST = 0.74; // scale below which it scrolls

  const join = (words) => words.join(" ").replaceAll("' ", "'").replace(" .", ".");

  class BeamSearch {
    constructor(model, el) {
      this.model = model;
      const sources = model.sentences.map(({ name, source }) => `${source} (${name})`);
      const { label, select } = makeSelect("Source", Object.entries(sources), () => this.run());
      this.source = select;
      this.width = new Slider("Beam width", () => this.run(), { min: 1, max: model.widest, value: Math.min(3, model.widest) });
      this.alpha = new Slider("Length penalty \u03b1", () => this.run(), { max: 1.5, step: 0.1, value: 1 });
      this.shown = new Slider("Step", () => this.draw(), { min: 1, max: 1, value: 1 });
      this.svg = makeSvg("svg", { class: "beam-tree", "aria-hidden": "true" });
      this.scroller = makeScroller("Steps of the search, scrolls sideways", this.svg);
      this.scroller.classList.add("beam-scroll");
      this.results = make("tbody");
      this.summary = new Summary();
      el.className = "beam";
      el.append(
        make("div", { class: "beam-source" }, label, select),
        make("div", { class: "beam-controls" },
          this.width.element, this.shown.element, this.alpha.element),
        this.scroller,
        this.summary.element,
        makeScroller("Finished sentences, best first", this.makeTable()),
      );
      this.run();
    }

    makeTable() {
      const heads = ["finished", "log P", "tokens", "score"];
      return make("table", { class: "beam-results" },
        make("caption", { class: "course-unseen" }, "Finished sentences, best first"),
        make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
        this.results);
    }

    /** Search anew, and show all of it. */
    run() {
      const { sentences, end, max_steps: maxSteps } = this.model;
      this.sentence = sentences[this.source.value];
      const width = this.width.get();
      const alpha = this.alpha.get();
      this.found = search(this.sentence.next, { width, alpha, end, maxSteps });
      this.width.show();
      this.alpha.show(alpha.toFixed(1));
      this.shown.input.max = this.found.steps.length;
      this.shown.set(this.found.steps.length);
      this.draw();
    }

    draw() {
      const step = this.shown.get();
      this.shown.show(`${step} of ${this.found.steps.length}`);
      const isOver = step === this.found.steps.length;
      const { root, nodes, rows } = makeTree(this.found.steps, step, isOver);
      const [width, height] = [ROOT + step * COLUMN + 6, rows * ROW];
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.style.width = `max(${SMALLEST * width}px, min(100%, ${width}px))`;
      const best = this.found.results[0].words;
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
      this.scroller.scrollLeft = 0;
      this.tell(step);
    }

    left({ column }) {
      return ROOT + column * COLUMN - BOX.width;
    }

    /** An edge is as thick as its word is probable. */
    drawEdge(node, kind, middle) {
      const from = node.parent.column ? this.left(node.parent) + BOX.width : ROOT - 8;
      const [to, y0, y] = [this.left(node), middle(node.parent), middle(node)];
      const edge = makeSvg("path", { class: kind, d: `M${from} ${y0}C${from + 12} ${y0} ${to - 12} ${y} ${to} ${y}` });
      edge.style.strokeWidth = 1 + 6 * node.chance;
      return edge;
    }

    drawNode({ candidate, chance, column }, kind, y) {
      const x = this.left({ column });
      const word = candidate.word === this.model.end ? "end" : candidate.word;
      const name = makeSvg("text", { x: x + BOX.width / 2, y: y - 1 }, word);
      name.style.fontSize = `${17 * Math.min(1, LETTERS / word.length)}px`;
      return makeSvg("g", { class: `beam-node ${kind}` },
        makeSvg("rect", { x, y: y - BOX.height / 2, rx: 7, ...BOX }), name,
        makeSvg("text", { class: "beam-chance", x: x + BOX.width / 2, y: y + 14 }, this.percent(chance)));
    }

    percent(chance) {
      return chance < 0.01 ? "under 1%" : `${Math.round(100 * chance)}%`;
    }

    tell(step) {
      const results = this.found.results.filter(({ length }) => length <= step);
      this.results.replaceChildren(...results.map(({ words, total, length, score }, rank) => {
        const written = join(words.filter((word) => word !== this.model.end));
        const mark = written === this.sentence.truth ? " \u2713" : "";
        return make("tr", rank === 0 ? { class: "is-best" } : {},
          make("th", { scope: "row" }, (written || "(nothing)") + mark),
          make("td", {}, signed(total)), make("td", {}, length), make("td", {}, signed(score)));
      }));
      const done = step === this.found.steps.length;
      const first = this.found.results[0];
      const right = join(first.words.filter((word) => word !== this.model.end)) === this.sentence.truth;
      this.summary.say(done
        ? `The search returns the first line below, which is ${right ? "right" : "wrong"}` +
          `${right ? "." : `: right would be \u201c${this.sentence.truth}\u201d`}`
        : `${results.length} finished so far. The search goes on. What is dashed is dropped here.`);
    }
  }

  window.courseFigures["beam-search"] = BeamSearch;
})();
