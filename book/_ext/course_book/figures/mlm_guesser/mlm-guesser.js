/* The figure "mlm-guesser": hide a word of a sentence, and see what two models take it for.
 *
 * model: { models, sentences: [{ words, guesses }], note }; guesses[model][word] is a list of pairs
 * [word, probability], best first.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Radios, Summary, makeButton, makeSelect } = window.courseControls;
  const STEP = { ArrowRight: 1, ArrowLeft: -1 };

  class MLMGuesser {
    constructor(model, el) {
      this.model = model;
      const sentences = model.sentences.map(({ words }) => words.join(" "));
      const { label, select } = makeSelect("Sentence", Object.entries(sentences), () => this.show());
      this.select = select;
      this.radios = new Radios("The model sees", model.models, 0, () => this.update());
      this.sentence = make("div", { class: "guesser-words", role: "group", "aria-label": "Hide a word" });
      this.bars = make("ol", { class: "guesser-bars", "aria-hidden": "true" });
      this.summary = new Summary();
      el.className = "guesser";
      el.append(
        make("div", { class: "guesser-controls" }, label, select, this.radios.element),
        this.sentence, this.bars, this.summary.element,
      );
      this.show();
    }

    show() {
      const { words } = this.model.sentences[this.select.value];
      this.buttons = words.map((word, i) => {
        const button = makeButton(word, () => this.hide(i), "guesser-word");
        button.addEventListener("keydown", (event) => this.move(event, i));
        return button;
      });
      this.sentence.replaceChildren(...this.buttons);
      this.hide(Math.min(2, words.length - 1));
    }

    move(event, from) {
      const step = STEP[event.key];
      if (!step) return;
      event.preventDefault();
      const to = (from + step + this.buttons.length) % this.buttons.length;
      this.hide(to);
      this.buttons[to].focus();
    }

    hide(place) {
      this.place = place;
      this.update();
    }

    update() {
      const chosen = this.radios.get();
      const { words, guesses } = this.model.sentences[this.select.value];
      const best = guesses[chosen][this.place];
      const truth = words[this.place];
      const onlyLeft = chosen > 0;
      this.buttons.forEach((button, i) => {
        button.setAttribute("aria-pressed", i === this.place);
        button.classList.toggle("is-unseen", onlyLeft && i > this.place);
      });
      this.bars.replaceChildren(...best.map(([word, p]) => this.bar(word, p, word === truth)));
      const listed = best.slice(0, 3).map(([word, p]) => `${word} ${this.percent(p)}`).join(", ");
      this.summary.say(
        `\u201C${truth}\u201D is hidden. Seeing ${this.model.models[chosen]}, the model says: ${listed}.`);
    }

    bar(word, p, isTruth) {
      const fill = make("span", { class: "guesser-fill" });
      fill.style.width = `${(100 * p).toFixed(1)}%`;
      return make("li", { class: isTruth ? "is-truth" : "" },
        make("span", { class: "guesser-guess" }, isTruth ? `\u2713 ${word}` : word),
        make("span", { class: "guesser-track" }, fill),
        make("span", { class: "guesser-share" }, this.percent(p)));
    }

    percent(p) {
      return p > 0.995 && p < 1 ? "> 99%" : `${Math.round(100 * p)}%`;
    }
  }

  window.courseFigures["mlm-guesser"] = MLMGuesser;
})();
