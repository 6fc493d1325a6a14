/* Bars and columns whose lengths are set by CSS variables. */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;

  /** A bar with a number over it; `centred` bars grow to both sides of their middle. */
  class Bar {
    constructor(role, centred) {
      this.number = make("span", { class: "qkv-number" });
      this.fill = make("span", { class: "qkv-fill" });
      const track = make(
        "span",
        { class: `qkv-track${centred ? " is-centred" : ""}`, "aria-hidden": "true" },
        this.fill,
      );
      this.element = make("span", { class: `qkv-bar qkv-bar--${role}` }, this.number, track);
    }

    /** Show `text` and a bar of length `part`, between -1 and 1. */
    set(text, part) {
      this.number.textContent = text;
      this.fill.style.setProperty("--part", Math.min(Math.abs(part), 1).toFixed(4));
      this.fill.classList.toggle("is-negative", part < 0);
    }
  }

  /** A small column chart of a vector: outlined the vector itself, filled its weighted share. */
  class Columns {
    constructor(size) {
      this.columns = Array.from({ length: size }, () => {
        const whole = make("span", { class: "qkv-whole" });
        const part = make("span", { class: "qkv-part" });
        return { whole, part, element: make("span", { class: "qkv-column" }, whole, part) };
      });
      this.heard = make("span", { class: "course-unseen" });
      this.element = make(
        "span",
        { class: "qkv-columns" },
        ...this.columns.map(({ element }) => element),
        this.heard,
      );
    }

    /** Draw entries of `vector` and, filled, of `taken`, both in units of `scale`. */
    set(vector, taken, scale) {
      this.columns.forEach(({ whole, part }, i) => {
        [[whole, vector[i]], [part, taken[i]]].forEach(([bar, entry]) => {
          bar.style.setProperty("--part", Math.min(Math.abs(entry) / scale, 1).toFixed(4));
          bar.classList.toggle("is-negative", entry < 0);
        });
      });
      this.heard.textContent = taken.map((entry) => signed(entry)).join(", ");
    }
  }

  window.courseBars = { Bar, Columns };
})();
