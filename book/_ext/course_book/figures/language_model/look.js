/* Three tables about one token: the alternatives to it, a head's attention, and each layer's next token.
 *
 * A run is { tokens, layers, heads, look(place), lens(place, onShare) }. `heads` lists the heads of each layer;
 * `look` returns { alternatives, own, weights(layer, head) }.
 */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const { Summary, makeButton, makeSelect } = window.courseControls;
  const { shown, percent } = window.courseModelText;

  function makeTable(caption, heads, rows, className = "model-table") {
    return make("table", { class: className }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(([first, ...rest]) =>
        make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((cell) => make("td", {}, cell))))));
  }

  function makeBar(share) {
    const bar = make("span", { class: "model-bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
    return bar;
  }

  /** A label and its list of numbers in one line. */
  const makeField = ({ label, select }) => make("span", { class: "model-field" }, label, select);

  /** Fill a list with numbers, shown counted from 1. Keep the reader's choice if the new list has it. */
  function offerNumbers({ select }, numbers) {
    const before = Number(select.value);
    select.replaceChildren(...numbers.map((number) => make("option", { value: number }, String(number + 1))));
    if (numbers.includes(before)) select.value = before;
  }

  const withBar = (p) => make("span", { class: "model-share" }, makeBar(p), percent(p));

  class Look {
    constructor() {
      this.heading = make("p", { class: "model-heading" }, "Choose a token of the text.");
      this.alternatives = make("div", {});
      this.layer = makeSelect("Layer", [], () => this.fillHeads());
      this.head = makeSelect("Head", [], () => this.drawAttention());
      this.attention = make("div", {});
      this.lensButton = makeButton("What would each layer say?", () => this.readLens());
      this.lens = make("div", {});
      this.summary = new Summary();
      this.parts = make("div", { class: "model-parts" },
        make("section", { "aria-label": "Alternatives" }, this.alternatives),
        make("section", { "aria-label": "Attention" }, make("div", { class: "course-pills" }, makeField(this.layer), makeField(this.head)), this.attention),
        make("section", { "aria-label": "Logit lens" }, this.lensButton, this.lens));
      this.parts.hidden = true;
      this.element = make("div", { class: "model-look" }, this.heading, this.parts, this.summary.element);
    }

    /** Hide the tables until a token of the next run is chosen. */
    reset() {
      this.run = null;
      this.parts.hidden = true;
      this.heading.textContent = "Choose a token of the text.";
      this.summary.say("");
    }

    async show(run, text, place) {
      const isOther = this.run !== run;
      if (this.text && this.text !== text) this.text.mark();
      Object.assign(this, { run, text, place, found: isOther ? null : this.found });
      if (isOther) this.fillLayers();
      const found = await run.look(place);
      if (this.run !== run || this.place !== place) return; // another one was chosen meanwhile
      this.found = found;
      this.parts.hidden = false;
      const { text: name } = run.tokens[place];
      this.heading.textContent = `Token ${place + 1} of ${run.tokens.length}: \u201C${shown(name)}\u201D`;
      this.drawAlternatives(name);
      this.drawAttention();
      this.lens.replaceChildren();
      if (run.isRecorded) this.readLens();
    }

    fillLayers() {
      offerNumbers(this.layer, Object.keys(this.run.heads).map(Number));
      this.fillHeads();
    }

    fillHeads() {
      offerNumbers(this.head, this.run.heads[this.layer.select.value]);
      if (this.found) this.drawAttention();
    }

    drawAlternatives(name) {
      const { alternatives, own } = this.found;
      if (!alternatives) {
        this.alternatives.replaceChildren(make("p", {}, "It is the first token: the model had nothing to expect it from."));
        return;
      }
      const rows = alternatives.map(({ text, probability }) => [shown(text), withBar(probability)]);
      const isAmong = alternatives.some(({ text }) => text === name);
      if (!isAmong) rows.push([`${shown(name)} (stands here)`, withBar(own)]);
      this.alternatives.replaceChildren(makeTable(`In place of \u201C${shown(name)}\u201D the model expected`, ["token", "probability"], rows));
      const [best] = alternatives;
      this.summary.tell(`In place of \u201C${shown(name)}\u201D (${percent(own)}) the likeliest was \u201C${shown(best.text)}\u201D, ${percent(best.probability)}.`);
    }

    /** The weights of the chosen head: as a shade over the text, and as a table, largest first. */
    drawAttention() {
      if (!this.found) return;
      const [layer, head] = [this.layer, this.head].map(({ select }) => Number(select.value));
      const weights = this.found.weights(layer, head);
      this.text.shade(weights);
      const name = shown(this.run.tokens[this.place].text);
      const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 8);
      this.attention.replaceChildren(makeTable(
        `From \u201C${name}\u201D, head ${head + 1} of layer ${layer + 1} looks at`, ["token", "weight"],
        order.map((j) => [`${j + 1}. ${shown(this.run.tokens[j].text)}`, withBar(weights[j])])));
    }

    async readLens() {
      const { run, place } = this;
      this.lensButton.disabled = true;
      const rows = await run.lens(place, (share) => (this.lensButton.textContent = `Reading \u2026 ${Math.round(100 * share)}%`));
      this.lensButton.disabled = false;
      this.lensButton.textContent = "What would each layer say?";
      if (this.run !== run || this.place !== place) return;
      const name = shown(run.tokens[place].text);
      const cells = rows.map((best, l) => [l === 0 ? "embedding" : String(l),
        best.map(({ text }) => shown(text)).join("  "), withBar(best[0].probability)]);
      this.lens.replaceChildren(makeScroller("The layers, one by one", makeTable(
        `After \u201C${name}\u201D, read off after each layer: the likeliest next token`, ["layer", "next", "probability"], cells, "model-table model-lens")));
    }
  }

  window.courseModelLook = { Look, makeField, makeTable, offerNumbers };
})();
