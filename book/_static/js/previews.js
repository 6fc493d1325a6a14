/* Shows the target of a link to the glossary or the bibliography while the link is pointed at or has
 * the focus, and when it is tapped; a second tap follows it. The pointer may enter the preview; Escape
 * or a tap elsewhere closes it.
 *
 * Reads the <template> elements of book/_ext/course_book/site/previews.py.
 */
(function () {
  "use strict";

  const PATIENCE = 250; // milliseconds before it opens and closes, so that passing by shows nothing
  const GAP = 8; // pixels between the link and its preview, and from the window's edge

  const entries = new Map(
    [...document.querySelectorAll("template[data-course-preview]")].map((template) => [
      template.dataset.coursePreview,
      template,
    ]),
  );
  const box = document.createElement("div");
  box.className = "course-preview";
  box.id = "course-preview";
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  document.querySelector(".bd-article").append(box);
  let shownFor = null;
  let timer = 0;

  function linkAt(target) {
    const link = target.closest?.(".bd-article a[href]");
    return link && entries.has(link.getAttribute("href")) ? link : null;
  }

  /** Below the link where there is room, else above; never beyond the window. */
  function place(link) {
    const at = link.getClientRects()[0];
    const width = document.documentElement.clientWidth;
    const height = document.documentElement.clientHeight;
    const below = at.bottom + GAP + box.offsetHeight <= height;
    const top = below ? at.bottom + GAP : at.top - GAP - box.offsetHeight;
    box.style.top = `${Math.max(GAP, top)}px`;
    box.style.left = `${Math.max(GAP, Math.min(at.left, width - box.offsetWidth - GAP))}px`;
  }

  function show(link) {
    hide();
    box.replaceChildren(entries.get(link.getAttribute("href")).content.cloneNode(true));
    box.hidden = false;
    place(link);
    link.setAttribute("aria-describedby", box.id);
    shownFor = link;
  }

  function hide() {
    clearTimeout(timer);
    box.hidden = true;
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
  }

  /** The preview goes where its link goes, and out of sight with it. */
  function follow() {
    if (!shownFor) return;
    const { top, bottom } = shownFor.getBoundingClientRect();
    if (bottom > 0 && top < document.documentElement.clientHeight) place(shownFor);
    else hide();
  }

  function soon(action) {
    clearTimeout(timer);
    timer = setTimeout(action, PATIENCE);
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return; // see click
    const link = linkAt(event.target);
    if (link && link !== shownFor) soon(() => show(link));
    else if (link || box.contains(event.target)) clearTimeout(timer);
    else if (shownFor && document.activeElement !== shownFor) soon(hide);
    else clearTimeout(timer);
  });
  document.addEventListener("click", (event) => {
    if (event.pointerType !== "touch" || box.contains(event.target)) return;
    const link = linkAt(event.target);
    if (!link || link === shownFor) {
      hide();
      return;
    }
    event.preventDefault();
    show(link);
    const hint = document.createElement("p");
    hint.className = "course-preview__hint";
    hint.textContent = "Tap the word again to go there.";
    box.append(hint);
    place(link);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkAt(event.target);
    if (link?.matches(":focus-visible")) show(link);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === shownFor) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  window.addEventListener("scroll", follow, { passive: true });
})();
