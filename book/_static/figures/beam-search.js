/* The figure "beam-search": each step a column of candidates, best on top.
 *
 * model: { sentences: [{ name, source, truth, next }], widest, end, max_steps, note }.
 */
(function () {
  "use strict";

  const { make, makeSvg, signed } = window.courseElements;
  const { search } = window.courseBeamSearch;
  const COLUMN = 99; // pixels from a step to the next
  const ROW = 34;
  const BOX = { width: 79, height: 26 };
  let count = 0;

  const join = (words) => words.join(" ").replaceAll("' ", "'").replace(" .", ".");

  class BeamSearch {
    constructor(model, el) {
      this.model = model;
      const id = `beam-${(count += 1)}`;
      this.source = make("select", { id: `${id}-source` }, ...model.sentences.map(({ name, source }, i) =>
        make("option", { value: i }, `${source} (${name})`)));
      this.width = this.slider(`${id}-width`, { min: 1, max: model.widest, step: 1, value: 1 });
      this.alpha = this.slider(`${id}-alpha`, { min: 0, max: 1.5, step: 0.1, value: 1 });
      this.shown = this.slider(`${id}-step`, { min: 1, max: 1, step: 1, value: 1 });
      this.source.addEventListener("change", () => this.run());
      this.width.input.addEventListener("input", () => this.run());
      this.alpha.input.addEventListener("input", () => this.run());
      this.shown.input.addEventListener("input", () => this.draw());
      this.svg = makeSvg("svg", { class: "beam-tree", "aria-hidden": "true" });
      this.scroller = make("div", { class: "course-scroll beam-scroll", role: "region", tabindex: 0,
        "aria-label": "Steps of the search, scrolls sideways" }, this.svg);
      this.results = make("tbody");
      this.summary = make("p", { class: "beam-summary", "aria-live": "polite" });
      el.className = "beam";
      el.append(
        make("div", { class: "beam-source" },
          make("label", { for: this.source.id }, "Source"), this.source),
        make("div", { class: "beam-controls" },
          this.control("Beam width", this.width), this.control("Length penalty \u03b1", this.alpha),
          this.control("Step", this.shown)),
        this.scroller,
        this.summary,
        make("div", { class: "course-scroll" }, this.makeTable()),
        make("p", { class: "course-interactive__note" }, model.note),
      );
      this.run();
    }

    slider(id, attributes) {
      return { input: make("input", { type: "range", id, ...attributes }), output: make("output", { for: id }) };
    }

    control(name, { input, output }) {
      return make("div", {}, make("label", { for: input.id }, name), output, input);
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
      const width = Number(this.width.input.value);
      const alpha = Number(this.alpha.input.value);
      this.found = search(this.sentence.next, { width, alpha, end, maxSteps });
      this.width.output.textContent = width;
      this.alpha.output.textContent = alpha.toFixed(1);
      this.shown.input.max = this.found.steps.length;
      this.shown.input.value = this.found.steps.length;
      this.draw();
    }

    draw() {
      const step = Number(this.shown.input.value);
      this.shown.output.textContent = `${step} of ${this.found.steps.length}`;
      const steps = this.found.steps.slice(0, step);
      const rows = Math.max(...steps.map((column) => column.length));
      const size = { width: steps.length * COLUMN, height: rows * ROW + 4 };
      this.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
      this.svg.style.width = `${size.width}px`;
      this.svg.style.height = `${size.height}px`;
      this.svg.replaceChildren();
      const best = this.found.results[0].words.join(" ");
      let parents = [];
      steps.forEach((column, number) => {
        column.forEach((candidate, row) => this.drawCandidate(candidate, number, row, parents, best));
        parents = column.map((candidate, row) => ({ candidate, row }))
          .filter(({ candidate }) => candidate.fate === "kept");
      });
      this.scroller.scrollLeft = this.scroller.scrollWidth;
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
      const text = makeSvg("text", { class: name, x: x + BOX.width / 2, y: y + 12 });
      text.textContent = candidate.word === this.model.end ? "end" : candidate.word;
      const total = makeSvg("text", { class: `${name} beam-total`, x: x + BOX.width / 2, y: y + 23 });
      total.textContent = signed(candidate.total);
      this.svg.append(text, total);
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
      this.summary.textContent = done
        ? `The search returns the first line below, which is ${right ? "right" : "wrong"}` +
          `${right ? "." : `: right would be \u201c${this.sentence.truth}\u201d`}`
        : `${results.length} finished so far. The search goes on.`;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["beam-search"] = {
    render({ model, el }) {
      new BeamSearch(model, el);
    },
  };
})();
