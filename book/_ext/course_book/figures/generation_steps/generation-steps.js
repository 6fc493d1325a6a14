/* The figure "generation-steps": a language model writes, one token a step, and the reader chooses.
 *
 * model: { words, start, end, num_heads, weights, note }; see engine/decoder-lm.js, which runs it.
 */
(function () {
  "use strict";

  const { make, makeScroller, grouped } = window.courseElements;
  const { Counts, Slider, Summary, makeButton, makeSelect } = window.courseControls;
  const { DecoderLM, drawnWith, pastBytes, softmaxRow } = window.courseEngine;
  const SHOWN = 6; // words to choose from
  const RUNS = 20; // of which the time is the mean: the browser's clock is coarse

  /** Milliseconds that work takes, on average. */
  function timed(work) {
    const begin = performance.now();
    for (let run = 0; run < RUNS; run += 1) work();
    return (performance.now() - begin) / RUNS;
  }

  class GenerationSteps {
    constructor(model, el) {
      this.model = model;
      this.decoder = DecoderLM.fromLists(model.weights, model.num_heads);
      this.tokens = [model.start];
      this.most = model.weights["positions.weight"].length;
      this.text = make("ol", { class: "steps-text" });
      this.bars = make("ol", { class: "steps-bars" });
      this.table = make("table", { class: "steps-table" });
      this.counts = new Counts();
      this.cache = make("table", { class: "steps-cache" });
      const again = { temperature: { min: 0.1, max: 2, step: 0.1, value: 1 }, topK: { min: 1, max: model.words.length, value: model.words.length }, topP: { min: 0.05, max: 1, step: 0.05, value: 1 } };
      const names = { temperature: "Temperature", topK: "Top k", topP: "Top p" };
      this.sliders = Object.fromEntries(Object.entries(again).map(([name, range]) =>
        [name, new Slider(names[name], () => this.redraw(), range)]));
      this.summary = new Summary();
      this.likeliest = makeButton("Take the likeliest", () => this.append(this.order[0]));
      this.chance = makeButton("Draw by chance", () => this.append(this.draw()));
      this.back = makeButton("Take back", () => this.cut(this.tokens.length - 1));
      this.again = makeButton("Start again", () => this.cut(1));
      this.other = makeSelect("Any word", [], () => {});
      this.appendAny = makeButton("Append", () => this.append(Number(this.other.select.value)));
      this.shade = makeSelect("Show", Object.entries(this.views()), () => this.drawTable());
      el.className = "steps";
      el.append(
        this.text,
        make("div", { class: "course-pills" }, this.likeliest, this.chance, this.back, this.again),
        make(
          "div",
          { class: "steps-halves" },
          make(
            "div",
            {},
            make("p", { class: "steps-heading" }, "What comes next? Choose."),
            this.bars,
            make("div", { class: "steps-other" }, this.other.label, this.other.select, this.appendAny),
          ),
          make("div", {}, make("div", { class: "steps-other" }, this.shade.label, this.shade.select), this.table),
        ),
        make("div", { class: "course-sliders" }, ...Object.values(this.sliders).map(({ element }) => element)),
        this.counts.element,
        makeScroller("What the cache keeps", this.cache),
        this.summary.element,
      );
      this.update();
      this.append(this.order[0]); // the first word is no choice yet: begin where there is one
    }

    views() {
      const { weights } = this.decoder.read(this.tokens);
      const heads = weights.flatMap((layer, l) => layer.map((_, h) => `weights: layer ${l}, head ${h}`));
      return ["the mask", ...heads];
    }

    get ended() {
      return this.tokens[this.tokens.length - 1] === this.model.end;
    }

    /** The tokens that the model reads: the end is written, and read by nobody. */
    get read() {
      return this.ended ? this.tokens.slice(0, -1) : this.tokens;
    }

    append(token) {
      if (this.ended || this.tokens.length >= this.most) return;
      this.tokens.push(token);
      this.update();
    }

    cut(length) {
      this.tokens.length = Math.max(length, 1);
      this.update();
    }

    draw() {
      let left = Math.random();
      return this.order.find((token) => (left -= this.chances[token]) < 0) ?? this.order[0];
    }

    /** Read the text, both ways: all of it anew, and its last token alone, on what is kept. */
    measure() {
      const { read } = this;
      const before = read.length > 1 ? this.decoder.read(read.slice(0, -1)).past : undefined;
      const [newest] = read.slice(-1);
      this.now = this.decoder.read(read);
      this.now.next = softmaxRow(Array.from(this.now.logits), () => true);
      this.took = {
        anew: timed(() => this.decoder.read(read)),
        cached: timed(() => this.decoder.read([newest], before)),
      };
    }

    /** With what probability each token would be drawn, by the sliders. */
    get chances() {
      const settings = Object.entries(this.sliders).map(([name, slider]) => [name, slider.get()]);
      return drawnWith(this.now.logits, Object.fromEntries(settings));
    }

    update() {
      this.measure();
      this.redraw();
    }

    redraw() {
      const { words } = this.model;
      const { next } = this.now;
      const { temperature, topK, topP } = this.sliders;
      temperature.show(temperature.get().toFixed(1));
      topK.show();
      topP.show(topP.get().toFixed(2));
      this.order = words.map((_, i) => i).sort((a, b) => next[b] - next[a]);
      const stopped = this.ended || this.tokens.length >= this.most;
      [this.likeliest, this.chance, this.appendAny].forEach((button) => (button.disabled = stopped));
      [this.back, this.again].forEach((button) => (button.disabled = this.tokens.length === 1));
      this.drawText();
      this.drawBars(stopped);
      this.drawTable();
      this.drawCounts();
      this.drawCache();
      this.summary.tell(this.sentence(stopped));
    }

    drawText() {
      this.text.replaceChildren(
        ...this.tokens.map((token, i) =>
          make("li", { class: i === this.tokens.length - 1 ? "is-newest" : "" }, this.model.words[token]),
        ),
      );
    }

    drawBars(stopped) {
      const { words } = this.model;
      const { next } = this.now;
      const { chances } = this;
      this.bars.replaceChildren(
        ...this.order.slice(0, SHOWN).map((token) => {
          const fill = make("span", { class: "steps-fill" });
          fill.style.width = `${(100 * chances[token]).toFixed(1)}%`;
          const out = chances[token] === 0;
          const button = make(
            "button",
            { type: "button", class: `steps-word${out ? " is-out" : ""}`, "data-probability": next[token], "data-chance": chances[token] },
            make("span", { class: "steps-name" }, words[token]),
            make("span", { class: "steps-track" }, fill),
            make("span", { class: "steps-share" }, out ? "out" : this.percent(chances[token])),
          );
          button.disabled = stopped;
          button.addEventListener("click", () => this.choose(token));
          return make("li", {}, button);
        }),
      );
      this.other.select.replaceChildren(
        ...this.order
          .filter((token) => token !== this.model.start)
          .map((token) => make("option", { value: token }, `${words[token]} ${this.percent(next[token])}`)),
      );
    }

    /** The bars are made anew with each word: the keyboard's place must not be lost. */
    choose(token) {
      this.append(token);
      const first = this.bars.querySelector("button");
      (first.disabled ? this.back : first).focus();
    }

    drawTable() {
      const { words } = this.model;
      const { read } = this;
      const view = Number(this.shade.select.value);
      const heads = this.now.weights.flat();
      const names = read.map((token) => words[token]);
      const row = (name, i) => {
        const newest = i === read.length - 1 ? "is-newest" : "";
        const cells = read.map((_, j) => {
          const weight = j > i ? 0 : view ? heads[view - 1].row(i)[j] : 1;
          const cell = make("td", { class: j > i ? "is-future" : "", "data-weight": weight });
          cell.style.setProperty("--weight", weight.toFixed(3));
          cell.append(j > i ? "" : view ? this.percent(weight).replace(" %", "") : "1");
          return cell;
        });
        return make("tr", { class: newest }, make("th", { scope: "row" }, name), ...cells);
      };
      const head = names.map((name) => make("th", { scope: "col" }, make("span", {}, name)));
      this.table.style.setProperty("--columns", read.length);
      this.table.replaceChildren(
        make("caption", {}, view ? "Attention weights in percent: row looks at column" : "1: the row may see the column"),
        make("thead", {}, make("tr", {}, make("td"), ...head)),
        make("tbody", {}, ...names.map(row)),
      );
    }

    drawCounts() {
      const now = this.read.length;
      this.counts.show([
        ["now", "tokens read in this step", now],
        ["all", "tokens read so far", (now * (now + 1)) / 2],
        ["different", "of these, different ones", now],
        ["bytes", "bytes that a cache keeps", grouped(pastBytes(this.now.past))],
        ["cached", "ms for this step with it", this.took.cached.toFixed(2)],
        ["anew", "ms without it", this.took.anew.toFixed(2)],
      ]);
    }

    /** A row for the keys and one for the values of each layer, a column for each token. */
    drawCache() {
      const { words } = this.model;
      const { read } = this;
      const names = read.map((token) => make("th", { scope: "col" }, make("span", {}, words[token])));
      const row = (name, role, matrix) => make("tr", {}, make("th", { scope: "row" }, name),
        ...matrix.map((vector, i) => make("td", { class: `is-${role}${i === read.length - 1 ? " is-new" : ""}` }, String(vector.length))));
      this.cache.style.setProperty("--columns", read.length);
      this.cache.replaceChildren(
        make("caption", {}, "Numbers that the cache keeps of each token: this step computes the framed ones, the others are there"),
        make("thead", {}, make("tr", {}, make("td"), ...names)),
        make("tbody", {}, ...this.now.past.layers.flatMap(({ keys, values }, l) =>
          [row(`keys ${l + 1}`, "key", keys), row(`values ${l + 1}`, "value", values)])));
    }

    sentence(stopped) {
      const { words } = this.model;
      if (this.ended) return `The text has ended. The model read its beginning ${this.read.length} times.`;
      if (stopped) return `The model has ${this.most} positions, and all are taken.`;
      const best = this.order
        .slice(0, 3)
        .map((token) => `${words[token]} ${this.percent(this.now.next[token])}`)
        .join(", ");
      return `After \u201C${words[this.tokens[this.tokens.length - 1]]}\u201D the model expects: ${best}.`;
    }

    percent(p) {
      const rounded = Math.round(100 * p);
      if (rounded === 100 && p < 0.9995) return ">99%";
      return rounded === 0 && p > 0 ? "<1%" : `${rounded}%`;
    }
  }

  window.courseFigures["generation-steps"] = GenerationSteps;
})();
