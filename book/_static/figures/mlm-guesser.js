/* The figure "mlm-guesser": hide a word of a sentence, and see what two models take it for.
 *
 * model: { models, sentences: [{ words, guesses }], note }; guesses[model][word] is a list of pairs
 * [word, probability], best first.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const STEP = { ArrowRight: 1, ArrowLeft: -1 };
  let count = 0;

  class MLMGuesser {
    constructor(model, el) {
      this.model = model;
      const id = `guesser-${(count += 1)}`;
      this.select = make("select", { id },
        ...model.sentences.map(({ words }, i) => make("option", { value: i }, words.join(" "))));
      this.select.addEventListener("change", () => this.show());
      this.radios = model.models.map((name, i) => this.radio(name, i, id));
      this.sentence = make("div", { class: "guesser-words", role: "group", "aria-label": "Hide a word" });
      this.bars = make("ol", { class: "guesser-bars", "aria-hidden": "true" });
      this.summary = make("p", { class: "guesser-summary", "aria-live": "polite" });
      el.className = "guesser";
      el.append(
        make("div", { class: "guesser-controls" },
          make("label", { for: id }, "Sentence"), this.select,
          make("fieldset", {}, make("legend", {}, "The model sees"),
            ...this.radios.map(({ element }) => element))),
        this.sentence, this.bars, this.summary,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.show();
    }

    radio(name, index, id) {
      const input = make("input", { type: "radio", name: id, id: `${id}-${index}`, value: index });
      input.checked = index === 0;
      input.addEventListener("change", () => this.update());
      const element = make("span", {}, input, make("label", { for: `${id}-${index}` }, name));
      return { input, element };
    }

    show() {
      const { words } = this.model.sentences[this.select.value];
      this.buttons = words.map((word, i) => {
        const button = make("button", { type: "button", class: "guesser-word" }, word);
        button.addEventListener("click", () => this.hide(i));
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
      const chosen = this.radios.findIndex(({ input }) => input.checked);
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
      this.summary.textContent =
        `\u201C${truth}\u201D is hidden. Seeing ${this.model.models[chosen]}, the model says: ${listed}.`;
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
      return p > 0.995 && p < 1 ? "> 99 %" : `${Math.round(100 * p)} %`;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["mlm-guesser"] = {
    render({ model, el }) {
      new MLMGuesser(model, el);
    },
  };
})();
