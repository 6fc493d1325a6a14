/* The lens: a stage of the drawing enlarged, one level deeper at a time, with the way back above it.
 *
 * A level grows out of the part of the level above that it enlarges, and shrinks into it on the way back.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton } = window.courseControls;
  const { attentionLens, vectorLens, makeStripKey } = window.courseLiving;
  const LEVELS = ["layer", "head", "row", "dot"];
  const PARTS = [ // of each level, the part that the next one enlarges
    ({ head }) => `[data-head="${head}"]`,
    ({ query }) => `.living-weights tbody tr:nth-child(${query + 1})`,
    ({ key }) => `.living-scores tbody tr:nth-child(${key + 1})`,
  ];
  const TIMING = { duration: 400, easing: "ease-in-out" };

  const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** The transform that moves an element at `own` until the middle of `from` lies at that of `to`, and as large. */
  function mapped(own, from, to) {
    const scale = Math.sqrt((to.width * to.height) / (from.width * from.height));
    const middle = (edge, size) => [from, to].map((place) => place[edge] + place[size] / 2 - own[edge]);
    const [[x0, x1], [y0, y1]] = [middle("left", "width"), middle("top", "height")];
    return `translate(${x1 - x0 * scale}px, ${y1 - y0 * scale}px) scale(${scale})`;
  }

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
      const before = this.leaving(view, deep);
      this.element.classList.toggle("is-deep", deep > 0);
      this.task.textContent = view.asked;
      this.path.replaceChildren(...this.crumbs(view, deep));
      const parts = view.stage.kind === "attention" ? attentionLens[LEVELS[deep]] : vectorLens[view.stage.kind];
      this.body.replaceChildren(...parts(view));
      const strip = this.body.querySelector(".living-strip");
      strip?.before(makeStripKey(strip.dataset.role));
      this.onEscape = () => (deep > 0 ? view.zoom({ level: LEVELS[deep - 1] }) : view.leave());
      this.deep = deep;
      if (before) this.move(view, before);
    }

    crumbs(view, deep) {
      const names = [view.stage.name, `head ${view.head + 1}`, `\u201c${view.asking[view.query]}\u201d asks`, `\u201c${view.answering[view.key] ?? ""}\u201d answers`];
      const path = names.slice(0, deep + 1).map((name, level) =>
        level === deep
          ? make("span", { class: "living-here", tabindex: -1, "aria-current": "true" }, name)
          : makeButton(name, () => view.zoom({ level: LEVELS[level] }), "living-crumb"));
      return [makeButton("the model", () => view.leave(), "living-crumb"), ...path];
    }

    /** The place of a part of the lens, by its level; undefined where the level does not show it. */
    placeOf(level, view) {
      return this.body.querySelector(PARTS[level](view))?.getBoundingClientRect();
    }

    /** The level that is being left, if the move is to be animated: { level, parts, own, part }. */
    leaving(view, deep) {
      const level = this.deep ?? deep;
      if (level === deep || !moves()) return null;
      const own = this.body.getBoundingClientRect();
      return { level, own, part: level < deep && this.placeOf(level, view), parts: [...this.body.childNodes] };
    }

    /** The old level and the new one move as one picture, and one fades into the other. */
    move(view, { level, own, part, parts }) {
      const now = this.body.getBoundingClientRect();
      const small = part || (this.deep < level && this.placeOf(this.deep, view));
      if (!small) return; // another kind of stage
      const [from, to] = part ? [small, now] : [own, small];
      this.old?.remove(); // of a move that has not ended yet
      const old = make("div", { class: "living-lens-body living-leaving", "aria-hidden": "true" }, ...parts.filter((one) => !one.isConnected));
      old.inert = true;
      this.old = old;
      const corner = this.element.getBoundingClientRect();
      Object.assign(old.style, { left: `${own.left - corner.left}px`, top: `${own.top - corner.top}px`, width: `${own.width}px` });
      this.element.append(old);
      old.animate([{ opacity: 1, transform: "none" }, { opacity: 0, transform: mapped(own, from, to) }], TIMING).onfinish = () => old.remove();
      this.body.animate([{ opacity: 0, transform: mapped(now, to, from) }, { opacity: 1, transform: "none" }], TIMING);
    }

    /** Let the lens grow out of a stage's label in the drawing. */
    growFrom(label) {
      if (!moves()) return;
      const own = this.element.getBoundingClientRect();
      this.element.animate([{ opacity: 0, transform: mapped(own, own, label.getBoundingClientRect()) }, { opacity: 1, transform: "none" }], TIMING);
    }
  }

  window.courseLiving.Lens = Lens;
})();
