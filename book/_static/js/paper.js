/* On paper the answers to the quizzes of a page stand on a page of their own, behind its text.
 *
 * courseCollectAnswers(article) appends them; scripts/print_book.py calls it for each page of the book.
 */
(function () {
  "use strict";

  const make = (tag, className = "", ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };

  /** The content of an element, without ids. */
  function copied(element) {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
    copy.querySelectorAll(".course-choice__verdict").forEach((part) => part.remove());
    return [...copy.childNodes];
  }

  window.courseCollectAnswers = (article) => {
    const quizzes = [...article.querySelectorAll(".course-choices--quiz")];
    if (!quizzes.length) return null;
    const list = make("ol");
    quizzes.forEach((quiz, index) => {
      quiz.querySelector(".course-choices__kicker").dataset.number = index + 1;
      const right = [...quiz.querySelectorAll('.course-choice[data-right="true"]')];
      list.append(make("li", "", ...right.flatMap((choice) => [
        make("p", "course-answers__right", ...copied(choice.querySelector("label"))),
        ...copied(choice.querySelector(".course-choice__why > div")),
      ])));
    });
    const answers = make("section", "course-answers", make("h2", "", "Answers"), list);
    article.append(answers);
    return answers;
  };

  let answers = null;
  window.addEventListener("beforeprint", () => {
    const article = document.querySelector(".bd-article");
    answers = article && window.courseCollectAnswers(article);
  });
  window.addEventListener("afterprint", () => answers?.remove());
})();
