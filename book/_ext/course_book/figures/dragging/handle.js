/* A point of a drawing that the reader drags: by pointer, by touch, or by arrow keys (with Shift,
 * in larger steps). It lies over the drawing, as a part of the element that wraps it.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const LARGER = 5; // steps at once, with Shift

  class Handle {
    /** `onDrag` gets the place as two parts of the drawing's width and height, from the top left;
     * `onStep` gets steps to the right and up. A `hint` stands beside it until it is first moved. */
    constructor(name, { role, onDrag, onStep, hint = "" }) {
      this.element = make("div", {
        class: `course-handle course-handle--${role}`, role: "slider", tabindex: 0, "aria-label": name,
        "aria-valuemin": -100, "aria-valuemax": 100,
      });
      if (hint) this.element.append(make("span", { class: "course-handle__hint", "aria-hidden": "true" }, hint));
      this.onDrag = onDrag;
      this.onStep = onStep;
      this.element.addEventListener("pointerdown", (event) => this.take(event));
      this.element.addEventListener("pointermove", (event) => this.drag(event));
      this.element.addEventListener("keydown", (event) => this.press(event));
    }

    take(event) {
      this.element.setPointerCapture(event.pointerId);
      const box = this.element.getBoundingClientRect();
      this.off = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    }

    drag(event) {
      if (!this.element.hasPointerCapture(event.pointerId)) return;
      const box = this.element.parentElement.getBoundingClientRect();
      const part = (at, off, from, size) => Math.min(Math.max((at - off - from) / size, 0), 1);
      this.moved();
      this.onDrag(
        part(event.clientX, this.off[0], box.left, box.width),
        part(event.clientY, this.off[1], box.top, box.height),
      );
    }

    press(event) {
      if (!(event.key in KEYS)) return;
      event.preventDefault();
      const size = event.shiftKey ? LARGER : 1;
      const [right, up] = KEYS[event.key];
      this.moved();
      this.onStep(right * size, up * size);
    }

    moved() {
      this.element.firstChild?.remove();
    }

    /** Put the handle at these fractions of the drawing's width and height; `spoken` describes the place. */
    show(across, down, spoken) {
      this.element.style.left = `${(100 * across).toFixed(2)}%`;
      this.element.style.top = `${(100 * down).toFixed(2)}%`;
      this.element.setAttribute("aria-valuenow", Math.round(200 * across - 100));
      this.element.setAttribute("aria-valuetext", spoken);
    }
  }

  window.courseHandle = Handle;
})();
