/* The figure "gru-gates": a GRU reads a sentence downwards; wires are as thick as its gates. Circles
 * that a noun, exchanged, has turned over are marked.
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
  const SEAM = 2; // by which a wire reaches into the next row, so that no gap shows
  const HELD = 0.5; // from this gate on, a unit keeps more than it replaces
  const thickness = (gate) => 0.6 + 9.4 * gate;

  /** One unit at one word: a circle for its state, a wire for the kept part and one for the new part. */
  class Cell {
    constructor() {
      this.kept = makeSvg("line", { class: "gru-kept", x1: CENTRE, x2: CENTRE, y1: -SEAM, y2: HEIGHT / 2 });
      this.below = makeSvg("line", {
        class: "gru-kept", x1: CENTRE, x2: CENTRE, y1: HEIGHT / 2, y2: HEIGHT + SEAM,
      });
      this.fresh = makeSvg("line", {
        class: "gru-fresh", x1: 2, x2: CENTRE, y1: HEIGHT / 2, y2: HEIGHT / 2,
      });
      this.halo = makeSvg("circle", { class: "gru-halo", cx: CENTRE, cy: HEIGHT / 2, r: 18 });
      this.circle = makeSvg("circle", { cx: CENTRE, cy: HEIGHT / 2 });
      this.element = makeSvg("svg", {
        class: "gru-cell", viewBox: `0 0 ${2 * CENTRE} ${HEIGHT}`, "aria-hidden": "true",
        preserveAspectRatio: "xMidYMid slice",
      });
      this.element.append(this.halo, this.kept, this.below, this.fresh, this.circle);
    }

    set(unit, next, wasTurned) {
      this.halo.style.display = wasTurned ? "" : "none";
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
      this.before = null; // the sentence before the last exchange
      this.rows = this.words.map((_, index) => this.makeRow(index));
      this.numbers = makeScroller("Numbers of the chosen word");
      this.numbers.classList.add("gru-numbers");
      this.summary = new Summary();
      el.className = "gru";
      el.append(
        make("p", { class: "course-legend" }, make("span", { class: "gru-key--kept" }, "kept from the word before"),
          make("span", { class: "gru-key--fresh" }, "written anew")),
        this.makeTable(),
        this.summary.element,
        make("details", { class: "gru-details" }, make("summary", {}, "The numbers"), this.numbers),
      );
      this.update();
    }

    makeRow(index) {
      const row = {
        word: makeButton("", () => this.choose(index), "course-word gru-word"),
        cells: this.model.output_weight.map(() => new Cell()),
        plural: make("span", { class: "gru-plural" }),
        share: make("span", { class: "gru-share" }),
      };
      row.word.addEventListener("keydown", (event) => this.onKey(event, index));
      const heading = make("th", { scope: "row" }, row.word);
      if (this.words[index] in this.model.swaps) {
        row.swap = makeButton("", () => this.swap(index), "course-word gru-swap");
        heading.append(row.swap);
      }
      row.element = make("tr", {}, heading,
        ...row.cells.map(({ element }) => make("td", {}, element)),
        make("td", {}, make("span", { class: "gru-track" }, row.share, row.plural)));
      return row;
    }

    makeTable() {
      const units = this.model.output_weight.map((_, unit) =>
        make("th", { scope: "col" }, make("span", { class: "gru-unit" }, "unit "), String(unit + 1)));
      return make("table", { class: "gru-table" },
        make("caption", { class: "course-unseen" }, "The state of each unit after each word"),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Word"), ...units,
          make("th", { scope: "col" }, "\u201care\u201d?"))),
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
      this.before = read(this.model, this.words);
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
        if (row.swap) {
          const other = this.model.swaps[this.words[index]];
          row.swap.textContent = `\u21c4 ${other}`;
          row.swap.setAttribute("aria-label", `\u21c4 ${other}, in place of ${this.words[index]}`);
        }
        row.cells.forEach((cell, unit) =>
          cell.set(units[unit], steps[index + 1]?.units[unit], this.wasTurned(steps, index, unit)));
        row.plural.textContent = `${(100 * plural).toFixed(0)}%`;
        row.share.style.width = row.plural.textContent;
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

    /** Whether the last exchange changed the sign of this unit's state, so that its circle turned over. */
    wasTurned(steps, index, unit) {
      const [old, now] = [this.before, steps].map((all) => all?.[index].units[unit].state);
      return old !== undefined && old * now < 0;
    }

    sentence(steps) {
      const last = steps.length - 1;
      const verb = steps[last].plural > 0.5 ? "are" : "is";
      const units = this.rows[0].cells.map((_, unit) => unit);
      const subject = this.words.findIndex((word) => word in this.model.swaps);
      const held = units.filter((unit) =>
        steps.slice(subject + 1).every(({ units: all }) => all[unit].update > HELD));
      const turned = units.filter((unit) => this.wasTurned(steps, last, unit));
      const name = (some) => {
        if (some.length === units.length) return "all units";
        const numbers = some.map((unit) => unit + 1);
        const end = numbers.pop();
        return numbers.length ? `units ${numbers.join(", ")} and ${end}` : `unit ${end}`;
      };
      const what = !this.before ? "" : turned.length
        ? `The exchange turned ${name(turned)} over, down to the last word. `
        : "The exchange turned no unit over at the last word. ";
      const how = held.length ? `, held by ${name(held)} since \u201c${this.words[subject]}\u201d` : "";
      return `${what}The verb is \u201c${verb}\u201d${how}.`;
    }
  }

  window.courseFigures["gru-gates"] = GRUGates;
})();
