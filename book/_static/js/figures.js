/* Puts interactive figures in the place of their tables.
 *
 * A figure is a classic script that sets window.courseFigures[name], so that it also runs from
 * file://: a class made of a model, the JSON that the chapter's code cell showed, and of the element
 * that it fills. A note of the model stands below. On paper the figure stands as it is, and the table
 * in place of a model that is not started.
 */
(function () {
  "use strict";

  function makeNote(text) {
    return window.courseElements.make("p", { class: "course-interactive__note" }, text);
  }

  function bringToLife(figure) {
    const { courseFigure: name, courseData } = figure.dataset;
    const stage = figure.querySelector(".course-interactive__stage");
    const model = JSON.parse(document.getElementById(courseData).textContent);
    const el = document.createElement("div");
    const shown = new window.courseFigures[name](model, el);
    if (model.note) el.append(makeNote(model.note));
    const table = document.createElement("div");
    table.append(...stage.childNodes);
    stage.replaceChildren(el); // only once it is drawn: an error leaves the table
    stage.classList.add("is-live");
    window.courseFigureTools?.(figure, el, shown); // slides have none
    window.addEventListener("beforeprint", () => {
      const waits = [...el.querySelectorAll(".living-go")].some((button) => !button.hidden);
      stage.classList.toggle("is-waiting", waits);
      if (waits) stage.after(table);
    });
    window.addEventListener("afterprint", () => table.remove());
  }

  document.querySelectorAll("[data-course-figure]").forEach((figure) => {
    try {
      bringToLife(figure);
    } catch (error) {
      reportError(error); // the others come to life all the same
    }
  });
})();
