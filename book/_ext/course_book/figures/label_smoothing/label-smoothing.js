/* The figure "label-smoothing": what a word costs, by how far its logit is ahead of the others.
 *
 * model: { smoothing, vocab_size, lead, note }. All wrong words have the same logit.
 */
(function () {
  "use strict";

  const { make, makeChart, makeChartLabel, makeSvg, scientific } = window.courseElements;
  const { Slider, Summary } = window.courseControls;
  const WIDTH = 640;
  const HEIGHT = 300;
  const MARGIN = { left: 46, right: 14, top: 12, bottom: 52 };
  const LONGEST = 16; // the largest lead
  const POINTS = 160;
  const VOCABULARIES = [2, 10, 100, 1000, 10000, 37000, 100000];

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
    return scientific(number);
  }

  class LabelSmoothing {
    constructor(model, el) {
      this.lead = this.slider("Lead", { max: LONGEST, step: 0.1, value: model.lead });
      this.smoothing = this.slider("Smoothing \u03B5", { max: 0.5, step: 0.01, value: model.smoothing });
      this.size = this.slider("Vocabulary V", { values: VOCABULARIES, value: model.vocab_size });
      this.svg = makeChart(WIDTH, HEIGHT);
      this.grid = makeSvg("g");
      this.best = makeSvg("line", { class: "smooth-best" });
      this.plain = makeSvg("polyline", { class: "smooth-curve smooth-curve--plain" });
      this.smoothed = makeSvg("polyline", { class: "smooth-curve smooth-curve--smoothed" });
      this.dot = makeSvg("circle", { class: "smooth-dot", r: 7 });
      this.svg.append(this.grid, this.best, this.plain, this.smoothed, this.dot);
      this.cells = {};
      this.summary = new Summary();
      el.className = "smooth";
      el.append(
        make("p", { class: "course-chart-title" }, "Loss of a word (nats)"),
        this.svg,
        make(
          "p",
          { class: "course-legend" },
          make("span", { class: "smooth-key--smoothed" }, "with smoothing"),
          make("span", { class: "smooth-key--plain" }, "without"),
          make("span", { class: "smooth-key--best" }, "its lowest point"),
        ),
        make("div", { class: "course-sliders" }, this.lead.element, this.smoothing.element, this.size.element),
        this.table(),
        this.summary.element,
      );
      this.update();
    }

    slider(name, range) {
      return new Slider(name, () => this.update(), range);
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

    drawGrid() {
      const step = this.highest > 8 ? 4 : this.highest > 3 ? 2 : 0.5;
      const parts = [];
      for (let cost = 0; cost <= this.highest; cost += step) {
        const y = this.y(cost);
        parts.push(
          makeSvg("line", { class: "course-chart-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
          makeChartLabel(String(cost), MARGIN.left - 8, y + 5, "end"),
        );
      }
      for (let lead = 0; lead <= LONGEST; lead += 4) {
        parts.push(makeChartLabel(String(lead), this.x(lead), HEIGHT - MARGIN.bottom + 22, "middle"));
      }
      parts.push(makeChartLabel("lead of the right word's logit", WIDTH - MARGIN.right, HEIGHT - 4, "end"));
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
      this.lead.show(lead.toFixed(1));
      this.smoothing.show(smoothing.toFixed(2));
      this.size.show();
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
      this.summary.tell(
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
  }

  window.courseFigures["label-smoothing"] = LabelSmoothing;
})();
