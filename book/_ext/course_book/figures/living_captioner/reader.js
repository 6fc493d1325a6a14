/* The captioner reads a picture and says it; each word's look is shown, and may be turned elsewhere.
 *
 * new Reader({ words, parameters }, { side, sizes }, el, { onLook, onChange }): onLook is called when a word
 * is chosen, onChange when its look or words have changed. read(picture, shapes) describes a picture;
 * press(place) puts a region into the look that the reader gives the word, or takes it out.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Summary, makeButton } = window.courseControls;
  const { makeRun, makeRight, makeFolded, makeTable } = window.courseLiving;
  const { WordPlayer, Writing, makeNextWords, makeScore } = window.courseLooks;
  const { AttentionDecoder, Matrix, readPicture, unpack } = window.courseEngine;
  const { paint } = window.courseCaptioner;
  const [LONGEST, ACROSS, THUMB] = [10, 8, 128]; // words; regions along a side; pixels

  const quoted = (word) => `\u201c${word}\u201d`;
  const percent = (share) => `${Math.round(100 * share)}%`;
  const plain = (word) => word.replace(/[<>]/g, "");
  const named = (place) => `row ${Math.floor(place / ACROSS) + 1}, column ${(place % ACROSS) + 1}`;

  class Reader {
    constructor({ words, parameters }, { side, sizes }, el, { onLook, onChange }) {
      Object.assign(this, { words, side, sizes, onLook, onChange, truth: false });
      this.parameters = unpack(parameters);
      this.decoder = new AttentionDecoder(this.parameters);
      this.results = make("div", { class: "living-results" });
      this.thumbs = make("div", { class: "caption-thumbs", role: "group", "aria-label": "Where it looks for each word" });
      this.player = new WordPlayer((step) => this.arrive(step));
      this.truthButton = makeButton("Show the true shape", () => this.toggleTruth());
      this.truthButton.setAttribute("aria-pressed", "false");
      this.back = makeButton("Back to its own look", () => {
        this.turn(null);
        this.thumbs.children[this.step].focus();
      });
      this.player.pills.append(this.truthButton, this.back);
      this.next = make("div");
      this.summary = new Summary();
      this.numbers = make("div", { class: "caption-numbers" });
      el.append(this.results, this.thumbs, this.player.element, this.summary.element, this.next, this.numbers);
    }

    /** Describe a picture. */
    read(picture, shapes) {
      this.player.stop();
      Object.assign(this, { picture, shapes });
      const encoded = readPicture(this.parameters, Matrix.of(picture));
      const [start, end] = ["<start>", "<end>"].map((word) => this.words.indexOf(word));
      this.writing = new Writing(this.decoder, encoded, { start, end, most: LONGEST });
      this.reload(0);
    }

    reload(step) {
      this.quiet = true; // nobody has chosen a word
      this.player.load(this.written(), step);
      this.quiet = false;
    }

    written() {
      return this.writing.steps.map(({ chosen }) => plain(this.words[chosen]));
    }

    arrive(step) {
      this.step = step;
      this.draw();
      if (!this.quiet) this.onLook();
    }

    /** Press a region; the chosen word then attends equally to all pressed regions. */
    press(place) {
      const lit = this.writing.turned.get(this.step) ?? [];
      const spot = new Set(this.weights.map((_, i) => i).filter((i) => lit[i] > 0));
      if (!spot.delete(place)) spot.add(place);
      this.turn(spot.size ? this.weights.map((_, i) => (spot.has(i) ? 1 / spot.size : 0)) : null);
    }

    turn(weights) {
      this.player.stop();
      this.writing.turn(this.step, weights);
      this.reload(this.step);
      this.onChange();
    }

    toggleTruth() {
      this.truth = !this.truth;
      this.truthButton.setAttribute("aria-pressed", String(this.truth));
      this.draw();
      this.onChange();
    }

    get weights() {
      return this.writing.steps[this.step].weights;
    }

    /** The true description: colour and kind of each shape, from left to right. */
    get trueWords() {
      return this.shapes.flatMap(({ color, kind }) => [color, kind]);
    }

    /** The regions that the shape of a step's word touches; empty if the word belongs to no shape. */
    regionsOf(step) {
      const shape = this.shapes[Math.floor(step / 2)];
      if (!shape) return new Set();
      const wide = this.side / ACROSS;
      const near = (place, centre) => Math.abs((place + 0.5) * wide - centre) < this.sizes[shape.size] + wide / 2;
      const places = Array.from({ length: ACROSS ** 2 }, (_, i) => i);
      return new Set(places.filter((i) => near(Math.floor(i / ACROSS), shape.row) && near(i % ACROSS, shape.column)));
    }

    get trueRegions() {
      return this.truth ? this.regionsOf(this.step) : new Set();
    }

    draw() {
      const { writing, step } = this;
      const now = writing.steps[step];
      const own = writing.turned.has(step) ? writing.byItself(step) : null;
      this.showResults();
      this.showThumbs();
      this.back.disabled = !own;
      this.next.replaceChildren(makeNextWords(now.probabilities, own?.probabilities ?? null, this.words));
      this.numbers.replaceChildren(...this.tables(now));
      this.summary.tell(this.sentence(now, own));
    }

    showResults() {
      const { own, steps, turned } = this.writing;
      const go = (step) => this.player.choose(step);
      const right = this.truth ? [...this.trueWords, "<end>"] : null;
      const words = own.map(({ chosen }) => this.words[chosen]);
      const lines = [makeRun(turned.size ? "by itself" : "it says", { steps: own }, this.words, right, go)];
      if (turned.size) lines.push(makeRun("your look", { steps }, this.words, words, go, "changed"));
      if (right) lines.push(makeRight(this.trueWords.length ? this.trueWords : ["nothing"]));
      this.results.replaceChildren(...lines);
    }

    showThumbs() {
      const focused = [...this.thumbs.children].indexOf(document.activeElement);
      this.thumbs.replaceChildren(...this.writing.steps.map(({ weights }, step) => {
        const canvas = make("canvas", { "aria-hidden": "true" });
        paint(canvas, this.picture, THUMB, { light: weights, framed: this.truth ? this.regionsOf(step) : new Set() });
        const button = make("button", { type: "button", class: "caption-thumb", "aria-pressed": String(step === this.step) }, canvas, this.written()[step]);
        button.addEventListener("click", () => this.player.choose(step));
        return button;
      }));
      if (focused >= 0) this.thumbs.children[Math.min(focused, this.thumbs.children.length - 1)].focus();
    }

    get heaviest() {
      return this.weights.indexOf(Math.max(...this.weights));
    }

    tables(now) {
      const place = this.heaviest;
      const word = this.written()[this.step];
      const columns = Array.from({ length: ACROSS }, (_, i) => String(i + 1));
      const rows = columns.map((name, i) => [name, now.weights.slice(i * ACROSS, (i + 1) * ACROSS)]);
      return [
        makeFolded("The weights of all regions as a table", () => makeTable(`Weights for \u201c${word}\u201d, in percent`, columns, rows, (weight) => (100 * weight).toFixed(1))),
        makeFolded(`The score of its heaviest region, ${named(place)}, number by number`, () =>
          make("div", {}, ...makeScore(this.decoder, now, place, { asks: word, answers: `the region in ${named(place)}` }))),
        makeFolded("The context, the regions mixed, as a table", () => makeTable("The context", now.context.map((_, d) => String(d + 1)), [["context", now.context]])),
      ];
    }

    sentence({ weights, chosen, probabilities }, own) {
      const word = plain(this.words[chosen]);
      const on = [...this.regionsOf(this.step)].reduce((sum, place) => sum + weights[place], 0);
      const shape = this.shapes[Math.floor(this.step / 2)];
      const truly = this.truth && shape ? ` ${percent(on)} of its weight lies on the ${shape.color} ${shape.kind}.` : "";
      if (own) {
        const before = plain(this.words[own.chosen]);
        const verdict = before === word ? "the same as by itself" : `by itself it would say ${quoted(before)}`;
        return `With your look the word is ${quoted(word)} (${percent(probabilities[chosen])}): ${verdict}.${truly}`;
      }
      return `For ${quoted(word)} it looks most at ${named(this.heaviest)} (${percent(weights[this.heaviest])}).${truly}`;
    }
  }

  window.courseCaptioner.Reader = Reader;
})();
