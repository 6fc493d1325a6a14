/* The figure "position-clocks": a position as the hands of clocks, and a shift as a turn of each.
 *
 * model: { d_model, base, length, note }. Clock i turns by base^(-2i / d_model) radians a token.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const BASES = [10, 100, 1000, 10000, 100000];
  const LONGEST_SHIFT = 20;
  const PAUSE = 200; // milliseconds before a change is read out
  let count = 0;

  class Clock {
    constructor() {
      this.arc = makeSvg("path", { class: "clocks-turn" });
      this.ahead = makeSvg("line", { class: "clocks-hand clocks-hand--ahead", x1: 0, y1: 0 });
      this.hand = makeSvg("line", { class: "clocks-hand", x1: 0, y1: 0 });
      this.period = make("span", { class: "clocks-period" });
      const dial = makeSvg("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true" });
      dial.append(
        makeSvg("circle", { class: "clocks-face", r: 46 }),
        this.arc,
        this.ahead,
        this.hand,
        makeSvg("circle", { class: "clocks-pin", r: 3.5 }),
      );
      this.element = make("div", { class: "clocks-clock" }, dial, this.period);
    }

    set(speed, position, shift) {
      const angle = speed * position;
      const turn = speed * shift;
      this.point(this.hand, angle, 40);
      this.point(this.ahead, angle + turn, 40);
      this.ahead.style.display = shift ? "" : "none";
      this.arc.setAttribute("d", shift ? this.slice(angle, turn) : "");
      this.period.textContent = `${this.rounded((2 * Math.PI) / speed)} tokens a turn`;
    }

    point(line, angle, length) {
      line.setAttribute("x2", (length * Math.cos(angle)).toFixed(2));
      line.setAttribute("y2", (-length * Math.sin(angle)).toFixed(2));
    }

    /** The slice from one hand to the other, or the whole disc after a full turn. */
    slice(from, turn) {
      const radius = 26;
      if (turn >= 2 * Math.PI) return `M${radius} 0A${radius} ${radius} 0 1 0 ${-radius} 0A${radius} ${radius} 0 1 0 ${radius} 0Z`;
      const at = (angle) =>
        `${(radius * Math.cos(angle)).toFixed(2)} ${(-radius * Math.sin(angle)).toFixed(2)}`;
      return `M0 0L${at(from)}A${radius} ${radius} 0 ${turn > Math.PI ? 1 : 0} 0 ${at(from + turn)}Z`;
    }

    rounded(period) {
      const digits = period < 100 ? 1 : 0;
      return period.toLocaleString("en", { maximumFractionDigits: digits });
    }
  }

  class PositionClocks {
    constructor(model, el) {
      this.model = model;
      this.clocks = Array.from({ length: model.d_model / 2 }, () => new Clock());
      this.position = this.slider("Position t", 0, model.length - 1, 12);
      this.shift = this.slider("Shift k", 0, LONGEST_SHIFT, 3);
      const known = BASES.includes(model.base) ? BASES : [...BASES, model.base].sort((a, b) => a - b);
      this.bases = known;
      this.base = this.slider("Base", 0, known.length - 1, known.indexOf(model.base));
      this.summary = make("p", { class: "clocks-summary", "aria-live": "polite" });
      el.className = "clocks";
      el.append(
        make("div", { class: "clocks-dials" }, ...this.clocks.map(({ element }) => element)),
        make(
          "div",
          { class: "clocks-sliders" },
          this.position.element,
          this.shift.element,
          this.base.element,
        ),
        this.summary,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.update();
    }

    slider(name, min, max, value) {
      const id = `clocks-${(count += 1)}`;
      const input = make("input", { type: "range", id, min, max, step: 1, value });
      const output = make("output", { for: id });
      input.addEventListener("input", () => this.update());
      const element = make(
        "div",
        { class: "clocks-slider" },
        make("label", { for: id }, name),
        output,
        input,
      );
      return { input, output, element, get: () => Number(input.value) };
    }

    update() {
      const { d_model: width } = this.model;
      const position = this.position.get();
      const shift = this.shift.get();
      const base = this.bases[this.base.get()];
      const speeds = this.clocks.map((_, clock) => base ** ((-2 * clock) / width));
      this.clocks.forEach((clock, index) => clock.set(speeds[index], position, shift));
      this.position.output.textContent = position;
      this.shift.output.textContent = shift;
      this.base.output.textContent = base.toLocaleString("en");
      this.base.input.setAttribute("aria-valuetext", base.toLocaleString("en"));
      const similarity =
        speeds.reduce((sum, speed) => sum + Math.cos(speed * shift), 0) / speeds.length;
      this.tell(
        `Position ${position} and position ${position + shift}: each clock turns by its own angle, ` +
          `the first by ${this.degrees(speeds[0] * shift)}, the last by ` +
          `${this.degrees(speeds[speeds.length - 1] * shift)}. ` +
          `The two codes have a similarity of ${similarity.toFixed(2)}.`,
      );
    }

    degrees(radians) {
      const degrees = (radians * 180) / Math.PI;
      return `${degrees.toLocaleString("en", { maximumFractionDigits: degrees < 10 ? 2 : 0 })}\u00B0`;
    }

    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = sentence), PAUSE);
      if (!this.summary.textContent) this.summary.textContent = sentence;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["position-clocks"] = {
    render({ model, el }) {
      new PositionClocks(model, el);
    },
  };
})();
