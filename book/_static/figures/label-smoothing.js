/* The figure "label-smoothing": what a word costs, by how far its logit is ahead of the others.
 *
 * model: { smoothing, vocab_size, lead, note }. All wrong words have the same logit.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const WIDTH = 640;
  const HEIGHT = 300;
  const MARGIN = { left: 46, right: 14, top: 12, bottom: 52 };
  const LONGEST = 16; // the largest lead
  const POINTS = 160;
  const VOCABULARIES = [2, 10, 100, 1000, 10000, 37000, 100000];
  const PAUSE = 200; // milliseconds before a change is read out
  let count = 0;

  /** -log p of the right word and of each other, by the right word's lead. */
  function costs(lead, size) {
    const right = Math.log1p((size - 1) * Math.exp(-lead));
    return { right, other: right + lead };
  }

  /** The cross-entropy from the smoothed target; smoothing 0 gives the plain loss. */
  function loss(lead, size, smoothing) {
    const { right, other } = costs(lead, size);
    const spread = smoothing / size;
    return (1 - smoothing + spread) * right + (size - 1) * spread * other;
  }

  /** The lead at which the model's probabilities are those of the target. */
  function bestLead(size, smoothing) {
    return Math.log((size * (1 - smoothing)) / smoothing + 1);
  }

  /** 0.9001, or 2.5 x 10^-6 where that would be all zeros. */
  function written(number) {
    if (number >= 0.001 || number === 0) return number.toFixed(4);
    const power = Math.floor(Math.log10(number));
    const raised = [...String(-power)].map((digit) => "\u2070\u00B9\u00B2\u00B3\u2074\u2075\u2076\u2077\u2078\u2079"[digit]).join("");
    return `${(number / 10 ** power).toFixed(1)} \u00B7 10\u207B${raised}`;
  }

  class LabelSmoothing {
    constructor(model, el) {
      const sizes = VOCABULARIES.includes(model.vocab_size)
        ? VOCABULARIES
        : [...VOCABULARIES, model.vocab_size].sort((a, b) => a - b);
      this.lead = this.slider("Lead", 0, LONGEST, 0.1, model.lead, Number);
      this.smoothing = this.slider("Smoothing \u03B5", 0, 0.5, 0.01, model.smoothing, Number);
      this.size = this.slider("Vocabulary V", 0, sizes.length - 1, 1, sizes.indexOf(model.vocab_size), (value) => sizes[value]);
      this.svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
      this.grid = makeSvg("g");
      this.best = makeSvg("line", { class: "smooth-best" });
      this.plain = makeSvg("polyline", { class: "smooth-curve smooth-curve--plain" });
      this.smoothed = makeSvg("polyline", { class: "smooth-curve smooth-curve--smoothed" });
      this.dot = makeSvg("circle", { class: "smooth-dot", r: 7 });
      this.svg.append(this.grid, this.best, this.plain, this.smoothed, this.dot);
      this.cells = {};
      this.summary = make("p", { class: "smooth-summary", "aria-live": "polite" });
      el.className = "smooth";
      el.append(
        make("p", { class: "smooth-title" }, "Loss of a word (nats)"),
        this.svg,
        make(
          "p",
          { class: "smooth-legend" },
          make("span", { class: "smooth-key smooth-key--smoothed" }, "with smoothing"),
          make("span", { class: "smooth-key smooth-key--plain" }, "without"),
          make("span", { class: "smooth-key smooth-key--best" }, "its lowest point"),
        ),
        make("div", { class: "smooth-sliders" }, this.lead.element, this.smoothing.element, this.size.element),
        this.table(),
        this.summary,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.update();
    }

    slider(name, min, max, step, value, read) {
      const id = `smooth-${(count += 1)}`;
      const input = make("input", { type: "range", id, min, max, step, value });
      const output = make("output", { for: id });
      input.addEventListener("input", () => this.update());
      const element = make("div", { class: "smooth-slider" }, make("label", { for: id }, name), output, input);
      return { input, output, element, get: () => read(Number(input.value)) };
    }

    table() {
      const cell = (name) => (this.cells[name] = make("td"));
      const row = (name, key) => make("tr", {}, make("th", { scope: "row" }, name), cell(`${key}-target`), cell(`${key}-model`));
      return make(
        "table",
        { class: "smooth-table" },
        make("thead", {}, make("tr", {}, make("td"), make("th", { scope: "col" }, "target"), make("th", { scope: "col" }, "model"))),
        make("tbody", {}, row("the right word", "right"), row("each other word", "other")),
      );
    }

    x(lead) {
      return MARGIN.left + ((WIDTH - MARGIN.left - MARGIN.right) * lead) / LONGEST;
    }

    y(cost) {
      return HEIGHT - MARGIN.bottom - ((HEIGHT - MARGIN.top - MARGIN.bottom) * cost) / this.highest;
    }

    text(words, x, y, anchor) {
      const label = makeSvg("text", { class: "smooth-label", x, y, "text-anchor": anchor });
      label.textContent = words;
      return label;
    }

    drawGrid() {
      const step = this.highest > 8 ? 4 : this.highest > 3 ? 2 : 0.5;
      const parts = [];
      for (let cost = 0; cost <= this.highest; cost += step) {
        const y = this.y(cost);
        parts.push(
          makeSvg("line", { class: "smooth-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
          this.text(String(cost), MARGIN.left - 8, y + 5, "end"),
        );
      }
      for (let lead = 0; lead <= LONGEST; lead += 4) {
        parts.push(this.text(String(lead), this.x(lead), HEIGHT - MARGIN.bottom + 22, "middle"));
      }
      parts.push(this.text("lead of the right word's logit", WIDTH - MARGIN.right, HEIGHT - 4, "end"));
      this.grid.replaceChildren(...parts);
    }

    points(size, smoothing) {
      return Array.from({ length: POINTS + 1 }, (_, i) => {
        const lead = (LONGEST * i) / POINTS;
        return `${this.x(lead).toFixed(1)},${this.y(loss(lead, size, smoothing)).toFixed(1)}`;
      }).join(" ");
    }

    update() {
      const lead = this.lead.get();
      const smoothing = this.smoothing.get();
      const size = this.size.get();
      this.show(this.lead, lead.toFixed(1));
      this.show(this.smoothing, smoothing.toFixed(2));
      this.show(this.size, size.toLocaleString("en"));
      this.highest = 1.05 * Math.max(Math.log(size), loss(LONGEST, size, smoothing));
      this.drawGrid();
      this.plain.setAttribute("points", this.points(size, 0));
      this.smoothed.setAttribute("points", this.points(size, smoothing));
      const now = loss(lead, size, smoothing);
      this.dot.setAttribute("cx", this.x(lead).toFixed(1));
      this.dot.setAttribute("cy", this.y(now).toFixed(1));
      this.dot.dataset.loss = now;
      const best = smoothing > 0 ? bestLead(size, smoothing) : Infinity;
      this.drawBest(best);
      const { right, other } = costs(lead, size);
      this.cells["right-target"].textContent = written(1 - smoothing + smoothing / size);
      this.cells["other-target"].textContent = written(smoothing / size);
      this.cells["right-model"].textContent = written(Math.exp(-right));
      this.cells["other-model"].textContent = written(Math.exp(-other));
      this.tell(
        `The word costs ${now.toFixed(3)} nats; without smoothing ${right.toFixed(3)}. ` +
          (smoothing > 0
            ? `The least is ${loss(best, size, smoothing).toFixed(3)}, at a lead of ${best.toFixed(1)}.`
            : "Without smoothing there is no best lead: the more, the better."),
      );
    }

    drawBest(best) {
      const isSeen = best <= LONGEST;
      this.best.style.display = isSeen ? "" : "none";
      if (!isSeen) return;
      const x = this.x(best).toFixed(1);
      this.best.setAttribute("x1", x);
      this.best.setAttribute("x2", x);
      this.best.setAttribute("y1", MARGIN.top);
      this.best.setAttribute("y2", HEIGHT - MARGIN.bottom);
    }

    show({ input, output }, words) {
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
    }

    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = sentence), PAUSE);
      if (!this.summary.textContent) this.summary.textContent = sentence;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["label-smoothing"] = {
    render({ model, el }) {
      new LabelSmoothing(model, el);
    },
  };
})();
