/* The figure "alignment-explorer": source words left, target words right, lines as thick as weights.
 *
 * model: { examples: [{ name, src, tgt, weights, truth }], note }. A target word is chosen by
 * pointing at it, by pressing it, or by arrow keys.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const { Summary, makeButton, makeSelect, placeByKey } = window.courseControls;
  const ROW = 44; // pixels from a word to the next
  let count = 0;

  class AlignmentExplorer {
    constructor(model, el) {
      this.model = model;
      const names = model.examples.map(({ name }) => name);
      const { label, select } = makeSelect("Example", Object.entries(names), () => this.show());
      this.select = select;
      this.truth = make("input", { type: "checkbox", id: `align-truth-${(count += 1)}`, checked: "" });
      this.truth.addEventListener("change", () => this.update());
      this.src = make("ol", { class: "align-words", "aria-label": "Source" });
      this.tgt = make("div", { class: "align-words", role: "group", "aria-label": "Target" });
      this.svg = makeSvg("svg", { class: "align-lines", "aria-hidden": "true" });
      this.summary = new Summary();
      el.className = "align";
      el.append(
        make("div", { class: "align-controls" },
          label, select,
          make("span", {}, this.truth, make("label", { for: this.truth.id }, "show the truth"))),
        make("div", { class: "align-board" }, this.src, this.svg, this.tgt),
        this.summary.element,
      );
      new ResizeObserver(() => this.drawLines()).observe(this.svg);
      this.show();
    }

    show() {
      this.example = this.model.examples[this.select.value];
      const { src, tgt } = this.example;
      const rows = Math.max(src.length, tgt.length);
      this.svg.style.height = `${rows * ROW}px`;
      this.places = {
        src: src.map((_, i) => (i + 0.5 + (rows - src.length) / 2) * ROW),
        tgt: tgt.map((_, j) => (j + 0.5 + (rows - tgt.length) / 2) * ROW),
      };
      const put = (element, y) => {
        element.style.top = `${y}px`;
        return element;
      };
      this.sources = src.map((word, i) => put(make("li", {}, word), this.places.src[i]));
      this.src.replaceChildren(...this.sources);
      this.buttons = tgt.map((word, j) => put(this.makeButton(word, j), this.places.tgt[j]));
      this.tgt.replaceChildren(...this.buttons);
      this.kept = Math.min(3, tgt.length - 1);
      this.chosen = this.kept;
      this.update();
    }

    makeButton(word, index) {
      const button = makeButton(word, () => this.keep(index), "course-word");
      button.addEventListener("mouseenter", () => this.choose(index));
      button.addEventListener("mouseleave", () => this.choose(this.kept));
      button.addEventListener("focus", () => this.keep(index));
      button.addEventListener("keydown", (event) => {
        this.buttons[placeByKey(event, index, this.buttons.length)]?.focus();
      });
      return button;
    }

    keep(index) {
      this.kept = index;
      this.choose(index);
    }

    choose(index) {
      this.chosen = index;
      this.update();
    }

    update() {
      const weights = this.example.weights[this.chosen];
      this.buttons.forEach((button, j) => {
        button.setAttribute("aria-pressed", String(j === this.chosen));
        button.tabIndex = j === this.kept ? 0 : -1;
      });
      this.sources.forEach((word, i) => word.style.setProperty("--weight", weights[i]));
      this.drawLines();
      this.summary.say(this.sentence(weights));
    }

    drawLines() {
      const width = this.svg.clientWidth;
      if (!width) return; // not in the page yet: the observer calls again
      const line = (i, j, attributes) => makeSvg("path", { ...attributes, d:
        `M0 ${this.places.src[i]}C${width / 2} ${this.places.src[i]} ${width / 2} ` +
        `${this.places.tgt[j]} ${width} ${this.places.tgt[j]}` });
      const lines = [];
      this.example.weights.forEach((row, j) => row.forEach((weight, i) => {
        if (weight < 0.02) return;
        const path = line(i, j, { class: j === this.chosen ? "is-chosen" : "" });
        path.style.strokeWidth = `${(1 + 9 * weight).toFixed(2)}px`;
        path.style.opacity = ((j === this.chosen ? 0.35 : 0.08) + (j === this.chosen ? 0.65 : 0.2) * weight).toFixed(3);
        lines.push(path);
      }));
      if (this.truth.checked) {
        this.example.truth.forEach(([i, j]) =>
          lines.push(line(i, j, { class: `is-truth${j === this.chosen ? " is-chosen" : ""}` })));
      }
      this.svg.replaceChildren(...lines);
    }

    sentence(weights) {
      const { src, tgt, truth } = this.example;
      const order = src.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
      const name = (i) => `\u201c${src[i]}\u201d (${weights[i].toFixed(2)})`;
      const true_ = truth.filter(([, j]) => j === this.chosen).map(([i]) => i);
      const verdict = !true_.length ? "It has no source of its own."
        : `True: ${true_.map((i) => `\u201c${src[i]}\u201d`).join(" and ")}.`;
      return `\u201c${tgt[this.chosen]}\u201d looks most at ${name(order[0])}, then at ` +
        `${name(order[1])}. ${verdict}`;
    }
  }

  window.courseFigures["alignment-explorer"] = AlignmentExplorer;
})();
