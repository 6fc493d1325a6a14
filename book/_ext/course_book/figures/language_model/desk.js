/* The two texts of the figure: one that the whole model writes, and one that the model with cuts writes.
 *
 * A recorded run and a run of the model in the page have the same fields and methods; see look.js.
 */
(function () {
  "use strict";

  const { TokenText } = window.courseModelText;

  const named = ([text, probability]) => ({ text, probability });

  /** The run that was recorded; its lens holds the likeliest token of each layer. */
  class RecordedRun {
    constructor({ tokens, heads, layers }) {
      Object.assign(this, { tokens, layers, isRecorded: true, recorded: heads });
      this.heads = {};
      heads.forEach(({ layer, head }) => (this.heads[layer] ??= []).push(head));
    }

    async look(place) {
      const { own, alternatives } = this.tokens[place];
      return {
        own, alternatives: alternatives.length ? alternatives.map(named) : undefined,
        weights: (layer, head) => this.recorded.find((one) => one.layer === layer && one.head === head).rows[place],
      };
    }

    async lens(place) {
      return this.tokens[place].lens.map((best) => [named(best)]);
    }
  }

  /** A run of the model in the page: a session of the laboratory. */
  class LivingRun {
    constructor(laboratory, name, { layers, heads }) {
      Object.assign(this, { laboratory, name, layers, headCount: heads, tokens: [] });
      const all = Array.from({ length: heads }, (_, h) => h);
      this.heads = Object.fromEntries(Array.from({ length: layers }, (_, l) => [l, all]));
    }

    async look(place) {
      const found = await this.laboratory.call("look", { name: this.name, place });
      const length = place + 1;
      return { ...found, weights: (layer, head) => {
        const begin = (layer * this.headCount + head) * length;
        return found.weights.subarray(begin, begin + length);
      } };
    }

    lens(place, onShare) {
      return this.laboratory.call("lens", { name: this.name, place }, onShare);
    }
  }

  /** One text of the desk: its tokens in view, and the run behind them. */
  class Writer {
    constructor(name, look) {
      this.text = new TokenText(name, (place) => look.show(this.run, this.text, place));
    }

    show(run) {
      this.run = run;
      this.text.clear();
      run.tokens.forEach((token) => this.text.append(token.written ? { ...token, probability: token.own } : token));
    }

    async begin(laboratory, facts, prompt, onShare) {
      this.run = new LivingRun(laboratory, prompt.name, facts);
      const { tokens, ...measured } = await laboratory.call("begin", prompt, onShare);
      tokens.forEach((token) => this.append({ ...token, written: false }));
      return measured;
    }

    append(token) {
      this.run.tokens.push(token);
      this.text.append(token);
    }

    async next(settings) {
      const token = await this.run.laboratory.call("next", { name: this.run.name, ...settings });
      if (token.ended && token.special) return token;
      this.append({ ...token, written: true });
      return token;
    }
  }

  window.courseModelDesk = { RecordedRun, Writer };
})();
