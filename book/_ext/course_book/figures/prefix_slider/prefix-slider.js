/* The figure "prefix-slider": one mask, from the decoder's to the encoder's, by the length of the prefix.
 *
 * model: { words, source, note }. Place i may see place j if j <= i, or j stands in the prefix.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Counts, Slider, Summary, makeButton, placeByKey } = window.courseControls;

  class PrefixSlider {
    constructor(model, el) {
      this.model = model;
      this.length = model.words.length;
      this.place = model.source - 1;
      const lengths = { max: this.length, value: 0 };
      this.slider = new Slider("Prefix, in tokens", () => this.update(), lengths);
      this.presets = [
        ["decoder-only", 0],
        ["prefix LM", model.source],
        ["encoder-only", this.length],
      ].map(([name, prefix]) => this.preset(name, prefix));
      this.words = make("div", { class: "prefix-words", role: "group", "aria-label": "The place that looks" });
      this.buttons = model.words.map((word, i) => this.word(word, i));
      this.words.append(...this.buttons);
      this.table = this.grid();
      this.counts = new Counts();
      this.summary = new Summary();
      el.className = "prefix";
      el.append(
        make("div", { class: "course-pills", role: "group", "aria-label": "Family" }, ...this.presets.map(({ button }) => button)),
        this.slider.element,
        make("div", { class: "prefix-halves" },
          make("div", {}, make("p", { class: "prefix-heading" }, "Who looks? Choose a place."), this.words, this.counts.element),
          this.table),
        this.summary.element,
      );
      this.update();
    }

    get prefix() {
      return this.slider.get();
    }

    sees(i, j) {
      return j <= i || j < this.prefix;
    }

    /** Whether place i can predict the next word, since it does not see it. */
    canBeAsked(i) {
      return i + 1 < this.length && !this.sees(i, i + 1);
    }

    preset(name, prefix) {
      const button = makeButton(name, () => {
        this.slider.set(prefix);
        this.update();
      });
      return { button, prefix };
    }

    word(word, i) {
      const button = makeButton(word, () => this.look(i), "course-word");
      button.addEventListener("keydown", (event) => {
        const reached = placeByKey(event, this.place, this.length);
        if (reached === undefined) return;
        this.look(reached);
        this.buttons[reached].focus();
      });
      return button;
    }

    look(place) {
      this.place = place;
      this.update();
    }

    grid() {
      const { words } = this.model;
      this.rows = words.map((word, i) => {
        const cells = words.map(() => make("td"));
        const asked = make("td", { class: "prefix-asked" });
        return { cells, asked, row: make("tr", {}, make("th", { scope: "row" }, word), ...cells, asked) };
      });
      const heads = [...words, "asked?"].map((word) => make("th", { scope: "col" }, make("span", {}, word)));
      return make("table", { class: "prefix-table" },
        make("caption", {}, "1: the row sees the column. Right: can the row be asked what comes next?"),
        make("thead", {}, make("tr", {}, make("td"), ...heads)),
        make("tbody", {}, ...this.rows.map(({ row }) => row)));
    }

    update() {
      const { length, prefix, place } = this;
      this.slider.show();
      this.presets.forEach((preset) => {
        const same = preset.prefix === prefix || (preset.prefix === 0 && prefix === 1);
        preset.button.setAttribute("aria-pressed", String(same));
      });
      this.buttons.forEach((button, i) => {
        button.setAttribute("aria-pressed", String(i === place));
        button.classList.toggle("is-hidden", !this.sees(place, i));
        button.tabIndex = i === place ? 0 : -1;
      });
      let pairs = 0;
      let lessons = 0;
      this.rows.forEach(({ cells, asked, row }, i) => {
        row.classList.toggle("is-looking", i === place);
        cells.forEach((cell, j) => {
          const seen = this.sees(i, j);
          pairs += seen;
          cell.textContent = seen ? "1" : "";
          cell.className = seen ? "is-seen" : "";
        });
        lessons += this.canBeAsked(i);
        asked.textContent = i + 1 === length ? "" : this.canBeAsked(i) ? "\u2713" : "sees it";
      });
      this.counts.show([
        ["pairs", "pairs that see", pairs],
        ["lessons", "places that can be asked", lessons],
      ]);
      this.summary.tell(this.sentence(lessons));
    }

    sentence(lessons) {
      const { length, prefix, place } = this;
      const { words, source } = this.model;
      const families = { 0: "decoder-only", 1: "decoder-only", [length]: "encoder-only" };
      const name = families[prefix] || (prefix === source ? "a prefix LM, whose prefix is the source" : "a prefix LM");
      const seen = words.filter((_, j) => this.sees(place, j)).length;
      const asked = lessons ? "" : " No place can be asked for the next word: words have to be hidden instead.";
      return `Prefix of ${prefix}: ${name}. \u201C${words[place]}\u201D sees ${seen} of ${length} places.${asked}`;
    }
  }

  window.courseFigures["prefix-slider"] = PrefixSlider;
})();
