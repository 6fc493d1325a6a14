/* The figure "label-smoothing": a word's loss, by its logit's lead over the others. Two
 * balls roll as the loss pushes them: the one without smoothing never stops.
 *
 * model: { smoothing, vocab_size, lead, note }. All wrong words have the same logit.
 */
(function () {
  "use strict";

  const { make, makeChart, makeChartLabel, makeSvg } = window.courseElements;
  const { Slider, Summary } = window.courseControls;
  const Handle = window.courseHandle;
  const WIDTH = 640;
  const HEIGHT = 400;
  const MARGIN = { left: 40, right: 16, top: 16, bottom: 70 };
  const LONGEST = 24; // the largest lead
  const HIGHEST = 6.4; // the largest cost that is in view
  const FLAT = 0.005; // a push that is smaller is none
  const POINTS = 160;
  const VOCABULARIES = [2, 10, 100, 1000, 10000, 37000, 100000];

  /** -log p of the right word and of each wrong word, for the right word's lead. */
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

  /** The negative slope of the loss in the lead: target minus probability. */
  function push(lead, size, smoothing) {
    return 1 - smoothing + smoothing / size - Math.exp(-costs(lead, size).right);
  }

  /** A share in percent, such as 12%, or 0.3% if it is small. */
  function percent(share) {
    if (share < 0.001) return "under 0.1%";
    if (share > 0.999 && share < 1) return "over 99.9%";
    return `${(100 * share).toFixed(share < 0.1 || (share > 0.99 && share < 1) ? 1 : 0)}%`;
  }

  class LabelSmoothing {
    constructor(model, el) {
      this.lead = model.lead;
      this.smoothing = this.slider("Smoothing \u03B5", { max: 0.5, step: 0.01, value: model.smoothing });
      this.size = this.slider("Vocabulary V", { values: VOCABULARIES, value: model.vocab_size });
      this.svg = makeChart(WIDTH, HEIGHT);
      this.best = makeSvg("line", { class: "smooth-best" });
      this.bestName = makeSvg("text", { class: "smooth-name smooth-name--best" });
      this.balls = ["plain", "smoothed"].map((kind) => ({
        curve: makeSvg("polyline", { class: `smooth-curve smooth-curve--${kind}` }),
        ball: makeSvg("circle", { class: `smooth-ball smooth-ball--${kind}`, r: 11 }),
        push: makeSvg("path", { class: `smooth-push smooth-ball--${kind}` }),
        name: makeSvg("text", { class: `smooth-name smooth-ball--${kind}` }, kind === "plain" ? "without smoothing" : "with smoothing"),
      }));
      this.svg.append(this.grid(), this.best, this.bestName,
        ...this.balls.flatMap(({ curve, push: arrow, ball, name }) => [curve, arrow, ball, name]));
      this.handle = new Handle("lead of the right word", {
        role: "query", hint: "drag me",
        onDrag: (across) => this.move(((across * WIDTH - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right)) * LONGEST),
        onStep: (right, up) => this.move(this.lead + 0.5 * (right + up)),
      });
      this.share = { fill: make("span", { class: "smooth-fill" }), mark: make("span", { class: "smooth-mark" }), words: make("p", { class: "smooth-words" }) };
      this.summary = new Summary();
      el.className = "smooth";
      el.append(
        make("p", { class: "course-chart-title" }, "Loss of a word (nats), and where it pushes the lead"),
        make("div", { class: "smooth-stage" }, this.svg, this.handle.element),
        this.summary.element,
        make("div", { class: "smooth-share" }, this.share.words,
          make("div", { class: "smooth-track", "aria-hidden": "true" }, this.share.fill, this.share.mark)),
        make("div", { class: "course-sliders" }, this.smoothing.element, this.size.element),
      );
      this.update();
    }

    slider(name, range) {
      return new Slider(name, () => this.update(), range);
    }

    move(lead) {
      this.lead = Math.round(10 * Math.min(Math.max(lead, 0), LONGEST)) / 10;
      this.update();
    }

    x(lead) {
      return MARGIN.left + ((WIDTH - MARGIN.left - MARGIN.right) * lead) / LONGEST;
    }

    y(cost) {
      return HEIGHT - MARGIN.bottom - ((HEIGHT - MARGIN.top - MARGIN.bottom) * Math.min(cost, HIGHEST)) / HIGHEST;
    }

    grid() {
      const parts = [];
      for (let cost = 0; cost <= HIGHEST; cost += 2) {
        const y = this.y(cost);
        parts.push(
          makeSvg("line", { class: "course-chart-grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
          makeChartLabel(String(cost), MARGIN.left - 8, y + 5, "end"),
        );
      }
      for (let lead = 0; lead <= LONGEST; lead += 8) {
        parts.push(makeChartLabel(String(lead), this.x(lead), HEIGHT - MARGIN.bottom + 24, "middle"));
      }
      parts.push(makeChartLabel("lead of the right word", this.x(LONGEST), HEIGHT - 12, "end"));
      return makeSvg("g", {}, ...parts);
    }

    points(size, smoothing) {
      const all = Array.from({ length: POINTS + 1 }, (_, i) => (LONGEST * i) / POINTS);
      return all.filter((lead) => loss(lead, size, smoothing) <= HIGHEST)
        .map((lead) => `${this.x(lead).toFixed(1)},${this.y(loss(lead, size, smoothing)).toFixed(1)}`).join(" ");
    }

    update() {
      const { lead } = this;
      const smoothing = this.smoothing.get();
      const size = this.size.get();
      this.smoothing.show(smoothing.toFixed(2));
      this.size.show();
      const best = smoothing > 0 ? bestLead(size, smoothing) : Infinity;
      this.drawBest(best, size, smoothing);
      this.balls.forEach((parts, i) => this.drawBall(parts, size, i * smoothing));
      const now = loss(lead, size, smoothing);
      this.svg.dataset.loss = now;
      this.handle.show(this.x(lead) / WIDTH, this.y(now) / HEIGHT, `${lead.toFixed(1)}, costs ${now.toFixed(2)} nats`);
      this.showShare(Math.exp(-costs(lead, size).right), 1 - smoothing + smoothing / size);
      this.summary.tell(this.sentence(lead, best, loss(best, size, smoothing)));
    }

    drawBall({ curve, ball, push: arrow, name }, size, smoothing) {
      curve.setAttribute("points", this.points(size, smoothing));
      const [x, y] = [this.x(this.lead), this.y(loss(this.lead, size, smoothing))];
      ball.setAttribute("cx", x.toFixed(1));
      ball.setAttribute("cy", y.toFixed(1));
      const force = push(this.lead, size, smoothing);
      const side = Math.sign(force);
      const reach = 28 + 40 * Math.abs(force);
      const isFlat = Math.abs(force) < FLAT && smoothing > 0; // without smoothing it never is
      arrow.setAttribute("d", isFlat ? "" : `M${x + side * 15} ${y}h${side * (reach - 10)}m${-side * 11} -9l${side * 13} 9l${-side * 13} 9`);
      name.setAttribute("x", this.x(LONGEST).toFixed(1));
      name.setAttribute("y", (this.y(loss(LONGEST, size, smoothing)) - 12).toFixed(1));
      name.style.display = smoothing || name === this.balls[0].name ? "" : "none";
      ball.style.display = name.style.display;
      arrow.style.display = name.style.display;
    }

    drawBest(best, size, smoothing) {
      const isSeen = best <= LONGEST;
      [this.best, this.bestName].forEach((part) => (part.style.display = isSeen ? "" : "none"));
      if (!isSeen) return;
      const x = this.x(best).toFixed(1);
      const places = { x1: x, x2: x, y1: this.y(loss(best, size, smoothing)), y2: HEIGHT - MARGIN.bottom };
      Object.entries(places).forEach(([name, value]) => this.best.setAttribute(name, value));
      this.bestName.setAttribute("x", x);
      this.bestName.setAttribute("y", (this.y(loss(best, size, smoothing)) - 14).toFixed(1));
      this.bestName.textContent = "lowest";
    }

    /** The right word's probability: a bar, with a mark at its target. */
    showShare(model, target) {
      this.share.fill.style.width = `${(100 * model).toFixed(2)}%`;
      this.share.mark.style.left = `${(100 * target).toFixed(2)}%`;
      this.share.words.textContent = `The right word gets ${percent(model)}; its target is ${percent(target)}.`;
    }

    sentence(lead, best, least) {
      if (best === Infinity) return "Without smoothing there is no best lead: the loss pushes it on for ever.";
      const place = `The smoothed loss is lowest, ${least.toFixed(3)}, at a lead of ${best.toFixed(1)}`;
      return lead > best
        ? `${place}: it pushes back. Without smoothing, the push goes on for ever.`
        : `${place}. Up to there, both losses push the lead up.`;
    }
  }

  window.courseFigures["label-smoothing"] = LabelSmoothing;
})();
