/* How many questions of a chapter are answered, beside its name: in the contents and on the map. The
 * title page, which has the map, also draws it, leads to the section where the reader was, and forgets all.
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
    link.style.setProperty("--answered", answered / questions.length || 0);
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

  const bare = (heading) => {
    const copy = heading.cloneNode(true);
    copy.querySelectorAll(".headerlink, .katex-mathml").forEach((part) => part.remove());
    return copy.textContent.trim();
  };

  /** The section at the top of the window: { page, id, words }. */
  function placeInSight() {
    const headings = [...document.querySelectorAll(".bd-article section > :is(h1, h2)")];
    const heading = headings.findLast((one) => one.getBoundingClientRect().top < innerHeight / 2) ?? headings[0];
    const words = [...new Set([headings[0], heading])].map(bare).join(": ");
    return { page: location.pathname.split("/").pop(), id: heading.parentElement.id, words };
  }

  /** Draw a part of the contents as a line with a station for each chapter that asks something. */
  function drawLine(caption) {
    const stations = [...caption.nextElementSibling.querySelectorAll("a")]
      .filter((link) => questionsBehind(link).length)
      .map((link) => {
        const station = document.createElement("a");
        Object.assign(station, { href: link.href, textContent: link.textContent, className: "course-station" });
        const item = document.createElement("li");
        item.append(station);
        return item;
      });
    if (!stations.length) return [];
    const name = document.createElement("p");
    name.textContent = caption.textContent;
    const line = document.createElement("ol");
    line.append(...stations);
    return [name, line];
  }

  /** Draw the course: its parts as lines, whose stations fill with the answers to their questions. */
  function drawCourse(map) {
    const drawing = document.createElement("div");
    drawing.className = "course-lines";
    drawing.append(...[...document.querySelectorAll("nav.bd-links .caption")].flatMap(drawLine));
    map.prepend(drawing);
  }

  function offerToContinue(map) {
    const last = window.courseMemory.get("place");
    if (last) {
      const link = document.createElement("a");
      link.href = `${last.page}#${last.id}`;
      link.textContent = last.words;
      const line = document.createElement("p");
      line.className = "course-continue";
      line.append("Continue where you were: ", link);
      document.querySelector(".bd-article h1").after(line);
    }
    const forget = document.createElement("button");
    forget.type = "button";
    forget.className = "course-forget";
    forget.textContent = "Forget my answers and my place";
    forget.addEventListener("click", () => {
      window.courseMemory.clear();
      location.reload();
    });
    map.after(forget);
  }

  const map = document.querySelector(".course-map");
  if (map) {
    drawCourse(map);
    offerToContinue(map);
  } else if (questionsBehind(location).length) window.addEventListener("pagehide", () => window.courseMemory.set("place", placeInSight()));

  document.addEventListener("course:answered", update);
  window.addEventListener("storage", update); // answered in another tab
  update();
})();
