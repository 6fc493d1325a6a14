/* The alignment as it grows: a row for each word written so far, a column for each word of the source. */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const { makeButton, steerGrid } = window.courseControls;

  const percent = (share) => String(Math.round(100 * share));

  class AlignmentTable {
    constructor(onCell, onWord) {
      Object.assign(this, { onCell, onWord });
      this.table = make("table", { class: "looks-alignment" });
      this.element = make("div", {},
        make("p", { class: "living-hint" }, "Each row is a word that it writes, each column a word of the source; weights in percent. Choose one to see its score."),
        makeScroller("Where each word looks, in percent", this.table));
    }

    /** looks: an array of weights for each word; trueKeys(row): a set of columns. */
    show({ source, written, looks, now, key, turned, trueKeys }) {
      const focused = this.cells?.indexOf(document.activeElement) ?? -1;
      this.cells = [];
      const rows = written.map((word, row) => (row <= now
        ? this.row({ word, row, weights: looks[row], source, isNow: row === now, key, isTurned: turned.has(row), due: trueKeys(row) })
        : make("tr", { class: "is-due" }, make("th", { scope: "row" }, "\u00B7"), ...source.map(() => make("td")))));
      this.table.replaceChildren(
        make("thead", {}, make("tr", {}, make("td"), ...source.map((word) => make("th", { scope: "col" }, make("span", {}, word))))),
        make("tbody", {}, ...rows));
      steerGrid(this.cells, source.length, now * source.length + key);
      if (focused >= 0) this.cells[Math.min(focused, this.cells.length - 1)].focus();
    }

    row({ word, row, weights, source, isNow, key, isTurned, due }) {
      const head = makeButton(word, () => this.onWord(row), "course-word");
      head.setAttribute("aria-pressed", String(isNow));
      const cells = weights.map((weight, i) => {
        const button = makeButton(percent(weight), () => this.onCell(row, i), "looks-weight");
        button.setAttribute("aria-label", `${word}, ${source[i]}: ${percent(weight)}%${due.has(i) ? ", true" : ""}`);
        button.dataset.weight = weight;
        this.cells.push(button);
        const cell = make("td", { class: due.has(i) ? "is-true" : "" }, button);
        cell.classList.toggle("is-chosen", isNow && i === key);
        cell.style.setProperty("--weight", weight.toFixed(3));
        return cell;
      });
      const mark = isTurned ? [make("span", { class: "looks-yours" }, "yours")] : [];
      return make("tr", { class: isNow ? "is-now" : "" }, make("th", { scope: "row" }, head, ...mark), ...cells);
    }
  }

  window.courseLooks.AlignmentTable = AlignmentTable;
})();
