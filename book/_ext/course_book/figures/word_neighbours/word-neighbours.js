/* The figure "word-neighbours": the words whose vectors point most nearly the same way.
 *
 * model: { words, vectors: { name: [[...], ...] }, note }; one-hot vectors are made here.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Radios, Summary, makeSelect } = window.courseControls;
  const { dot } = window.courseArithmetic;
  const SHOWN = 8;

  function cosine(a, b) {
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }

  class WordNeighbours {
    constructor(model, el) {
      this.model = model;
      const alphabetical = Object.entries(model.words).sort(([, a], [, b]) => (a < b ? -1 : 1));
      const { label, select } = makeSelect("Word", alphabetical, () => this.update());
      this.select = select;
      const first = ["nurse", "boys", "red"].find((word) => model.words.includes(word));
      if (first) this.select.value = model.words.indexOf(first);
      this.kinds = ["one-hot", ...Object.keys(model.vectors)];
      this.radios = new Radios("Vectors", this.kinds, 1, () => this.update());
      this.list = make("ol", { class: "near-list" });
      this.summary = new Summary();
      el.className = "near";
      el.append(
        make("div", { class: "near-word" }, label, select),
        this.radios.element,
        this.list,
        this.summary.element,
      );
      this.update();
    }

    get kind() {
      return this.kinds[this.radios.get()];
    }

    cosines(index) {
      const table = this.model.vectors[this.kind];
      return this.model.words
        .map((word, i) => ({ word, i, cosine: table ? cosine(table[index], table[i]) : 0 }))
        .filter(({ i }) => i !== index)
        .sort((a, b) => b.cosine - a.cosine);
    }

    update() {
      const index = Number(this.select.value);
      const nearest = this.cosines(index).slice(0, SHOWN);
      this.list.replaceChildren(...nearest.map(({ word, cosine: value }) => {
        const bar = make("span", { class: "near-bar", "aria-hidden": "true" }, make("span"));
        bar.firstChild.style.setProperty("--part", Math.max(value, 0).toFixed(3));
        return make("li", {}, make("span", { class: "near-name" }, word), bar,
          make("span", { class: "near-number" }, value.toFixed(2)));
      }));
      const word = `\u201c${this.model.words[index]}\u201d`;
      this.summary.say(this.kind === "one-hot"
        ? `As one-hot vectors, all words are equally unlike ${word}: the list is in no order.`
        : `By ${this.kind}, ${word} is used most like \u201c${nearest[0].word}\u201d and ` +
          `\u201c${nearest[1].word}\u201d.`);
    }
  }

  window.courseFigures["word-neighbours"] = WordNeighbours;
})();
