/* A language model writes, one token a step, and the reader chooses.
 *
 * new Writer({ config, words, parameters }, el): parameters as matrices; see engine/decoder-lm.js, which runs
 * it. config: { num_heads, max_length, start, end }, the last two ids of words.
 */
(function () {
  "use strict";

  const { make, makeScroller, grouped } = window.courseElements;
  const { Counts, Slider, Summary, makeButton, makeSelect } = window.courseControls;
  const { DecoderLM, drawnWith, pastBytes, softmaxRow } = window.courseEngine;
  const SHOWN = 6; // words to choose from
  const IN_VIEW = 12; // tokens in the tables, the newest ones
  const RUNS = 20; // of which the time is the mean: the browser's clock is coarse
  const ENOUGH = 10; // milliseconds, after which fewer runs do

  /** The mean time of a call of `work`, in milliseconds. */
  function timed(work) {
    const begin = performance.now();
    for (let run = 1; ; run += 1) {
      work();
      const passed = performance.now() - begin;
      if (run === RUNS || passed > ENOUGH) return passed / run;
    }
  }

  /** An index, drawn with these probabilities. */
  function drawFrom(chances) {
    let left = Math.random();
    const found = chances.findIndex((chance) => (left -= chance) < 0);
    return found >= 0 ? found : chances.indexOf(Math.max(...chances)); // rounding left a rest
  }

  class Writer {
    constructor({ config, words, parameters }, el) {
      Object.assign(this, { words, start: config.start, end: config.end, most: config.max_length });
      this.decoder = new DecoderLM(parameters, config.num_heads);
      this.tokens = [config.start];
      this.text = make("ol", { class: "steps-text" });
      this.heading = make("p", { class: "steps-heading" });
      this.bars = make("ol", { class: "steps-bars" });
      this.table = make("table", { class: "steps-table" });
      this.counts = new Counts();
      this.cache = make("table", { class: "steps-cache" });
      const again = { temperature: { min: 0.1, max: 2, step: 0.1, value: 1 }, topK: { min: 1, max: words.length, value: words.length }, topP: { min: 0.05, max: 1, step: 0.05, value: 1 } };
      const names = { temperature: "Temperature", topK: "Top k", topP: "Top p" };
      this.sliders = Object.fromEntries(Object.entries(again).map(([name, range]) =>
        [name, new Slider(names[name], () => this.redraw(), range)]));
      this.summary = new Summary();
      this.likeliest = makeButton("Take the likeliest", () => this.append(this.order[0]));
      this.chance = makeButton("Draw by chance", () => this.append(this.draw()));
      this.rest = makeButton("Write to the end", () => this.finish());
      this.back = makeButton("Take back", () => this.cut(this.tokens.length - 1));
      this.again = makeButton("Start again", () => this.cut(1));
      this.other = makeSelect("Any word", [], () => {});
      this.appendAny = makeButton("Append", () => this.append(Number(this.other.select.value)));
      this.shade = makeSelect("Show", Object.entries(this.views()), () => this.drawTable());
      el.replaceChildren(
        this.text,
        make("div", { class: "course-pills" }, this.likeliest, this.chance, this.rest, this.back, this.again),
        make(
          "div",
          { class: "steps-halves" },
          make(
            "div",
            {},
            this.heading,
            this.bars,
            make("div", { class: "steps-other" }, this.other.label, this.other.select, this.appendAny),
          ),
          make("div", {}, make("div", { class: "steps-other" }, this.shade.label, this.shade.select), this.table),
        ),
        make("div", { class: "course-sliders" }, ...Object.values(this.sliders).map(({ element }) => element)),
        this.counts.element,
        makeScroller("Contents of the cache", this.cache),
        this.summary.element,
      );
      this.update();
      this.append(this.order[0]); // the first word is no choice yet: begin where there is one
    }

    views() {
      const { weights } = this.decoder.read(this.tokens);
      const heads = weights.flatMap((layer, l) => layer.map((_, h) => `weights: layer ${l + 1}, head ${h + 1}`));
      return ["the mask", ...heads];
    }

    get ended() {
      return this.tokens.length > 1 && this.tokens.at(-1) === this.end;
    }

    /** The tokens that the model reads: all but a written end symbol. */
    get read() {
      return this.ended ? this.tokens.slice(0, -1) : this.tokens;
    }

    append(token) {
      if (this.ended || this.tokens.length >= this.most) return;
      this.tokens.push(token);
      this.update();
    }

    /** Draw tokens until the text ends; only the last step is measured and shown. */
    finish() {
      let now = this.decoder.read(this.read);
      while (!this.ended && this.tokens.length < this.most) {
        const chances = drawnWith(now.logits, this.settings);
        this.tokens.push(drawFrom(chances));
        if (!this.ended) now = this.decoder.read(this.tokens.slice(-1), now.past);
      }
      this.update();
      this.back.focus();
    }

    cut(length) {
      this.tokens.length = Math.max(length, 1);
      this.update();
    }

    draw() {
      return drawFrom(this.chances);
    }

    /** Time both ways of reading the text: all of it again, and only its last token, with the cache. */
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

    get settings() {
      return Object.fromEntries(Object.entries(this.sliders).map(([name, slider]) => [name, slider.get()]));
    }

    /** The probability with which each token would be drawn, with the sliders' settings. */
    get chances() {
      return drawnWith(this.now.logits, this.settings);
    }

    update() {
      this.measure();
      this.redraw();
    }

    redraw() {
      const { words } = this;
      const { next } = this.now;
      const { temperature, topK, topP } = this.sliders;
      temperature.show(temperature.get().toFixed(1));
      topK.show();
      topP.show(topP.get().toFixed(2));
      this.order = words.map((_, i) => i).sort((a, b) => next[b] - next[a]);
      const stopped = this.ended || this.tokens.length >= this.most;
      [this.likeliest, this.chance, this.rest, this.appendAny].forEach((button) => (button.disabled = stopped));
      [this.back, this.again].forEach((button) => (button.disabled = this.tokens.length === 1));
      this.heading.textContent = stopped ? "The text is at its end." : "What comes next? Choose.";
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
          make("li", { class: i === this.tokens.length - 1 ? "is-newest" : "" }, this.words[token]),
        ),
      );
    }

    drawBars(stopped) {
      const { words } = this;
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
          .filter((token) => token !== this.start || token === this.end)
          .map((token) => make("option", { value: token }, `${words[token]} ${this.percent(next[token])}`)),
      );
    }

    /** Write a token, and move the focus to the new bars, which replace the old ones. */
    choose(token) {
      this.append(token);
      const first = this.bars.querySelector("button");
      (first.disabled ? this.back : first).focus();
    }

    drawTable() {
      const { words } = this;
      const { read } = this;
      const view = Number(this.shade.select.value);
      const heads = this.now.weights.flat();
      const places = this.inView;
      const names = places.map((i) => words[read[i]]);
      const row = (i) => {
        const newest = i === read.length - 1 ? "is-newest" : "";
        const cells = places.map((j) => {
          const weight = j > i ? 0 : view ? heads[view - 1].row(i)[j] : 1;
          const cell = make("td", { class: j > i ? "is-future" : "", "data-weight": weight });
          cell.style.setProperty("--weight", weight.toFixed(3));
          cell.append(j > i ? "" : view ? this.percent(weight).replace(" %", "") : "1");
          return cell;
        });
        return make("tr", { class: newest }, make("th", { scope: "row" }, words[read[i]]), ...cells);
      };
      const head = names.map((name) => make("th", { scope: "col" }, make("span", {}, name)));
      this.table.style.setProperty("--columns", places.length);
      this.table.replaceChildren(
        make("caption", {}, `${view ? "Attention weights in percent: row looks at column" : "1: the row may see the column"}${this.partly}`),
        make("thead", {}, make("tr", {}, make("td"), ...head)),
        make("tbody", {}, ...places.map(row)),
      );
    }

    /** The indices of the tokens that the tables show. */
    get inView() {
      return this.read.map((_, i) => i).slice(-IN_VIEW);
    }

    get partly() {
      return this.read.length > IN_VIEW ? ` (the last ${IN_VIEW} of ${this.read.length} tokens)` : "";
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

    /** Draw the cache: a row for the keys and one for the values of each layer, a column per token. */
    drawCache() {
      const { words } = this;
      const { read } = this;
      const places = this.inView;
      const names = places.map((i) => read[i]).map((token) => make("th", { scope: "col" }, make("span", {}, words[token])));
      const row = (name, role, matrix) => make("tr", {}, make("th", { scope: "row" }, name),
        ...places.map((i) => make("td", { class: `is-${role}${i === read.length - 1 ? " is-new" : ""}` }, String(matrix.row(i).length))));
      this.cache.style.setProperty("--columns", places.length);
      this.cache.replaceChildren(
        make("caption", {}, `Numbers that the cache keeps of each token: this step computes the framed ones, the others are there${this.partly}`),
        make("thead", {}, make("tr", {}, make("td"), ...names)),
        make("tbody", {}, ...this.now.past.layers.flatMap(({ keys, values }, l) =>
          [row(`keys ${l + 1}`, "key", keys), row(`values ${l + 1}`, "value", values)])));
    }

    sentence(stopped) {
      const { words } = this;
      if (this.ended) return `The text has ended, after ${this.read.length} steps.`;
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

  window.courseWriter = Writer;
})();
