/* The desk: a decoder writes, its look is seen and moved, and the words that follow change.
 *
 * new Desk(models, el): models are { words, closed, parameters }, one for each task; closed says whether a
 * source ends with a mark of its own. read(place, task, text) lets one of them read.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Summary, makeButton } = window.courseControls;
  const { split, complaint, join, makeRun, makeRight } = window.courseLiving;
  const { AlignmentTable, SourceLook, WordPlayer, Writing, makeNextWords, makeScore } = window.courseLooks;
  const { AttentionDecoder, readBothWays, unpack } = window.courseEngine;
  const LONGEST = 20; // words that are written at most
  const NOTHING = new Set();

  const quoted = (word) => `\u201c${word}\u201d`;
  const percent = (share) => `${Math.round(100 * share)}%`;
  const plain = (word) => word.replace(/[<>]/g, "");

  class Desk {
    constructor(models, el) {
      Object.assign(this, { models, el, truth: false, key: 0, open: false, decoders: [] });
      this.results = make("div", { class: "living-results" });
      this.player = new WordPlayer((step) => this.arrive(step));
      this.truthButton = makeButton("Show true alignment", () => this.toggleTruth());
      this.truthButton.setAttribute("aria-pressed", "false");
      this.player.pills.append(this.truthButton);
      this.table = new AlignmentTable((step, key) => this.ask(step, key), (step) => this.player.choose(step));
      this.look = new SourceLook({ onTurn: (weights) => this.turn(weights), onScore: (key) => this.ask(this.step, key) });
      this.head = make("h4", { class: "looks-title" });
      this.back = makeButton("Back to its own look", () => this.turn(null));
      this.legend = make("p", { class: "living-legend" });
      this.next = make("div");
      this.score = make("section", { class: "living-lens", "aria-label": "One score" });
      this.summary = new Summary();
      el.append(this.results, this.player.element, this.table.element, this.legend, this.summary.element,
        make("section", { class: "living-lens", "aria-label": "One word's look" },
          make("div", { class: "looks-bar" }, this.head, this.back), this.look.element, this.next),
        this.score);
      new MutationObserver(() => this.writing && this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    }

    /** Let the model of a task read a text; return a message if the text can't be read. */
    read(place, task, text) {
      const { words, closed, parameters } = this.models[place];
      const source = split(text, words.src);
      const problem = complaint(source, words.src);
      if (problem) return problem;
      this.player.stop();
      this.matrices = this.decoders[place]?.parameters ?? unpack(parameters);
      this.decoders[place] ??= new AttentionDecoder(this.matrices);
      this.words = words;
      this.source = closed ? [...source, "end"] : source;
      this.example = task.examples.find(({ src }) => join(src) === join(source)) ?? null;
      const ids = this.source.map((word) => words.src.indexOf(word === "end" ? "<end>" : word));
      const [start, end] = ["<start>", "<end>"].map((word) => words.tgt.indexOf(word));
      this.writing = new Writing(this.decoders[place], readBothWays(this.matrices, ids), { start, end, most: LONGEST });
      this.open = false;
      this.look.load(this.source, this.writing.encoded.memory);
      this.reload(0);
      return "";
    }

    reload(step) {
      this.player.load(this.written(), step);
    }

    /** The words of some steps; by default of those shown. */
    written(steps = this.writing.steps) {
      return steps.map(({ chosen }) => plain(this.words.tgt[chosen]));
    }

    arrive(step) {
      if (step !== this.step) this.open = false;
      this.step = step;
      if (!this.open) this.key = this.heaviest(this.writing.steps[step].weights)[0];
      this.draw();
    }

    heaviest(weights) {
      return weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
    }

    /** Show how the score of a key at a step is computed. */
    ask(step, key) {
      this.player.choose(step);
      Object.assign(this, { key, open: true });
      this.draw();
    }

    turn(weights) {
      this.player.stop();
      this.writing.turn(this.step, weights);
      this.reload(this.step);
      if (!weights) this.look.rows[this.key].input.focus();
    }

    toggleTruth() {
      this.truth = !this.truth;
      this.truthButton.setAttribute("aria-pressed", String(this.truth));
      this.draw();
    }

    /** The places that a word truly comes from, as long as the words before it are right. */
    trueKeys(step) {
      if (!this.truth || !this.example) return NOTHING;
      const { tgt, alignment } = this.example;
      const written = this.written();
      if (!tgt.slice(0, step).every((word, j) => word === written[j])) return NOTHING;
      return new Set(alignment.filter(([, j]) => j === step).map(([i]) => i));
    }

    draw() {
      const { writing, step, key } = this;
      const { steps, turned } = writing;
      const now = steps[step];
      const own = turned.has(step) ? writing.byItself(step) : null;
      this.showResults();
      this.table.show({
        source: this.source, written: this.written(), looks: steps.map(({ weights }) => weights), now: step, key, turned,
        trueKeys: (row) => this.trueKeys(row),
      });
      this.head.textContent = `On the way to word ${step + 1}, ${quoted(this.written()[step])}`;
      this.back.disabled = !own;
      this.look.show(now, { due: this.trueKeys(step), key: this.open ? key : -1 });
      this.next.replaceChildren(makeNextWords(now.probabilities, own?.probabilities ?? null, this.words.tgt));
      this.score.hidden = !this.open;
      this.score.replaceChildren(...(this.open ? makeScore(writing.decoder, now, key, this.named(step, key)) : []));
      this.legend.textContent = this.explainTruth();
      this.summary.tell(this.sentence(now, own));
    }

    named(step, key) {
      return { asks: this.written()[step], answers: `the annotation of ${quoted(this.source[key])}` };
    }

    showResults() {
      const { own, steps, turned } = this.writing;
      const go = (step) => this.player.choose(step);
      const right = this.truth && this.example ? [...this.example.tgt, "<end>"] : null;
      const words = own.map(({ chosen }) => this.words.tgt[chosen]);
      const lines = [makeRun(turned.size ? "by itself" : "it writes", { steps: own }, this.words.tgt, right, go)];
      if (turned.size) lines.push(makeRun("your look", { steps }, this.words.tgt, words, go, "changed"));
      if (right) lines.push(makeRight(this.example.tgt));
      this.results.replaceChildren(...lines);
    }

    explainTruth() {
      if (!this.truth) return "";
      return this.example
        ? "Framed: the source word that this word truly comes from, as long as the words before it are right."
        : "The truth is known for the examples in the list. For your own text you see only the model\u2019s words.";
    }

    sentence({ weights, chosen, probabilities }, own) {
      const [first, second] = this.heaviest(weights);
      const at = (i) => `${quoted(this.source[i])} (${percent(weights[i])})`;
      const word = plain(this.words.tgt[chosen]);
      if (own) {
        const before = plain(this.words.tgt[own.chosen]);
        const verdict = before === word ? "the same as by itself" : `by itself it would write ${quoted(before)}`;
        return `Your look is mostly at ${at(first)}. The next word is ${quoted(word)} (${percent(probabilities[chosen])}): ${verdict}.`;
      }
      const then = second === undefined ? "" : `, then at ${at(second)}`;
      return `For ${quoted(word)} it looks most at ${at(first)}${then}.`;
    }
  }

  window.courseLooks.Desk = Desk;
})();
