/* The lens: a stage of the drawing enlarged, one level deeper at a time, with the way back above it. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton } = window.courseControls;
  const { attentionLens, vectorLens, makeStripKey } = window.courseLiving;
  const LEVELS = ["layer", "head", "row", "dot"];

  class Lens {
    constructor() {
      this.path = make("nav", { class: "living-path", "aria-label": "How deep you look" });
      this.body = make("div", { class: "living-lens-body" });
      this.task = make("p", { class: "living-task" });
      this.onEscape = () => {};
      this.element = make("section", { class: "living-lens", "aria-label": "Under the lens" }, this.task, this.path, this.body);
      this.element.addEventListener("keydown", ({ key }) => key === "Escape" && this.onEscape());
    }

    show(view) {
      const deep = view.stage.kind === "attention" ? LEVELS.indexOf(view.level) : 0;
      this.element.classList.toggle("is-deep", deep > 0);
      this.task.textContent = view.asked;
      this.path.replaceChildren(...this.crumbs(view, deep));
      const parts = view.stage.kind === "attention" ? attentionLens[LEVELS[deep]] : vectorLens[view.stage.kind];
      this.body.replaceChildren(...parts(view));
      const strip = this.body.querySelector(".living-strip");
      strip?.before(makeStripKey(strip.dataset.role));
      this.onEscape = () => deep > 0 && view.zoom({ level: LEVELS[deep - 1] });
      this.move(deep);
    }

    crumbs(view, deep) {
      const names = [view.stage.name, `head ${view.head + 1}`, `\u201c${view.asking[view.query]}\u201d asks`, `\u201c${view.answering[view.key] ?? ""}\u201d answers`];
      return names.slice(0, deep + 1).map((name, level) =>
        level === deep
          ? make("span", { class: "living-here", tabindex: -1, "aria-current": "true" }, name)
          : makeButton(name, () => view.zoom({ level: LEVELS[level] }), "living-crumb"));
    }

    /** Going in, the new level grows; going back, it shrinks into its place. */
    move(deep) {
      const way = Math.sign(deep - (this.deep ?? deep));
      this.deep = deep;
      if (way === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      const from = way > 0 ? 0.85 : 1.08;
      this.body.animate([{ opacity: 0, transform: `scale(${from})` }, { opacity: 1, transform: "none" }], { duration: 220, easing: "ease-out" });
    }
  }

  window.courseLiving.Lens = Lens;
})();
