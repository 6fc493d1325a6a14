/* The figure "training-scrubber": a model learns to read backwards, on letters that the reader types.
 *
 * model: { model: id of its file, steps, letters, first, sample, written, weights, note }; see figure.py.
 * The sample plays once it is in view, from outputs and weights in the page. The file with the parameters at
 * each step is loaded when the reader types other letters.
 */
(function () {
  "use strict";

  const { make, makeScroller, whenSeen } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const FILLING = "\u00B7";
  const PACE = 600; // milliseconds a step while it plays
  const PLAY = "\u25B6 Watch it learn";

  class TrainingScrubber {
    constructor(model, el) {
      this.model = model;
      this.long = model.sample.length;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.input = make("input", { id: "scrubber-letters", class: "course-field", maxlength: this.long, autocomplete: "off", spellcheck: "false", autocapitalize: "none", value: model.sample });
      this.input.addEventListener("input", () => this.read());
      this.odd = make("p", { class: "scrubber-odd", role: "status" });
      this.slider = new Slider("Steps of training", () => this.scrub(), { values: model.steps, value: model.steps[0] });
      this.play = makeButton(PLAY, () => (this.timer ? this.stop() : this.start()));
      this.table = make("table");
      this.summary = new Summary();
      el.className = "scrubber";
      el.append(
        make("div", { class: "scrubber-form" },
          make("label", { class: "course-label", for: "scrubber-letters" }, `${this.long} letters of your own`), this.input, this.play, this.odd),
        this.slider.element, makeScroller("Where the model looks", this.table), this.summary.element);
      this.draw();
      whenSeen(el, () => this.touched || this.start());
    }

    /** Read the letters that the reader typed: explain those that the model can't read, and load the model. */
    async read() {
      this.touched = true;
      this.odd.textContent = this.complaint();
      try {
        await window.courseLoad([...window.courseDeferred["training-scrubber"], this.file.file]);
      } catch (error) {
        this.odd.textContent = "The model could not be loaded. Reload the page and try again.";
        return;
      }
      this.states ??= window.courseModels[this.model.model].map(window.courseEngine.unpack);
      this.draw();
    }

    known(text) {
      return [...text.toLowerCase()].filter((letter) => this.model.letters.includes(letter));
    }

    complaint() {
      const { value } = this.input;
      const strange = [...new Set(value)].filter((letter) => !this.known(letter).length);
      const short = this.long - this.known(value).length;
      const parts = [];
      if (strange.length) parts.push(`It knows the letters a to z; left out: ${strange.map((letter) => (letter === " " ? "the space" : `\u201c${letter}\u201d`)).join(", ")}.`);
      if (short) parts.push(`It reads rows of ${this.long}, so ${FILLING} fills up the rest.`);
      return parts.join(" ");
    }

    /** The typed text, as letters that the model knows, filled up to its length. */
    get letters() {
      return [...this.known(this.input.value), ...FILLING.repeat(this.long)].slice(0, this.long);
    }

    /** Return the output and the weights after a step: from the page for the sample, else computed. */
    look(letters, place) {
      const { letters: alphabet, first, sample, written, weights } = this.model;
      if (letters.join("") === sample) return { written: [...written[place]], weights: weights[place] };
      const tokens = letters.map((letter) => alphabet.indexOf(letter) + first);
      const { weights: [computed], named } = window.courseEngine.readThrough(this.states[place], tokens, 1);
      return { written: named.map((token) => alphabet[token - first] ?? FILLING), weights: computed };
    }

    scrub() {
      this.touched = true;
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
      this.play.textContent = PLAY;
    }

    draw() {
      const { letters } = this;
      const step = this.slider.get();
      if (!this.states && letters.join("") !== this.model.sample) return; // the model is still loading
      const { written, weights } = this.look(letters, this.model.steps.indexOf(step));
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
