/* Quizzes and predictions: an answer is judged at once, explained, and remembered.
 *
 * Reads the HTML of book/_ext/course_book/directives/choice_directives.py. Arrow keys in a radio group
 * choose as they move, so there an answer counts only when confirmed by Enter or Space; a press with
 * the pointer counts at once. The status line is a live region: it says the verdict and the reason.
 * The event course:answered tells other scripts of each answer.
 */
(function () {
  "use strict";

  const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
  const UNSPOKEN = ".course-choice__verdict, .katex-html, annotation";

  /** The text of an element as it should be read out after the verdict: formulas as MathML only. */
  function spoken(element) {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(UNSPOKEN).forEach((part) => part.remove());
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  class Choices {
    constructor(root) {
      this.root = root;
      this.kind = root.dataset.courseChoices;
      this.version = root.dataset.version;
      this.answers = [...root.querySelectorAll(".course-choice")].map((element) => ({
        element,
        input: element.querySelector("input"),
        right: element.dataset.right === "true",
        why: element.querySelector(".course-choice__why"),
      }));
      this.multiple = this.answers[0].input.type === "checkbox";
      this.reveal = root.querySelector(".course-choices__reveal");
      this.status = root.querySelector(".course-choices__status");
      this.again = root.querySelector(".course-choices__again");
      this.byArrow = false;
      root.classList.add("is-live");
      root.addEventListener("keydown", (event) => this.onKey(event));
      root.addEventListener("pointerdown", () => (this.byArrow = false));
      root.addEventListener("change", (event) => this.onChange(event));
      this.again.addEventListener("click", () => this.forget());
      this.restore();
    }

    onKey(event) {
      const answer = this.answers.find(({ input }) => input === event.target);
      if (!answer || this.multiple) return;
      this.byArrow = ARROWS.includes(event.key);
      if ((event.key === " " || event.key === "Enter") && answer.input.checked) {
        event.preventDefault();
        this.judge(answer);
      }
    }

    onChange(event) {
      const answer = this.answers.find(({ input }) => input === event.target);
      if (this.byArrow) {
        this.byArrow = false;
        this.clear();
        this.say("Press Enter to give this answer.");
      } else {
        this.judge(answer);
      }
    }

    /** Judge the answer that was just given, tell the reader, and keep it. */
    judge(answer) {
      window.courseMemory.set(this.key(), { version: this.version, chosen: this.chosen() });
      this.show();
      const because = answer.input.checked && answer.why ? spoken(answer.why.lastElementChild) : "";
      const verdict = this.verdict(answer);
      this.say(verdict, because && !this.reveal ? ` ${because}` : this.revealed());
    }

    /** Show the verdicts on the checked inputs, without a word to the live region. */
    show() {
      this.answers.forEach(({ element, input, why }) => {
        element.classList.toggle("is-chosen", input.checked);
        if (!why) return;
        why.open = input.checked;
        if (input.checked) input.setAttribute("aria-describedby", why.lastElementChild.id);
        else input.removeAttribute("aria-describedby");
      });
      const settled = this.kind === "predict" && this.chosen().length > 0;
      this.root.classList.toggle("is-settled", settled);
      if (this.reveal) this.reveal.open = settled;
      this.answers.forEach(({ input }) => (input.disabled = settled && !input.checked));
      this.again.hidden = this.chosen().length === 0;
      this.root.dispatchEvent(new Event("course:answered", { bubbles: true }));
    }

    verdict(answer) {
      if (this.kind === "predict") {
        return answer.right ? "You predicted it." : "It turns out otherwise.";
      }
      if (!this.multiple) return answer.right ? "Right." : "Wrong. Try another answer.";
      const found = this.answers.filter(({ input, right }) => right && input.checked).length;
      const wanted = this.answers.filter(({ right }) => right).length;
      const wrong = this.answers.some(({ input, right }) => !right && input.checked);
      if (found === wanted && !wrong) return "Right: these are all.";
      return `${found} of ${wanted} right answers found${wrong ? ", and a wrong one is chosen" : ""}.`;
    }

    revealed() {
      if (!this.reveal?.open) return "";
      const below = document.querySelector(`[data-course-after="${this.root.id}"]`);
      return ` ${spoken(this.reveal.lastElementChild)}${below ? " More is shown below." : ""}`;
    }

    say(visible, heard = "") {
      this.status.replaceChildren(visible);
      if (!heard) return;
      const rest = document.createElement("span");
      rest.className = "course-unseen";
      rest.textContent = heard;
      this.status.append(rest);
    }

    chosen() {
      return this.answers.flatMap(({ input }, index) => (input.checked ? [index] : []));
    }

    key() {
      return `choices:${this.root.id}`;
    }

    clear() {
      this.answers.forEach(({ element, input, why }) => {
        element.classList.remove("is-chosen");
        input.removeAttribute("aria-describedby");
        if (why) why.open = false;
      });
    }

    restore() {
      const chosen = window.courseMemory.answers(this.root.id, this.version);
      this.answers.forEach(({ input }, index) => (input.checked = chosen.includes(index)));
      if (!chosen.length) return;
      this.show();
      this.say(this.verdict(this.answers[chosen[chosen.length - 1]]));
    }

    forget() {
      window.courseMemory.remove(this.key());
      this.byArrow = false; // an arrow that found every other answer disabled has changed nothing
      this.answers.forEach(({ input }) => (input.checked = false));
      this.show();
      this.say("");
      this.answers[0].input.focus();
    }
  }

  document.querySelectorAll("[data-course-choices]").forEach((root) => new Choices(root));
})();
