/* The questions that a page asks of its figure: one is chosen, sets the scene, and may want a head as its answer.
 *
 * new Questions(questions, onChoose): each { title, says, scene, first, heads }. scene is where the workbench
 * goes: { sentence, stage, word, step, truth }. first: a question of the page to be answered before, as its
 * { id, words }. heads: { tested, shares }, how much each head of each attention puts where the answer puts most.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { makeButton } = window.courseControls;

  const percent = (share) => `${Math.round(100 * share)}%`;

  class Questions {
    constructor(questions, onChoose) {
      this.questions = questions;
      this.buttons = questions.map(({ title }, i) => makeButton(`${i + 1}. ${title}`, () => {
        this.choose(i);
        onChoose();
      }));
      this.says = make("p", { class: "living-asks", "aria-live": "polite" });
      this.element = make("div", { class: "living-questions", role: "group", "aria-label": "Questions to answer with it" },
        make("div", { class: "course-pills" }, make("strong", {}, "Find out:"), ...this.buttons), this.says);
      this.choose(0);
    }

    choose(place) {
      this.chosen = this.questions[place];
      this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === place)));
      const { says, first } = this.chosen;
      this.says.replaceChildren(says, ...(first ? [" ", make("a", { class: "course-pill living-first", href: `#${first.id}` }, first.words)] : []));
    }

    /** A question: { title, judge }; judge(attention, head) -> { right, words } where a head is the answer, else null. */
    get asked() {
      const { title, heads } = this.chosen;
      return { title, judge: heads ? this.makeJudge(heads) : null };
    }

    makeJudge({ shares, tested }) {
      const most = Math.max(...Object.values(shares).flat());
      return (attention, head) => {
        const share = shares[attention][head];
        const right = share === most;
        const found = `Over ${grouped(tested)} sentences, head ${head + 1} puts ${percent(share)} of its weight there`;
        return {
          right,
          words: right
            ? `That is the one! ${found}, and no other head as much. Go into it and switch it off: does the French suffer?`
            : `${found}. Another one puts more.`,
        };
      };
    }
  }

  window.courseFigureQuestions = Questions;
})();
