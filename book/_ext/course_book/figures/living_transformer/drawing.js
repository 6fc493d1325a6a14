/* The whole model as a drawing: a lane for each word, a row for each stage, and in each crossing the
 * word's vector. Lines show where the word that is looked at takes its attention from. Where lanes need
 * more room than there is, the drawing scrolls sideways below its labels.
 *
 * draw(view): view.sides.encoder and .decoder are { words, lanes, matrices, off, said }: for each stage a
 * matrix, null where it is not computed yet, and its parts that are switched off; view.stage, view.query;
 * view.looks: [{ key, weight, truth }].
 */
(function () {
  "use strict";

  const { make, makeSvg, fadeWhereMore } = window.courseElements;
  const { color, paint, sharpen } = window.courseLiving;
  const ROW = 35;
  const LABEL = 110;
  const WIDE = { head: 38, least: 56, widest: 96, perRow: 16 }; // lanes as wide as their words
  const NARROW = { head: 76, least: 24, widest: 34, perRow: 8 }; // on phones: words at three heights of the head
  const GAP = 5;
  const SWATCH = 16;
  const SIDES = { encoder: "The encoder reads", decoder: "The decoder writes" };
  const FAINTEST = 0.02; // weights below are not drawn

  /** One side: its words above, its stages below them, its vectors on a canvas. */
  class Panel {
    constructor(side, stages, { onStage, onWord }) {
      Object.assign(this, { side, stages, onStage, onWord });
      this.words = make("div", { class: "living-words", role: "group", "aria-label": `Words of the ${side}` });
      this.canvas = make("canvas", { "aria-hidden": "true" });
      this.canvas.addEventListener("click", (event) => this.pick(event));
      this.said = make("div", { class: "living-words living-said", "aria-hidden": "true" });
      this.labels = stages.map((stage) => this.label(stage));
      this.element = make("div", { class: `living-panel living-panel--${side}` },
        make("p", { class: "living-side" }, SIDES[side]), this.words,
        make("div", { class: "living-labels" }, ...this.labels), this.canvas, this.said);
    }

    label(stage) {
      const button = make("button", { type: "button", class: "living-label", "data-stage": stage.id }, stage.label, make("small"));
      button.addEventListener("click", () => this.onStage(stage));
      return button;
    }

    pick(event) {
      const word = Math.floor(event.offsetX / this.lane);
      const row = Math.floor(event.offsetY / ROW);
      if (word < this.shown) this.onWord(this.stages[Math.min(row, this.stages.length - 1)], word);
    }

    /** The middle of a vector, from the panel's corner. */
    place(row, word) {
      return { x: this.canvas.offsetLeft + (word + 0.5) * this.lane, y: this.layout.head + (row + 0.5) * ROW };
    }

    draw({ words, lanes, matrices, off, said }, stage, query, layout, room) {
      this.layout = layout;
      this.lane = Math.max(Math.min((room - LABEL) / lanes, layout.widest), layout.least);
      this.shown = words.length;
      this.element.style.setProperty("--lane", `${this.lane}px`);
      this.element.style.minWidth = `${LABEL + this.lane * lanes}px`;
      this.labels.forEach((button, row) => {
        button.setAttribute("aria-pressed", String(this.stages[row] === stage));
        button.classList.toggle("is-due", !matrices[row]);
        button.classList.toggle("is-broken", off[row].length > 0);
        button.lastChild.textContent = off[row].length ? `no ${off[row].join(", ")}` : this.stages[row].detail ?? "";
      });
      const mine = this.stages.includes(stage);
      this.words.replaceChildren(...words.map((word, i) => this.word(word, i, mine && i === query)));
      this.said.replaceChildren(...said.map((word, i) => make("span", { class: i === said.length - 1 ? "is-new" : "" }, make("span", {}, word))));
      this.repaint(lanes, matrices, mine ? query : -1);
    }

    /** Paint the vectors, unless the picture would be the same as before. */
    repaint(lanes, matrices, query) {
      const picture = [lanes, this.lane, query, document.documentElement.dataset.theme, ...matrices];
      if (this.painted && picture.every((part, i) => part === this.painted[i])) return;
      this.painted = picture;
      this.paint(lanes, matrices, query);
    }

    word(word, i, pressed) {
      const button = make("button", { type: "button", class: "living-word", "aria-pressed": String(pressed) }, make("span", {}, word));
      button.addEventListener("click", () => this.onWord(null, i));
      return button;
    }

    paint(lanes, matrices, query) {
      const height = this.stages.length * ROW;
      const context = sharpen(this.canvas, lanes * this.lane, height);
      const width = this.lane - GAP;
      for (let word = 0; word < lanes; word += 1) {
        const x = word * this.lane + GAP / 2;
        context.fillStyle = color(word === query ? this.side : "line");
        context.fillRect(x + width / 2 - 0.5, 0, word === query ? 2 : 1, height);
        matrices.forEach((matrix, row) => {
          const y = (row + 0.5) * ROW - SWATCH / 2;
          const there = matrix && word < matrix.rows;
          context.fillStyle = color("page");
          context.fillRect(x - 1, y - 1, width + 2, SWATCH + 2);
          if (there) paint(context, matrix.row(word), { x, y, width, height: SWATCH, perRow: this.layout.perRow, role: this.side });
          context.strokeStyle = color(there && word === query ? this.side : "line");
          context.lineWidth = there && word === query ? 2 : 1;
          context.setLineDash(there ? [] : [2, 3]);
          context.strokeRect(x - 1, y - 1, width + 2, SWATCH + 2);
        });
      }
    }
  }

  class Drawing {
    constructor(stages, handlers) {
      this.encoder = new Panel("encoder", stages.encoder, handlers);
      this.decoder = new Panel("decoder", stages.decoder, handlers);
      this.lines = makeSvg("svg", { class: "living-lines", "aria-hidden": "true" });
      this.element = fadeWhereMore(make("div", { class: "living-drawing" }, this.encoder.element, this.decoder.element, this.lines));
      this.element.style.setProperty("--row", `${ROW}px`);
      this.element.style.setProperty("--label", `${LABEL}px`);
    }

    draw(view) {
      const layout = matchMedia("(min-width: 721px)").matches ? WIDE : NARROW;
      this.element.classList.toggle("is-narrow", layout === NARROW);
      this.element.style.setProperty("--head", `${layout.head}px`);
      const room = this.element.clientWidth;
      [this.encoder, this.decoder].forEach((panel) => panel.draw(view.sides[panel.side], view.stage, view.query, layout, room));
      this.lines.style.minWidth = `${Math.max(this.encoder.element.offsetWidth, this.decoder.element.offsetWidth)}px`;
      this.lines.replaceChildren();
      if (view.stage.kind === "attention") view.looks.forEach((look) => this.look(view, look));
    }

    /** Bring a stage into view, unless the reader has gone on below the drawing; `bar` is what sticks above. */
    follow(stage, bar) {
      if (this.element.getBoundingClientRect().bottom < bar.getBoundingClientRect().bottom + ROW) return;
      this.labelOf(stage).scrollIntoView({ block: "nearest" });
    }

    labelOf(stage) {
      const panel = this[stage.side];
      return panel.labels[panel.stages.indexOf(stage)];
    }

    point(panel, row, word) {
      const { x, y } = panel.place(row, word);
      return { x: x + panel.element.offsetLeft, y: y + panel.element.offsetTop };
    }

    look({ stage, query }, { key, weight, truth }) {
      const to = this[stage.side];
      const row = to.stages.indexOf(stage);
      const end = this.point(to, row, query);
      const begin = stage.cross
        ? this.point(this.encoder, this.encoder.stages.length - 1, key)
        : this.point(to, row - 1, key);
      if (weight > FAINTEST) this.line(begin, end, { class: "living-look living-look--flows", pathLength: 1, "stroke-width": 1 + 5 * weight, "stroke-opacity": 0.25 + 0.75 * weight });
      if (truth) this.line(begin, end, { class: `living-look living-look--${truth}` });
    }

    line(from, to, attributes) {
      const shape = Math.abs(to.x - from.x) > Math.abs(to.y - from.y) * 2 ? sideways : downwards;
      this.lines.append(makeSvg("path", { d: shape(from, to), ...attributes }));
    }
  }

  /* From a vector to another: from one's side to the other's, from one's foot to the other's head. */
  const curve = (x0, y0, x1, y1, x2, y2, x3, y3) => `M${x0} ${y0} C${x1} ${y1} ${x2} ${y2} ${x3} ${y3}`;
  const sideways = (from, to) => {
    const middle = (from.x + to.x) / 2;
    return curve(from.x, from.y, middle, from.y, middle, to.y, to.x, to.y);
  };
  const downwards = (from, to) => {
    const [begin, end] = [from.y + SWATCH / 2, to.y - SWATCH / 2];
    const middle = (begin + end) / 2;
    return curve(from.x, begin, from.x, middle, to.x, middle, to.x, end);
  };

  window.courseLiving.Drawing = Drawing;
})();
