/* The answer to a prediction is veiled until the reader has made it, or asks for it.
 *
 * Reads the HTML of book/_ext/course_book/directives/veils.py. Links into veiled text, and the
 * browser's own search in the page, lift the veil too. The reader's answer is repeated where the
 * veiled text begins.
 */
(function () {
  "use strict";

  /** The words of an answer, ready to stand elsewhere in the page. */
  function copied(label) {
    const copy = label.cloneNode(true);
    copy.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
    return [...copy.childNodes];
  }

  class Veil {
    constructor(root) {
      this.root = root;
      this.question = document.getElementById(root.dataset.courseAfter);
      this.words = root.querySelector(".course-veil__words");
      this.button = root.querySelector("button");
      this.content = root.querySelector(".course-veil__content");
      this.before = this.words.textContent;
      this.button.addEventListener("click", () => {
        this.lift();
        this.content.focus({ preventScroll: true });
      });
      this.content.addEventListener("beforematch", () => this.lift());
      this.question.addEventListener("course:answered", () => this.update());
      this.update();
    }

    key() {
      return `shown:${this.question.id}`;
    }

    lift() {
      window.courseMemory.set(this.key(), true);
      this.update();
    }

    update() {
      const chosen = this.question.querySelector(".course-choice.is-chosen");
      const lifted = Boolean(chosen || window.courseMemory.get(this.key()));
      const wasLifted = this.root.classList.contains("is-lifted");
      this.root.classList.toggle("is-lifted", lifted);
      this.button.hidden = lifted;
      if (lifted) this.content.removeAttribute("hidden");
      else this.content.setAttribute("hidden", "until-found");
      this.say(chosen, lifted);
      if (lifted && !wasLifted) this.content.dispatchEvent(new Event("toggle")); // it has a width now
    }

    /** Say above the veiled text the reader's prediction, and whether it is right. */
    say(chosen, lifted) {
      delete this.words.dataset.right;
      if (!lifted) {
        this.words.replaceChildren(this.before);
      } else if (!chosen) {
        this.words.replaceChildren("Shown before you have predicted:");
      } else {
        this.words.dataset.right = chosen.dataset.right;
        this.words.replaceChildren("You predicted: ", ...copied(chosen.querySelector("label")));
      }
    }
  }

  const veils = new Map();
  document.querySelectorAll(".course-veil").forEach((root) => veils.set(root, new Veil(root)));

  function followLink() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const veil = target && veils.get(target.closest(".course-veil"));
    if (!veil) return;
    veil.lift();
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", followLink);
  followLink();
})();
