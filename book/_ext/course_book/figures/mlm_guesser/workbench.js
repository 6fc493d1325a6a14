/* The workbench of the gaps: words are hidden, two readers guess, and it shows their attention.
 *
 * new BlanksBench({ words, longest }, readers, el); show({ ids, truth }, { gap, clues }): clues are pairs of a
 * place and one that decides its word.
 */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const { Radios, Summary, makeButton } = window.courseControls;
  const { withHidden, worths, isMark } = window.courseBlanks;
  const SHOWN = 6; // guesses
  const STEP = { ArrowRight: 1, ArrowLeft: -1 };

  function percent(p) {
    const rounded = Math.round(100 * p);
    if (rounded === 100 && p < 0.9995) return "> 99%";
    return rounded === 0 && p > 0 ? "< 1%" : `${rounded}%`;
  }

  const quoted = (word) => `\u201C${word}\u201D`;

  class BlanksBench {
    constructor({ words }, readers, el) {
      Object.assign(this, { words, readers });
      this.mask = words.indexOf("[MASK]");
      this.row = make("div", { class: "guesser-words", role: "group", "aria-label": "Hide a word" });
      this.many = new Radios("A click hides", ["one word", "several"], 0, () => this.gather());
      this.clue = makeButton("Hide the clue too", () => this.hideClue());
      this.gaps = make("div");
      this.halves = make("div", { class: "guesser-halves" });
      this.whose = new Radios("Who looked where:", readers.map(({ name }) => name), 0, () => this.drawTable());
      this.table = make("table", { class: "guesser-looks" });
      this.legend = make("p", { class: "guesser-legend" });
      this.summary = new Summary();
      el.replaceChildren(this.row, make("div", { class: "guesser-ways" }, this.many.element, this.clue), this.gaps, this.halves,
        this.summary.element, this.whose.element, this.legend, makeScroller("Where the heads look", this.table));
    }

    // ---- a sentence, and its hidden words ----

    show({ ids, truth }, { gap, clues = [] }) {
      Object.assign(this, { ids, truth, clues });
      const given = truth.flatMap((id, i) => (id === null ? [i] : []));
      this.hidden = new Set(given.length > 0 ? given : [gap]);
      this.gap = given[0] ?? gap;
      if (given.length > 1) this.many.inputs[1].checked = true;
      this.buttons = ids.slice(1, -1).map((_, i) => this.makeWord(i + 1));
      this.row.replaceChildren(...this.buttons);
      this.update();
    }

    makeWord(place) {
      const button = makeButton(this.nameOf(place), () => this.toggle(place), "guesser-word");
      button.addEventListener("keydown", (event) => this.steer(event, place));
      return button;
    }

    nameOf(place) {
      return this.truth[place] === null ? "___" : this.words[this.truth[place]];
    }

    toggle(place) {
      if (this.many.get() === 0) this.hidden = new Set([place]);
      else if (!this.hidden.has(place)) this.hidden.add(place);
      else if (this.hidden.size > 1) this.hidden.delete(place);
      if (!this.hidden.has(this.gap)) [this.gap] = this.hidden;
      this.update();
    }

    /** Keep only one word hidden, if only one may be. */
    gather() {
      if (this.many.get() === 0) this.hidden = new Set([this.gap]);
      this.update();
    }

    /** Move the focus by arrow keys; if only one word may be hidden, hide the one moved to. */
    steer(event, place) {
      const step = STEP[event.key];
      if (!step) return;
      event.preventDefault();
      const count = this.buttons.length;
      const to = ((place - 1 + step + count) % count) + 1;
      if (this.many.get() === 0) this.toggle(to);
      this.buttons[to - 1].focus();
    }

    /** The place whose hiding would move the first reader's guess most. */
    get strongest() {
      const worth = this.worthOf(0);
      return worth.reduce((best, value, i) => (value !== null && (best === null || value > worth[best]) ? i : best), null);
    }

    hideClue() {
      this.many.inputs[1].checked = true;
      this.toggle(this.strongest);
    }

    // ---- the view ----

    update() {
      const { ids, gap, hidden, mask } = this;
      const now = withHidden(ids, hidden, mask);
      const alone = withHidden(ids, new Set([gap, ...this.given]), mask);
      this.said = this.readers.map((reader) => reader.read(now, gap));
      this.before = this.readers.map((reader) => reader.read(alone, gap).probabilities);
      this.worth = [];
      this.clue.disabled = this.strongest === null;
      this.drawWords();
      this.drawGaps();
      this.halves.replaceChildren(...this.readers.map((reader, i) => this.makeHalf(reader, i)));
      this.drawTable();
      this.summary.tell(this.sentence());
    }

    /** The change of a reader's guess if each word is hidden; computed when first shown. */
    worthOf(which) {
      return (this.worth[which] ??= worths(this.readers[which], this.ids, this.hidden, this.gap, this.mask));
    }

    /** Gaps that the text has by itself. */
    get given() {
      return this.truth.flatMap((id, i) => (id === null ? [i] : []));
    }

    drawWords() {
      this.buttons.forEach((button, i) => {
        button.setAttribute("aria-pressed", String(this.hidden.has(i + 1)));
        button.classList.toggle("is-looked-at", i + 1 === this.gap);
      });
    }

    /** Draw the choice of a gap, if there are several. */
    drawGaps() {
      const places = [...this.hidden].sort((a, b) => a - b);
      if (places.length < 2) {
        this.gaps.replaceChildren();
        return;
      }
      const names = places.map((place) => `${place}: ${this.nameOf(place)}`);
      const choice = new Radios("Guess the word at place", names, places.indexOf(this.gap), () => {
        this.gap = places[choice.get()];
        this.update();
        this.gaps.querySelector("input:checked").focus();
      });
      this.gaps.replaceChildren(choice.element);
    }

    makeHalf(reader, which) {
      const { probabilities } = this.said[which];
      const best = this.order(probabilities).slice(0, SHOWN);
      return make("section", { class: "guesser-half", "data-reader": which },
        make("p", { class: "guesser-name" }, reader.name),
        make("p", { class: "guesser-seen" }, ...this.makeSeen(reader)),
        make("ol", { class: "guesser-bars" }, ...best.map((id) => this.makeBar(id, probabilities[id], this.before[which][id]))));
    }

    /** The tokens but for marks, likeliest first. */
    order(probabilities) {
      return this.words.map((_, id) => id).filter((id) => !isMark(this.words[id])).sort((a, b) => probabilities[b] - probabilities[a]);
    }

    /** The sentence as a reader sees it. */
    seen(reader) {
      const { ids, gap, hidden } = this;
      return ids.slice(1, -1).flatMap((_, i) => {
        const place = i + 1;
        if (place === gap) return ["\u25A2"];
        return reader.sees(place, gap, ids.length) ? [hidden.has(place) ? "\u00B7\u00B7\u00B7" : this.nameOf(place)] : [];
      });
    }

    makeSeen(reader) {
      const unseen = this.ids.slice(1, -1).flatMap((_, i) => (reader.sees(i + 1, this.gap, this.ids.length) || i + 1 === this.gap ? [] : [this.nameOf(i + 1)]));
      return [`${this.seen(reader).join(" ")} `, ...(unseen.length ? [make("s", {}, unseen.join(" "))] : [])];
    }

    makeBar(id, p, earlier) {
      const fill = make("span", { class: "guesser-fill" });
      fill.style.width = `${(100 * p).toFixed(1)}%`;
      const track = make("span", { class: "guesser-track", "aria-hidden": "true" }, fill);
      if (this.hidden.size > 1) {
        const tick = make("span", { class: "guesser-tick" });
        tick.style.left = `${(100 * earlier).toFixed(1)}%`;
        track.append(tick);
      }
      const isTruth = id === this.truth[this.gap];
      return make("li", { class: isTruth ? "is-truth" : "", "data-probability": p },
        make("span", { class: "guesser-guess" }, isTruth ? `\u2713 ${this.words[id]}` : this.words[id]), track,
        make("span", { class: "guesser-share" }, percent(p)));
    }

    /** A row for each head, a column for each token; last, what hiding a word moves. */
    drawTable() {
      const which = this.whose.get();
      const reader = this.readers[which];
      const { looks } = this.said[which];
      const asks = reader.asks(this.gap);
      const clues = new Set(this.clues.filter(([place]) => place === this.gap).map(([, clue]) => clue));
      const places = this.ids.map((_, i) => i);
      const names = places.map((i) => (this.hidden.has(i) ? "[MASK]" : this.words[this.ids[i]]));
      const cells = (values, className) => places.map((i) => this.makeCell(values[i] ?? null, [className, clues.has(i) ? "is-clue" : "", reader.sees(i, this.gap, this.ids.length) ? "" : "is-unseen"].join(" ")));
      const rows = looks.flatMap((heads, l) => heads.map((weights, h) =>
        make("tr", {}, make("th", { scope: "row" }, `layer ${l + 1}, head ${h + 1}`), ...cells(weights, "is-weight"))));
      const whose = asks === this.gap ? "the gap" : `the place before the gap, ${this.words[this.ids[asks]]},`;
      const framed = clues.size > 0 ? " Framed: the word that decides its form." : "";
      this.legend.textContent = `How much of its attention ${whose} gives to each place, in percent.${framed} Last row: how much of the guess goes to other words when this word is hidden too.`;
      this.table.replaceChildren(
        make("caption", { class: "course-unseen" }, `${reader.name}: attention of each head, in percent`),
        make("thead", {}, make("tr", {}, make("td"), ...names.map((name, i) => make("th", { scope: "col", class: i === this.gap ? "is-gap" : "" }, make("span", {}, name))))),
        make("tbody", {}, ...rows, make("tr", { class: "guesser-worth" }, make("th", { scope: "row" }, "hidden too: moves"), ...cells(this.worthOf(which), "is-worth"))));
    }

    makeCell(value, className) {
      const cell = make("td", { class: className.trim() }, value === null ? "" : String(Math.round(100 * value)));
      if (value !== null) {
        cell.dataset.value = value;
        cell.style.setProperty("--weight", value.toFixed(3));
      }
      return cell;
    }

    sentence() {
      const said = this.readers.map((reader, i) => {
        const { probabilities } = this.said[i];
        const best = this.order(probabilities).slice(0, 3).map((id) => `${this.words[id]} ${percent(probabilities[id])}`);
        return `${reader.name}: ${best.join(", ")}.`;
      });
      const clue = this.strongest;
      const worth = clue === null ? "" : ` Hide ${quoted(this.nameOf(clue))} as well, and ${percent(this.worthOf(0)[clue])} of the first guess goes to other words.`;
      const truth = this.truth[this.gap] === null ? "A gap" : `${quoted(this.nameOf(this.gap))} is hidden`;
      return `${truth}. ${said.join(" ")}${worth}`;
    }
  }

  window.courseBlanks.BlanksBench = BlanksBench;
})();
