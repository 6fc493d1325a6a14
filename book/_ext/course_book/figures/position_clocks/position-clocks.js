/* The figure "position-clocks": a position as the hands of clocks, and a shift as a turn of each.
 * The clocks run while the reader lets them play.
 *
 * model: { d_model, base, length, note }. Clock i turns by base^(-2i / d_model) radians a token.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const BASES = [10, 100, 1000, 10000, 100000];
  const LONGEST_SHIFT = 20;
  const PACE = 3; // tokens a second while they play

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
      const radius = 38;
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
      this.position = this.slider("Position t", { max: model.length - 1, value: 12 });
      this.shift = this.slider("Shift k", { max: LONGEST_SHIFT, value: 3 });
      this.base = this.slider("Base", { values: BASES, value: model.base });
      this.isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.button = makeButton(this.isStill ? "One token on" : "Play", () => this.play());
      this.summary = new Summary();
      el.className = "clocks";
      el.append(
        make("div", { class: "clocks-dials" }, ...this.clocks.map(({ element }) => element)),
        make("div", { class: "course-pills" }, this.button),
        make(
          "div",
          { class: "course-sliders" },
          this.position.element,
          this.shift.element,
          this.base.element,
        ),
        this.summary.element,
      );
      this.update();
    }

    slider(name, range) {
      return new Slider(name, () => {
        this.stop();
        this.update();
      }, range);
    }

    /** Let the position run, until the button is pressed again or a slider is moved; for those who
     * asked for less motion, go one token on. */
    play() {
      const { length } = this.model;
      if (this.frame) return this.stop();
      const from = this.position.get();
      if (this.isStill) {
        this.position.set((from + 1) % length);
        return this.update();
      }
      this.button.textContent = "Pause";
      let begin;
      const move = (now) => {
        begin ??= now;
        const position = (from + ((now - begin) * PACE) / 1000) % length;
        this.position.set(Math.floor(position));
        this.update(position);
        this.frame = requestAnimationFrame(move);
      };
      this.frame = requestAnimationFrame(move);
    }

    stop() {
      if (!this.frame) return;
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      this.button.textContent = "Play";
      this.update();
    }

    /** Set all hands; while they run, the position lies between two tokens. */
    update(at = this.position.get()) {
      const { d_model: width } = this.model;
      const position = this.position.get();
      const shift = this.shift.get();
      const base = this.base.get();
      const speeds = this.clocks.map((_, clock) => base ** ((-2 * clock) / width));
      this.clocks.forEach((clock, index) => clock.set(speeds[index], at, shift));
      [this.position, this.shift, this.base].forEach((slider) => slider.show());
      const similarity =
        speeds.reduce((sum, speed) => sum + Math.cos(speed * shift), 0) / speeds.length;
      if (this.frame) return; // what changes all the time is not read out
      this.summary.tell(
        `Position ${position} and position ${position + shift}: the first clock turns by ` +
          `${this.degrees(speeds[0] * shift)}, the last by ` +
          `${this.degrees(speeds[speeds.length - 1] * shift)}, wherever one starts. ` +
          `The two codes have a similarity of ${similarity.toFixed(2)}.`,
      );
    }

    /** An angle in whole turns, if there are any, and degrees. */
    degrees(radians) {
      const turns = Math.floor(radians / (2 * Math.PI));
      const degrees = (radians * 180) / Math.PI - 360 * turns;
      const rest = `${degrees.toLocaleString("en", { maximumFractionDigits: degrees < 10 ? 2 : 0 })}\u00B0`;
      return turns ? `${turns} ${turns === 1 ? "turn" : "turns"} and ${rest}` : rest;
    }
  }

  window.courseFigures["position-clocks"] = PositionClocks;
})();
