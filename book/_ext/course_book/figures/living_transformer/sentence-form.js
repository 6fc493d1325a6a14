/* A form for a sentence: it is typed, or picked from a list. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeSelect } = window.courseControls;
  let count = 0;

  /** Places of the examples that a model translates wrongly. */
  function findWrong(examples) {
    return examples.flatMap(({ written, tgt }, place) => (written.join(" ") === tgt.join(" ") ? [] : [place]));
  }

  class SentenceForm {
    constructor({ ask, send }, onRead) {
      const id = `living-sentence-${(count += 1)}`;
      this.ask = make("label", { class: "course-label", for: id }, ask);
      this.input = make("input", { id, class: "course-field living-input", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
      this.pick = makeSelect("or pick one", [], () => {
        this.input.value = this.pick.select.value;
        onRead();
      });
      this.problem = make("p", { class: "living-problem", role: "status" });
      const form = make("form", { class: "living-form" }, this.ask, this.input,
        make("button", { class: "course-pill", type: "submit" }, send), this.pick.label, this.pick.select);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.pick.select.value = this.text;
        onRead();
      });
      this.element = make("div", {}, form, this.problem);
    }

    /** Offer sentences to pick from, with those at the indices in `wrong` marked; fill in the first. */
    offer(texts, wrong = []) {
      this.pick.select.replaceChildren(...texts.map((text, place) =>
        make("option", { value: text }, wrong.includes(place) ? `${text} \u2717` : text)));
      this.text = texts[0];
      this.say("");
    }

    get text() {
      return this.input.value;
    }

    set text(text) {
      this.input.value = text;
      this.pick.select.value = text; // shows nothing where it is none of those to pick from
    }

    /** Show the reason why the sentence can't be read; hide it if `problem` is empty. */
    say(problem) {
      this.problem.textContent = problem;
    }
  }

  window.courseSentenceForm = SentenceForm;
  window.courseFindWrong = findWrong;
})();
