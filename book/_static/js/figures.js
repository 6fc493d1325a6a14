/* Puts interactive figures in the place of their tables.
 *
 * A figure is a classic script that sets window.courseFigures[name] = { render({ model, el }) },
 * so that it also runs from file://. The model is the JSON that the chapter's code cell showed.
 */
(function () {
  "use strict";

  document.querySelectorAll("[data-course-figure]").forEach((figure) => {
    const { courseFigure: name, courseData, courseFallback } = figure.dataset;
    const stage = figure.querySelector(".course-interactive__stage");
    const model = JSON.parse(document.getElementById(courseData).textContent);
    const el = document.createElement("div");
    window.courseFigures[name].render({ model, el });
    stage.replaceChildren(el); // only once it is drawn: an error leaves the table
    stage.classList.add("is-live");
    const still = courseFallback && document.getElementById(courseFallback);
    if (still) (still.closest("figure") || still).classList.add("course-replaced");
  });
})();
