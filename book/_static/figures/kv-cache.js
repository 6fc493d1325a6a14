/* The figure "kv-cache": a text written step by step, with and without a cache, and its bytes.
 *
 * model: { words, prompt, models: [{ name, num_layers, kv_width }], note }. Step 0 reads the
 * prompt; each further step reads the token that was written last. After each, a word is written.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const WIDTHS = [4, 2, 1]; // bytes a number: float32, half precision, eight bits
  const SHORTEST = 8; // powers of two, tokens
  const LONGEST = 17;
  const MOST_TEXTS = 6; // power of two
  const BEAT = 900; // milliseconds a step when it plays by itself
  const PAUSE = 200; // milliseconds before a change is read out
  let count = 0;

  /** Bytes as a person would say them: 1.5 KiB, 4 GiB. */
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
      this.counts = make("dl", { class: "kv-counts" });
      this.back = this.button("Back", () => this.go(this.step - 1));
      this.next = this.button("Next word", () => this.go(this.step + 1));
      this.play = this.button("Play", () => this.toggle());
      this.select = this.choice();
      this.width = this.slider("Bytes a number", 0, WIDTHS.length - 1, 0, (value) => WIDTHS[value]);
      this.texts = this.slider("Texts at a time", 0, MOST_TEXTS, 0, (value) => 2 ** value);
      this.length = this.slider("Tokens of a long text", SHORTEST, LONGEST, 13, (value) => 2 ** value);
      this.total = make("p", { class: "kv-total" });
      this.summary = make("p", { class: "kv-summary", "aria-live": "polite" });
      el.className = "kv";
      el.append(
        make("div", { class: "kv-buttons", role: "group", "aria-label": "Cache" }, ...this.modes),
        this.text,
        make("div", { class: "kv-buttons" }, this.back, this.next, this.play),
        this.counts,
        this.summary,
        make(
          "div",
          { class: "kv-sliders" },
          this.select.element,
          this.width.element,
          this.texts.element,
          this.length.element,
        ),
        this.total,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.update();
    }

    button(words, act) {
      const button = make("button", { type: "button", class: "kv-button" }, words);
      button.addEventListener("click", act);
      return button;
    }

    mode(cached, words) {
      const button = this.button(words, () => {
        this.cached = cached;
        this.update();
      });
      button.cached = cached;
      return button;
    }

    choice() {
      const id = `kv-${(count += 1)}`;
      const select = make(
        "select",
        { id },
        ...this.model.models.map(({ name }, index) => make("option", { value: index }, name)),
      );
      select.addEventListener("change", () => this.update());
      const element = make("div", { class: "kv-slider" }, make("label", { for: id }, "Model"), select);
      return { element, get: () => this.model.models[Number(select.value)] };
    }

    slider(name, min, max, value, meaning) {
      const id = `kv-${(count += 1)}`;
      const input = make("input", { type: "range", id, min, max, step: 1, value });
      const output = make("output", { for: id });
      const get = () => meaning(Number(input.value));
      const show = () => {
        output.textContent = get().toLocaleString("en");
        input.setAttribute("aria-valuetext", get().toLocaleString("en"));
      };
      input.addEventListener("input", () => this.update());
      const element = make("div", { class: "kv-slider" }, make("label", { for: id }, name), output, input);
      return { element, get, show };
    }

    go(step) {
      this.stop();
      this.step = Math.min(Math.max(step, 0), this.last);
      this.update();
    }

    /** Plays only when asked to, and stops at the end. */
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

    /** How many tokens have keys computed in a step: all there are, or the new ones. */
    computed(step) {
      return this.cached && step > 0 ? 1 : this.model.prompt + step;
    }

    bytes(length, texts) {
      const { num_layers: layers, kv_width: wide } = this.select.get();
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
      const facts = [
        ["now", "keys computed in this step, each layer", computed],
        ["all", "computed so far", sum],
        ["kept", "bytes kept, all layers", this.cached ? written(this.bytes(held, 1)) : "none"],
      ];
      this.counts.replaceChildren(
        ...facts.map(([id, name, value]) =>
          make("div", {}, make("dt", {}, name), make("dd", { "data-count": id }, String(value))),
        ),
      );
      const { name } = this.select.get();
      const texts = this.texts.get();
      const long = this.length.get();
      this.total.replaceChildren(
        `${name}: `,
        make("strong", { "data-count": "token" }, written(this.bytes(1, 1))),
        " a token; for ",
        `${texts === 1 ? "one text" : `${texts} texts`} of ${long.toLocaleString("en")} tokens `,
        make("strong", { "data-count": "total" }, written(this.bytes(long, texts))),
        ".",
      );
      this.tell(
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

    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = sentence), PAUSE);
      if (!this.summary.textContent) this.summary.textContent = sentence;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["kv-cache"] = {
    render({ model, el }) {
      new KVCache(model, el);
    },
  };
})();
