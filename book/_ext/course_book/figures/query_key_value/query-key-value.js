/* The figure "query-key-value": one query meets every key, and takes its share of every value.
 *
 * model: { words, query, key, value, head_dim, note }; n words, vectors as arrays of numbers.
 * A word is chosen by pointing at it, by pressing it, or by arrow keys. A press keeps it chosen.
 */
(function () {
  "use strict";

  const { softmax } = window.courseArithmetic;
  const { scores, mix } = window.courseAttention;
  const { make, signed } = window.courseElements;
  const { Summary, makeButton, placeByKey } = window.courseControls;
  const { Bar, Columns } = window.courseBars;

  class QueryKeyValue {
    constructor(model, el) {
      this.model = model;
      this.kept = this.mostTelling();
      this.shown = this.kept;
      this.valueScale = Math.max(...model.value.flat().map(Math.abs));
      this.divisor = new window.courseDivisor(model.head_dim, () => this.update());
      this.rows = model.words.map((word, index) => this.makeRow(word, index));
      this.arcs = new window.courseArcs(model.words.length);
      this.output = new Columns(model.value[0].length);
      this.outputName = make("span");
      this.scoreHead = make("span", { class: "course-key" });
      this.summary = new Summary();
      this.table = this.makeTable();
      el.className = "qkv";
      el.append(
        make("div", { class: "qkv-board" }, this.arcs.element, this.table),
        this.divisor.element,
        this.summary.element,
      );
      new ResizeObserver(() => this.drawArcs()).observe(this.table);
      this.update();
    }

    /** The word that is chosen first: the one whose attention reaches farthest. */
    mostTelling() {
      const { query, key, head_dim: size } = this.model;
      const reach = query.map((vector, index) => {
        const weights = softmax(scores(vector, key, Math.sqrt(size)));
        return Math.max(...weights.map((weight, other) => weight * Math.abs(other - index)));
      });
      return reach.indexOf(Math.max(...reach));
    }

    makeRow(word, index) {
      const button = makeButton(word, () => this.keep(index), "course-word qkv-word");
      button.addEventListener("mouseenter", () => this.choose(index));
      button.addEventListener("mouseleave", () => this.choose(this.kept));
      button.addEventListener("focus", () => this.keep(index));
      button.addEventListener("keydown", (event) => this.onKey(event, index));
      const row = {
        button,
        score: new Bar("key", true),
        weight: new Bar("query", false),
        value: new Columns(this.model.value[index].length),
      };
      row.element = make(
        "tr",
        {},
        make("th", { scope: "row" }, button),
        make("td", {}, row.score.element),
        make("td", {}, row.weight.element),
        make("td", {}, row.value.element),
      );
      return row;
    }

    makeTable() {
      const heads = [
        ["Word"],
        [this.scoreHead],
        [make("span", { class: "course-query" }, "weight")],
        [make("span", { class: "course-value" }, "value"), " taken"],
      ];
      return make(
        "table",
        { class: "qkv-table" },
        make("caption", { class: "course-unseen" }, "Scores, weights and values for one query"),
        make(
          "thead",
          {},
          make("tr", {}, ...heads.map((parts) => make("th", { scope: "col" }, ...parts))),
        ),
        make("tbody", {}, ...this.rows.map(({ element }) => element)),
        make(
          "tfoot",
          {},
          make(
            "tr",
            {},
            make("th", { scope: "row", colspan: 3 }, this.outputName),
            make("td", {}, this.output.element),
          ),
        ),
      );
    }

    onKey(event, index) {
      this.rows[placeByKey(event, index, this.rows.length)]?.button.focus();
    }

    choose(index) {
      this.shown = index;
      this.update();
    }

    keep(index) {
      this.kept = index;
      this.choose(index);
    }

    update() {
      const { words, query, key, value } = this.model;
      const divided = scores(query[this.shown], key, this.divisor.value);
      const weights = softmax(divided);
      // Bars are drawn to the scale of the paper's divisor: dividing by another one changes them,
      // and where that makes them too long, the longest sets the scale.
      const usual = scores(query[this.shown], key, this.divisor.root).map(Math.abs);
      const scale = Math.max(1.3 * Math.max(...usual), ...divided.map(Math.abs));
      this.rows.forEach((row, index) => {
        const chosen = index === this.shown;
        row.element.classList.toggle("is-query", chosen);
        row.button.setAttribute("aria-pressed", String(chosen));
        row.button.tabIndex = index === this.kept ? 0 : -1;
        row.score.set(signed(divided[index]), divided[index] / scale);
        row.weight.set(weights[index].toFixed(2), weights[index]);
        const taken = value[index].map((entry) => weights[index] * entry);
        row.value.set(value[index], taken, this.valueScale);
      });
      const output = mix(weights, value);
      this.output.set(output, output, this.valueScale);
      this.outputName.textContent = `Sum: the output for \u201C${words[this.shown]}\u201D`;
      this.scoreHead.textContent = `q\u00B7k \u00F7 ${this.divisor.format(this.divisor.value)}`;
      this.weights = weights;
      this.drawArcs();
      this.summary.tell(this.sentence());
    }

    drawArcs() {
      if (!this.table.clientHeight) return; // not in the page yet: the observer calls again
      const top = this.table.getBoundingClientRect().top;
      const heights = this.rows.map(({ button }) => {
        const box = button.getBoundingClientRect();
        return box.top + box.height / 2 - top;
      });
      this.arcs.draw(this.shown, this.weights, heights);
    }

    sentence() {
      const { words } = this.model;
      const order = words.map((_, index) => index);
      order.sort((a, b) => this.weights[b] - this.weights[a]);
      const name = (index) =>
        `\u201C${words[index]}\u201D${index === this.shown ? " itself" : ""} ` +
        `(${this.weights[index].toFixed(2)})`;
      const divisor = this.divisor.describe();
      return (
        `\u201C${words[this.shown]}\u201D attends most to ${name(order[0])}, then to ` +
        `${name(order[1])}. The scores are divided by ${divisor}.`
      );
    }
  }

  window.courseFigures["query-key-value"] = QueryKeyValue;
})();
