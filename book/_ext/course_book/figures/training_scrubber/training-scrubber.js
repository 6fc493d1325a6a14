/* The figure "training-scrubber": a model learns to read backwards, on letters that the reader types.
 *
 * model: { model: id of its file, steps, letters, first, sample, written, note }; see figure.py. The file
 * holds its parameters at each step; it is loaded once the reader asks.
 */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const FILLING = "\u00B7";
  const PACE = 600; // milliseconds a step while it plays

  class TrainingScrubber {
    constructor(model, el) {
      this.model = model;
      this.long = model.sample.length;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.input = make("input", { id: "scrubber-letters", class: "course-field", maxlength: this.long, autocomplete: "off", spellcheck: "false", autocapitalize: "none", value: model.sample });
      this.input.addEventListener("input", () => this.draw());
      this.slider = new Slider("Steps of training", () => this.scrub(), { values: model.steps, value: model.steps[0] });
      this.play = makeButton("\u25B6 Train", () => (this.timer ? this.stop() : this.start()));
      this.table = make("table");
      this.summary = new Summary();
      this.stage = make("div", { class: "scrubber-stage" },
        make("div", { class: "course-pills" }, this.play), this.slider.element,
        makeScroller("Where the model looks", this.table), this.summary.element);
      this.stage.hidden = true;
      this.go = makeButton(`Watch it learn (${Math.round(this.file.bytes / 1000)} kB)`, () => this.wake());
      el.className = "scrubber";
      el.append(
        make("div", { class: "scrubber-form" },
          make("label", { class: "course-label", for: "scrubber-letters" }, `${this.long} letters of your own`), this.input, this.go),
        this.stage);
    }

    /** Load the model at all its steps, and show the first. */
    async wake() {
      await window.courseLoad([...window.courseDeferred["training-scrubber"], this.file.file]);
      this.states ??= window.courseModels[this.model.model].map(window.courseEngine.unpack);
      this.go.hidden = true;
      this.stage.hidden = false;
      this.draw();
      this.play.focus();
    }

    /** The typed text, as letters that the model knows, filled up to its length. */
    get letters() {
      const known = [...this.input.value.toLowerCase()].filter((letter) => this.model.letters.includes(letter));
      return [...known, ...FILLING.repeat(this.long)].slice(0, this.long);
    }

    scrub() {
      this.stop();
      this.draw();
    }

    start() {
      if (this.slider.get() === this.model.steps.at(-1)) this.slider.set(0);
      this.play.textContent = "\u275A\u275A Pause";
      this.timer = setInterval(() => {
        this.slider.set(Number(this.slider.input.value) + 1);
        this.draw();
        if (this.slider.get() === this.model.steps.at(-1)) this.stop();
      }, PACE);
      this.draw();
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = "\u25B6 Train";
    }

    draw() {
      if (!this.states) return;
      const { letters: alphabet, first, steps } = this.model;
      const { letters } = this;
      const step = this.slider.get();
      const tokens = letters.map((letter) => alphabet.indexOf(letter) + first);
      const { weights: [weights], named } = window.courseEngine.readThrough(this.states[steps.indexOf(step)], tokens, 1);
      const written = named.map((token) => alphabet[token - first] ?? FILLING);
      const due = [...letters].reverse();
      this.slider.show();
      this.table.replaceChildren(
        make("caption", {}, "Left: its output, wrong letters underlined. Above: the letters that it looks at, in percent. Framed: where it should look."),
        make("thead", {}, make("tr", {}, make("td", {}), ...letters.map((letter) => make("th", { scope: "col" }, letter)))),
        make("tbody", {}, ...weights.map((row, i) => this.makeRow(row, i, written[i], written[i] === due[i]))));
      const right = written.filter((letter, i) => letter === due[i]).length;
      this.summary.tell(`After ${step} ${step === 1 ? "step" : "steps"} it writes \u201c${written.join("")}\u201d: ${right} of ${this.long} letters are right.`);
    }

    makeRow(row, i, letter, right) {
      const cells = Array.from(row, (weight, j) => {
        const due = i + j === this.long - 1;
        const cell = make("td", { class: due ? "is-due" : "", "data-weight": weight }, String(Math.round(100 * weight)));
        cell.style.setProperty("--weight", weight.toFixed(3));
        return cell;
      });
      const mark = right ? letter : [letter, make("span", { class: "course-unseen" }, " (wrong)")];
      return make("tr", {}, make("th", { scope: "row", class: right ? "" : "is-wrong" }, ...mark), ...cells);
    }
  }

  window.courseFigures["training-scrubber"] = TrainingScrubber;
})();
