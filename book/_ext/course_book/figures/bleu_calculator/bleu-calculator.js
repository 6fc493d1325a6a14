/* The figure "bleu-calculator": BLEU of the reader's own text, with the n-grams that count marked.
 *
 * model: { examples: [{ name, candidate, references }], note }.
 */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const { Radios, makeSelect } = window.courseControls;
  const { tokenize, score } = window.courseBLEU;
  const NAMES = ["words", "pairs", "triples", "fours"];
  const PAUSE = 400; // milliseconds before a change is read out
  let count = 0;

  class BLEUCalculator {
    constructor(model, el) {
      this.model = model;
      const id = `bleu-${(count += 1)}`;
      const names = model.examples.map(({ name }) => name);
      const { label, select } = makeSelect("Example", Object.entries(names), () => this.load());
      this.select = select;
      this.candidate = make("textarea", { class: "course-field", id: `${id}-candidate`, rows: 2, spellcheck: "false" });
      this.references = make("textarea", { class: "course-field", id: `${id}-references`, rows: 3, spellcheck: "false" });
      [this.candidate, this.references].forEach((field) =>
        field.addEventListener("input", () => this.update()));
      this.orders = new Radios("Mark", NAMES, 1, () => this.update());
      this.tokens = make("p", { class: "bleu-tokens" });
      this.rows = make("tbody");
      this.result = make("p", { class: "bleu-result" });
      this.summary = make("p", { class: "course-unseen", "aria-live": "polite" });
      el.className = "bleu";
      el.append(
        make("div", { class: "bleu-field" }, label, select),
        this.field("Candidate", this.candidate),
        this.field("References, one a line", this.references),
        this.orders.element, this.tokens, this.makeTable(), this.result, this.summary,
      );
      this.load();
    }

    field(name, input) {
      return make("div", { class: "bleu-field" },
        make("label", { class: "course-label", for: input.id }, name), input);
    }

    makeTable() {
      const heads = ["n-grams", "in a reference", "after clipping", "of", "precision"];
      return makeScroller("Counts for each order", make("table", { class: "bleu-table" },
        make("caption", { class: "course-unseen" }, "Counts for each order"),
        make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
        this.rows));
    }

    load() {
      const { candidate, references } = this.model.examples[this.select.value];
      this.candidate.value = candidate;
      this.references.value = references.join("\n");
      this.update();
    }

    get order() {
      return this.orders.get() + 1;
    }

    update() {
      const candidate = tokenize(this.candidate.value);
      const references = this.references.value.split("\n").map(tokenize)
        .filter((tokens) => tokens.length);
      if (!candidate.length || !references.length) {
        this.tokens.replaceChildren();
        this.rows.replaceChildren();
        this.result.textContent = "Write a candidate and at least one reference.";
        return;
      }
      const scored = score(candidate, references);
      this.mark(candidate, scored.orders[this.order - 1].fates);
      this.rows.replaceChildren(...scored.orders.map((order) => this.makeRow(order)));
      const factor = scored.factor.toFixed(2);
      const sign = candidate.length >= scored.closest ? "\u2265" : "<";
      this.result.replaceChildren(
        make("strong", {}, `BLEU ${scored.bleu.toFixed(1)}`),
        ` \u00b7 brevity penalty ${factor} (${candidate.length} ${sign} ${scored.closest} tokens)`);
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = this.result.textContent), PAUSE);
    }

    makeRow({ n, unclipped, matches, total }) {
      const precision = total ? (matches / total).toFixed(2) : "\u2013";
      return make("tr", n === this.order ? { class: "is-marked" } : {},
        make("th", { scope: "row" }, NAMES[n - 1]),
        ...[unclipped, matches, total, precision].map((cell) => make("td", {}, String(cell))));
    }

    /** Mark each token by the best fate ("counts", "clipped", "missing") of its n-grams. */
    mark(candidate, fates) {
      this.tokens.replaceChildren(...candidate.flatMap((token, i) => {
        const around = fates.slice(Math.max(0, i - this.order + 1), i + 1);
        const fate = ["counts", "clipped"].find((name) => around.includes(name)) || "missing";
        const note = { counts: "", clipped: " (clipped)", missing: " (not found)" }[fate];
        return [make("span", { class: `is-${fate}` }, token,
          make("span", { class: "course-unseen" }, note)), " "];
      }));
    }
  }

  window.courseFigures["bleu-calculator"] = BLEUCalculator;
})();
