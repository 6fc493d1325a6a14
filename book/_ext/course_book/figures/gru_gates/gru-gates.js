/* The figure "gru-gates": a GRU reads a sentence downwards; wires are as thick as its gates.
 *
 * model: { words, swaps, embedding, input_weight, input_bias, hidden_weight, hidden_bias,
 * output_weight, output_bias, note }. A word is chosen by pressing it or by arrow keys; a noun is
 * exchanged by the button beside it.
 */
(function () {
  "use strict";

  const { make, makeScroller, makeSvg, signed } = window.courseElements;
  const { Summary, makeButton, placeByKey } = window.courseControls;
  const { read } = window.courseGRU;
  const HEIGHT = 56; // of a row, in units of the drawing
  const CENTRE = 32;
  const thickness = (gate) => 0.6 + 9.4 * gate;

  /** One unit at one word: a circle, the wire that kept, the wire that brought something new. */
  class Cell {
    constructor() {
      this.kept = makeSvg("line", { class: "gru-kept", x1: CENTRE, x2: CENTRE, y1: 0, y2: HEIGHT / 2 });
      this.below = makeSvg("line", {
        class: "gru-kept", x1: CENTRE, x2: CENTRE, y1: HEIGHT / 2, y2: HEIGHT,
      });
      this.fresh = makeSvg("line", {
        class: "gru-fresh", x1: 2, x2: CENTRE, y1: HEIGHT / 2, y2: HEIGHT / 2,
      });
      this.circle = makeSvg("circle", { cx: CENTRE, cy: HEIGHT / 2 });
      this.element = makeSvg("svg", {
        class: "gru-cell", viewBox: `0 0 ${2 * CENTRE} ${HEIGHT}`, "aria-hidden": "true",
        preserveAspectRatio: "xMidYMid slice",
      });
      this.element.append(this.kept, this.below, this.fresh, this.circle);
    }

    set(unit, next) {
      this.kept.style.strokeWidth = thickness(unit.update);
      this.fresh.style.strokeWidth = thickness(1 - unit.update);
      this.below.style.strokeWidth = next ? thickness(next.update) : 0;
      this.circle.setAttribute("r", 3 + 10 * Math.abs(unit.state));
      this.circle.setAttribute("class", unit.state < 0 ? "is-negative" : "");
    }
  }

  class GRUGates {
    constructor(model, el) {
      this.model = model;
      this.words = [...model.words];
      this.chosen = this.words.findIndex((word) => word in model.swaps);
      this.rows = this.words.map((_, index) => this.makeRow(index));
      this.numbers = makeScroller("Numbers of the chosen word");
      this.numbers.classList.add("gru-numbers");
      this.summary = new Summary();
      el.className = "gru";
      el.append(
        make("p", { class: "gru-how" },
          "Press a word to see its numbers. Press \u21c4 to exchange a noun."),
        this.makeTable(),
        this.summary.element,
        this.numbers,
      );
      this.update();
    }

    makeRow(index) {
      const row = {
        word: makeButton("", () => this.choose(index), "course-word gru-word"),
        cells: this.model.output_weight.map(() => new Cell()),
        plural: make("td", { class: "gru-plural" }),
      };
      row.word.addEventListener("keydown", (event) => this.onKey(event, index));
      const heading = make("th", { scope: "row" }, row.word);
      if (this.words[index] in this.model.swaps) {
        row.swap = makeButton("\u21c4", () => this.swap(index), "course-word gru-swap");
        heading.append(row.swap);
      }
      row.element = make("tr", {}, heading,
        ...row.cells.map(({ element }) => make("td", {}, element)), row.plural);
      return row;
    }

    makeTable() {
      const units = this.model.output_weight.map((_, unit) =>
        make("th", { scope: "col" }, make("span", { class: "gru-unit" }, "unit "), String(unit + 1)));
      return make("table", { class: "gru-table" },
        make("caption", { class: "course-unseen" }, "The state of each unit after each word"),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Word"), ...units,
          make("th", { scope: "col" }, "plural?"))),
        make("tbody", {}, ...this.rows.map(({ element }) => element)),
      );
    }

    onKey(event, index) {
      const reached = placeByKey(event, index, this.rows.length);
      if (reached === undefined) return;
      this.choose(reached);
      this.rows[reached].word.focus();
    }

    choose(index) {
      this.chosen = index;
      this.update();
    }

    swap(index) {
      this.words[index] = this.model.swaps[this.words[index]];
      this.chosen = index;
      this.update();
    }

    update() {
      const steps = read(this.model, this.words);
      this.rows.forEach((row, index) => {
        const { units, plural } = steps[index];
        const chosen = index === this.chosen;
        row.element.classList.toggle("is-chosen", chosen);
        row.word.textContent = this.words[index];
        row.word.setAttribute("aria-pressed", String(chosen));
        row.word.tabIndex = chosen ? 0 : -1;
        row.swap?.setAttribute("aria-label",
          `exchange ${this.words[index]} for ${this.model.swaps[this.words[index]]}`);
        row.cells.forEach((cell, unit) => cell.set(units[unit], steps[index + 1]?.units[unit]));
        row.plural.textContent = `${(100 * plural).toFixed(0)}%`;
      });
      this.showNumbers(steps[this.chosen].units);
      this.summary.say(this.sentence(steps));
    }

    showNumbers(units) {
      const line = (name, role, value) => make("tr", {},
        make("th", { scope: "row" }, make("span", role ? { class: `course-${role}` } : {}, name)),
        ...units.map((unit) => make("td", {}, value(unit))));
      const heads = ["", ...units.map((_, unit) => `unit ${unit + 1}`)];
      this.numbers.replaceChildren(make("table", {},
        make("caption", {}, `At \u201c${this.words[this.chosen]}\u201d`),
        make("thead", {}, make("tr", {}, ...heads.map((text, i) =>
          i ? make("th", { scope: "col" }, text) : make("td", {})))),
        make("tbody", {},
          line("state before", "", (unit) => signed(unit.old)),
          line("reset gate r", "key", (unit) => unit.reset.toFixed(2)),
          line("candidate n", "value", (unit) => signed(unit.candidate)),
          line("update gate z", "query", (unit) => unit.update.toFixed(2)),
          line("state after", "", (unit) => signed(unit.state)),
        )));
    }

    sentence(steps) {
      const held = steps[this.chosen].units.filter((unit) => unit.update > 0.5).length;
      const verb = steps[steps.length - 1].plural > 0.5 ? "are" : "is";
      return `At \u201c${this.words[this.chosen]}\u201d ${held} of ${this.rows[0].cells.length} units ` +
        `keep more than they replace. At the end it chooses \u201c${verb}\u201d.`;
    }
  }

  window.courseFigures["gru-gates"] = GRUGates;
})();
