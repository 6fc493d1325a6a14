/* The figure "beam-search": each step a column of candidates, best on top.
 *
 * model: { sentences: [{ name, source, truth, next }], widest, end, max_steps, note }.
 */
(function () {
  "use strict";

  const { make, makeScroller, makeSvg, signed } = window.courseElements;
  const { Slider, Summary, makeSelect } = window.courseControls;
  const { search } = window.courseBeamSearch;
  const COLUMN = 104; // pixels from a step to the next
  const ROW = 40;
  const BOX = { width: 86, height: 32 };

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
          this.width.element, this.alpha.element, this.shown.element),
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
      const steps = this.found.steps.slice(0, step);
      const rows = Math.max(...steps.map((column) => column.length));
      const size = { width: steps.length * COLUMN, height: rows * ROW + 4 };
      this.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
      this.svg.style.width = `${size.width}px`;
      this.svg.replaceChildren();
      const best = this.found.results[0].words.join(" ");
      let parents = [];
      steps.forEach((column, number) => {
        column.forEach((candidate, row) => this.drawCandidate(candidate, number, row, parents, best));
        parents = column.map((candidate, row) => ({ candidate, row }))
          .filter(({ candidate }) => candidate.fate === "kept");
      });
      this.scroller.scrollLeft = 0;
      this.tell(step);
    }

    drawCandidate(candidate, number, row, parents, best) {
      const [x, y] = [number * COLUMN + 2, row * ROW + 2];
      const onBest = best.startsWith(candidate.words.join(" ")) &&
        best.split(" ").slice(0, number + 1).join(" ") === candidate.words.join(" ");
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
      const word = candidate.word === this.model.end ? "end" : candidate.word;
      this.svg.append(
        makeSvg("text", { class: name, x: middle, y: y + 14 }, word),
        makeSvg("text", { class: `${name} beam-total`, x: middle, y: y + 27 }, signed(candidate.total)),
      );
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
        : `${results.length} finished so far. The search goes on.`);
    }
  }

  window.courseFigures["beam-search"] = BeamSearch;
})();
