/* How many questions of a chapter are answered, beside its name: in the contents and on the map.
 *
 * window.courseQuestions, which the build writes, names the questions of each page. The answers are
 * kept in this browser (memory.js); where nothing can be kept, nothing is counted.
 */
(function () {
  "use strict";

  const LINKS = "nav.bd-links a, .course-map a";

  function questionsBehind(link) {
    const { pathname } = new URL(link.href, location.href);
    const page = Object.keys(window.courseQuestions).find((name) => pathname.endsWith(`/${name}.html`));
    return Object.entries(window.courseQuestions[page] || {});
  }

  function isAnswered([label, version]) {
    return window.courseMemory.answers(label, version).length > 0;
  }

  function show(link) {
    const questions = questionsBehind(link);
    const answered = questions.filter(isAnswered).length;
    let count = link.querySelector(".course-count");
    if (!answered) {
      count?.remove();
      return;
    }
    if (!count) {
      count = document.createElement("span");
      count.className = "course-count";
      link.append(count);
    }
    const rest = document.createElement("span");
    rest.className = "course-unseen";
    rest.textContent = " questions answered";
    count.replaceChildren(` ${answered}/${questions.length}`, rest);
    count.classList.toggle("is-complete", answered === questions.length);
  }

  function update() {
    document.querySelectorAll(LINKS).forEach(show);
  }

  document.addEventListener("course:answered", update);
  window.addEventListener("storage", update); // answered in another tab
  update();
})();
