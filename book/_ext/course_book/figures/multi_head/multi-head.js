/* The figure "multi-head": where each head looks, how it votes, and the answer without it.
 *
 * model: { questions, vocabulary, base, sentences: [{ words, start, weights, asked }], note }.
 * The logits of a question are its base and the votes of all heads that are on: a plain sum.
 */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;
  const { Summary, makeButton, makeSelect } = window.courseControls;
  const { softmax } = window.courseArithmetic;

  /** A weight as text without its leading zero; empty if it rounds to 0. */
  function short(weight) {
    if (weight < 0.005) return "";
    return weight > 0.995 ? "1" : weight.toFixed(2).slice(1);
  }

  class MultiHead {
    constructor(model, el) {
      this.model = model;
      this.isOn = model.sentences[0].weights.map(() => true);
      const sentences = model.sentences.map(({ words }) => words.join(" "));
      const { label, select } = makeSelect("Sentence", Object.entries(sentences), () =>
        this.choose(Number(select.value)));
      this.stage = make("div", {});
      this.cards = make("div", { class: "heads-cards" });
      this.votes = make("details", { class: "heads-details" });
      this.summary = new Summary();
      el.className = "heads";
      el.append(
        make("div", { class: "heads-chooser" }, label, select),
        this.cards,
        this.stage,
        this.summary.element,
        this.votes,
      );
      this.choose(0);
    }

    choose(index) {
      this.sentence = this.model.sentences[index];
      this.place = this.sentence.start;
      this.caption = make("caption", {});
      this.switches = this.isOn.map((_, head) => this.headSwitch(head));
      this.words = this.sentence.words.map((word, place) => this.wordButton(word, place));
      this.cells = this.words.map(() => this.isOn.map(() => make("td", { class: "heads-weight" })));
      const head = make(
        "tr",
        {},
        make("th", { scope: "col" }, "press a head"),
        ...this.switches.map((button) => make("th", { scope: "col" }, button)),
      );
      const rows = this.words.map(({ element }, place) =>
        make("tr", {}, make("th", { scope: "row" }, element), ...this.cells[place]),
      );
      this.stage.replaceChildren(
        make(
          "table",
          { class: "heads-table" },
          this.caption,
          make("thead", {}, head),
          make("tbody", {}, ...rows),
        ),
      );
      this.update();
    }

    headSwitch(head) {
      const button = makeButton("", () => {
        this.isOn[head] = !this.isOn[head];
        this.update();
      }, "course-pill heads-switch");
      button.setAttribute("aria-label", `head ${head + 1}`);
      button.append(make("span", { class: "heads-long" }, `head ${head + 1}`), make("span", { class: "heads-short" }, String(head + 1)));
      return button;
    }

    wordButton(word, place) {
      const tag = make("span", { class: "heads-tag" });
      const element = make("button", { type: "button", class: "course-word heads-word" }, make("span", {}, word), tag);
      element.addEventListener("click", () => this.ask(place));
      element.addEventListener("keydown", (event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        this.ask(Math.max(0, Math.min(this.words.length - 1, place + step)));
        this.words[this.place].element.focus();
      });
      return { element, tag };
    }

    ask(place) {
      this.place = place;
      this.update();
    }

    /** The answer to a question by the heads that are on. */
    answer({ question, answer, votes }) {
      const { base, vocabulary } = this.model;
      const logits = vocabulary.map((_, word) =>
        votes.reduce((sum, vote, head) => sum + (this.isOn[head] ? vote[word] : 0), base[question][word]),
      );
      const chances = softmax(logits);
      const best = chances.indexOf(Math.max(...chances));
      const right = this.sentence.words[answer];
      return { word: vocabulary[best], chance: chances[best], right, isRight: vocabulary[best] === right };
    }

    update() {
      const { words, weights, asked } = this.sentence;
      const here = asked.filter(({ place }) => place === this.place);
      this.caption.textContent = `How much \u201C${words[this.place]}\u201D looks at each word`;
      this.switches.forEach((button, head) => button.setAttribute("aria-pressed", String(this.isOn[head])));
      this.words.forEach(({ element, tag }, place) => {
        element.setAttribute("aria-pressed", String(place === this.place));
        element.tabIndex = place === this.place ? 0 : -1;
        const wanted = here.filter(({ answer }) => answer === place);
        tag.textContent = wanted.map(({ question }) => this.model.questions[question]).join(", ");
        this.cells[place].forEach((cell, head) => {
          const weight = weights[head][this.place][place];
          cell.textContent = short(weight);
          cell.style.setProperty("--amount", weight.toFixed(3));
          cell.classList.toggle("is-off", !this.isOn[head]);
        });
      });
      this.showAnswers(here);
    }

    showAnswers(here) {
      const told = here.map((question) => ({ ...question, ...this.answer(question) }));
      this.cards.replaceChildren(...told.map((each) => this.answerCard(each)));
      if (!told.length) this.cards.append(make("p", { class: "heads-none" }, "This word was asked nothing."));
      this.votes.hidden = !told.length;
      this.votes.replaceChildren(make("summary", {}, "How each head votes for the right word"), this.voteTable(told));
      const on = this.isOn.flatMap((isOn, head) => (isOn ? [head + 1] : []));
      const who = on.length ? `heads ${on.join(", ")}` : "no head";
      const answers = !on.length ? ["nobody has looked, so the answer is a guess"] : told.map(
        ({ question, word, isRight, right }) =>
          `${this.model.questions[question]}: ${word}, ${isRight ? "right" : `wrong, it is ${right}`}`,
      );
      const asker = `\u201C${this.sentence.words[this.place]}\u201D with ${who}`;
      this.summary.tell(`${[asker, answers.join("; ")].filter(Boolean).join(": ")}.`);
    }

    /** A question and its answer by the heads that are on. */
    answerCard({ question, word, chance, isRight }) {
      const guesses = !this.isOn.some(Boolean); // right or wrong, nobody has looked
      const [sign, kind] = guesses ? ["?", "guess"] : isRight ? ["\u2713", "right"] : ["\u2717", "wrong"];
      return make("div", { class: `heads-card is-${kind}` },
        make("span", { class: "heads-question" }, `${this.model.questions[question]}?`),
        make("span", { class: `heads-${kind}` }, `${sign} ${word} ${Math.round(100 * chance)}%`));
    }

    voteTable(told) {
      const heads = this.isOn.map((_, head) => make("th", { scope: "col" }, `head ${head + 1}`));
      return make("table", { class: "heads-table" }, make("thead", {}, make("tr", {}, make("td"), ...heads)),
        make("tbody", {}, ...told.map((each) => this.voteRow(each))));
    }

    voteRow({ question, votes, right }) {
      const index = this.model.vocabulary.indexOf(right);
      const above = votes.map((vote) => vote[index] - vote.reduce((a, b) => a + b, 0) / vote.length);
      const most = Math.max(...above.map(Math.abs));
      const cells = above.map((vote, head) => {
        if (!this.isOn[head]) return make("td", { class: "heads-vote is-off" }, "off");
        const cell = make("td", { class: `heads-vote${vote < 0 ? " is-against" : ""}` }, signed(vote, 1));
        cell.style.setProperty("--amount", (Math.abs(vote) / most).toFixed(3));
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row" }, this.model.questions[question]), ...cells);
    }
  }

  window.courseFigures["multi-head"] = MultiHead;
})();
