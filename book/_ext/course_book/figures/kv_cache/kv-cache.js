/* The figure "kv-cache": a text written step by step, with and without a cache, and its bytes.
 *
 * model: { words, prompt, models: [{ name, num_layers, kv_width }], note }. Step 0 reads the
 * prompt; each further step reads the token that was written last. After each, a word is written.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { Counts, Slider, Summary, makeButton, makeSelect } = window.courseControls;
  const WIDTHS = [4, 2, 1]; // bytes a number: float32, half precision, eight bits
  const TEXTS = [1, 2, 4, 8, 16, 32, 64];
  const LENGTHS = Array.from({ length: 10 }, (_, i) => 2 ** (8 + i)); // tokens
  const BEAT = 900; // milliseconds a step when it plays by itself

  /** Bytes as text: 1.5 KiB, 4 GiB. */
  function written(bytes) {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = 0;
    let amount = bytes;
    while (amount >= 1024 && power < units.length - 1) {
      amount /= 1024;
      power += 1;
    }
    return `${amount.toLocaleString("en", { maximumFractionDigits: amount < 10 ? 2 : 1 })} ${units[power]}`;
  }

  class KVCache {
    constructor(model, el) {
      this.model = model;
      this.step = 0;
      this.cached = false;
      this.last = model.words.length - model.prompt - 1;
      this.modes = [
        [false, "no cache"],
        [true, "with a cache"],
      ].map(([cached, words]) => this.mode(cached, words));
      this.text = make("ol", { class: "kv-text" });
      this.counts = new Counts();
      this.back = makeButton("Back", () => this.go(this.step - 1));
      this.next = makeButton("Next word", () => this.go(this.step + 1));
      this.play = makeButton("Play", () => this.toggle());
      const names = model.models.map(({ name }) => name);
      const { label, select } = makeSelect("Model", Object.entries(names), () => this.update());
      this.select = select;
      this.width = this.slider("Bytes a number", WIDTHS, 4);
      this.texts = this.slider("Texts at a time", TEXTS, 1);
      this.length = this.slider("Tokens of a long text", LENGTHS, 8192);
      this.total = make("p", { class: "kv-total" });
      this.summary = new Summary();
      el.className = "kv";
      el.append(
        make("div", { class: "course-pills", role: "group", "aria-label": "Cache" }, ...this.modes),
        this.text,
        make("div", { class: "course-pills" }, this.back, this.next, this.play),
        this.counts.element,
        this.summary.element,
        make(
          "div",
          { class: "course-sliders" },
          make("div", { class: "course-slider" }, label, select),
          this.width.element,
          this.texts.element,
          this.length.element,
        ),
        this.total,
      );
      this.update();
    }

    mode(cached, words) {
      const button = makeButton(words, () => {
        this.cached = cached;
        this.update();
      });
      button.cached = cached;
      return button;
    }

    slider(name, values, value) {
      return new Slider(name, () => this.update(), { values, value });
    }

    go(step) {
      this.stop();
      this.step = Math.min(Math.max(step, 0), this.last);
      this.update();
    }

    /** Start or pause the animation, which stops at the last step. */
    toggle() {
      if (this.timer) {
        this.stop();
        return;
      }
      if (this.step === this.last) this.step = 0;
      this.play.textContent = "Pause";
      this.timer = setInterval(() => {
        this.step += 1;
        this.update();
        if (this.step === this.last) this.stop();
      }, BEAT);
      this.update();
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = "Play";
    }

    /** The number of tokens whose keys a step computes: all so far, or with the cache the new ones. */
    computed(step) {
      return this.cached && step > 0 ? 1 : this.model.prompt + step;
    }

    bytes(length, texts) {
      const { num_layers: layers, kv_width: wide } = this.model.models[this.select.value];
      return 2 * texts * length * layers * wide * this.width.get();
    }

    update() {
      const held = this.model.prompt + this.step;
      const computed = this.computed(this.step);
      let sum = 0;
      for (let step = 0; step <= this.step; step += 1) sum += this.computed(step);
      this.modes.forEach((button) =>
        button.setAttribute("aria-pressed", String(button.cached === this.cached)),
      );
      this.back.disabled = this.step === 0;
      this.next.disabled = this.step === this.last;
      [this.width, this.texts, this.length].forEach((slider) => slider.show());
      this.drawText(held, computed);
      this.counts.show([
        ["now", "keys computed in this step, each layer", computed],
        ["all", "computed so far", sum],
        ["kept", "bytes kept, all layers", this.cached ? written(this.bytes(held, 1)) : "none"],
      ]);
      const { name } = this.model.models[this.select.value];
      const texts = this.texts.get();
      const long = this.length.get();
      this.total.replaceChildren(
        `${name}: `,
        make("strong", { "data-count": "token" }, written(this.bytes(1, 1))),
        " a token; for ",
        `${texts === 1 ? "one text" : `${texts} texts`} of ${grouped(long)} tokens `,
        make("strong", { "data-count": "total" }, written(this.bytes(long, texts))),
        ".",
      );
      this.summary.tell(
        `${this.cached ? "With" : "Without"} a cache: to write \u201C${this.model.words[held]}\u201D ` +
          `keys and values of ${computed} ${computed === 1 ? "token" : "tokens"} are computed` +
          `${this.cached && this.step > 0 ? `, and those of ${held - 1} are there` : ""}.`,
      );
    }

    drawText(held, computed) {
      const items = this.model.words.slice(0, held + 1).map((word, index) => {
        const isNew = index === held;
        const state = isNew ? "written" : index >= held - computed ? "computed" : "kept";
        const cell = (letter) =>
          make("span", { class: `kv-cell kv-cell--${letter === "k" ? "key" : "value"} kv-cell--${state}` }, letter);
        const item = make("li", { class: `kv-token kv-token--${state}`, "data-state": state });
        item.append(make("span", { class: "kv-word" }, word));
        if (!isNew) item.append(make("span", { class: "kv-cells", "aria-hidden": "true" }, cell("k"), cell("v")));
        return item;
      });
      this.text.replaceChildren(...items);
    }
  }

  window.courseFigures["kv-cache"] = KVCache;
})();
