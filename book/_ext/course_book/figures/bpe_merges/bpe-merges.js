/* The figure "bpe-merges": a text in tokens, by the number of merges.
 *
 * model: { merges, tokens, note }, with the tokens for each number of merges.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Counts, Slider, Summary } = window.courseControls;

  const HALF_A_LETTER = /<[0-9a-f]{2}>/; // a byte, written in hexadecimal

  class BPEMerges {
    constructor(model, el) {
      this.model = model;
      this.slider = new Slider("Merges", () => this.update(), { values: model.merges, value: model.merges[0] });
      this.tokens = make("p", { class: "merges-tokens" });
      this.counts = new Counts();
      this.summary = new Summary();
      el.className = "merges";
      el.append(this.slider.element, this.tokens, this.counts.element, this.summary.element);
      this.update();
    }

    update() {
      const merges = this.slider.get();
      const tokens = this.model.tokens[this.model.merges.indexOf(merges)];
      this.slider.show();
      this.tokens.replaceChildren(...tokens.map((token) =>
        make("span", { class: "merges-token" }, token.replace(/^ /, "\u00B7"))));
      this.counts.show([
        ["tokens", "tokens of the text", tokens.length],
        ["vocabulary", "tokens in the vocabulary", 256 + merges],
      ]);
      const legible = tokens.filter((token) => !HALF_A_LETTER.test(token));
      const longest = legible.reduce((best, token) => (token.trim().length > best.length ? token.trim() : best), "");
      this.summary.tell(`After ${merges} merges the text has ${tokens.length} tokens; the longest is \u201C${longest}\u201D.`);
    }
  }

  window.courseFigures["bpe-merges"] = BPEMerges;
})();
