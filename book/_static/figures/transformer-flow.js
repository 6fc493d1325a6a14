/* The figure "transformer-flow": the Transformer, stage by stage, with the shape of everything.
 *
 * model: { sizes: { batch, src_len, tgt_len, d_model, num_heads, d_ff, tgt_vocab_size }, shapes,
 * weights, note }. The shapes of the run are for readers without scripts; here they follow from
 * the sizes, which the reader changes.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const WIDTHS = [32, 64, 128, 256, 512];
  const HEADS = [1, 2, 4, 8];
  const LONGEST = 10;
  const PAUSE = 200; // milliseconds before a change is read out
  const CELL = 18;
  let count = 0;

  const attention = ({ d_model: d }) => 4 * d * d + 4 * d + 2 * d;
  const feedForward = ({ d_model: d, d_ff: inner }) => 2 * d * inner + inner + d + 2 * d;
  const source = (s) => [s.batch, s.src_len, s.d_model];
  const target = (s) => [s.batch, s.tgt_len, s.d_model];

  /* In the order of computation. row: where the box stands; keys: who answers in an attention. */
  const STAGES = [
    {
      id: "src", side: "encoder", row: "1", name: "source tokens",
      shape: (s) => [s.batch, s.src_len],
      text: "Whole numbers, one a token; short sentences are filled up with padding.",
    },
    {
      id: "src_embedding", side: "encoder", row: "2", name: "embed, add positions",
      shape: source,
      text: "Each number becomes a vector, times the root of d_model; a position is added. From here on the shape stays the same, all the way to the memory.",
    },
    {
      id: "encoder_self_attention", side: "encoder", row: "3", name: "self-attention",
      shape: source, parameters: attention, queries: "src_len", keys: "src_len", mask: "padding",
      text: "The source asks, the source answers. Every word may look at every other, ahead too; only padding is hidden.",
    },
    {
      id: "encoder_feed_forward", side: "encoder", row: "4", name: "feed-forward",
      shape: source, parameters: feedForward,
      text: "Each word for itself: up to d_ff numbers, a bend, and back. This and the attention make one layer, and there are N of them.",
    },
    {
      id: "memory", side: "encoder", row: "5", name: "memory",
      shape: source,
      text: "What the encoder hands over: a vector for each source word, not one for the sentence. It is computed once, however long the translation gets.",
    },
    {
      id: "tgt", side: "decoder", row: "1", name: "target tokens so far",
      shape: (s) => [s.batch, s.tgt_len],
      text: "The start token and what has been written. In training, the whole right answer, shifted by one.",
    },
    {
      id: "tgt_embedding", side: "decoder", row: "2", name: "embed, add positions",
      shape: target,
      text: "As on the left, with the target's own embedding and positions that count from its own start.",
    },
    {
      id: "decoder_self_attention", side: "decoder", row: "3 / span 2", name: "masked self-attention",
      shape: target, parameters: attention, queries: "tgt_len", keys: "tgt_len", mask: "causal",
      text: "What have I written so far? The target asks, the target answers, and nobody looks ahead.",
    },
    {
      id: "cross_attention", side: "decoder", row: "5", name: "cross-attention",
      shape: target, parameters: attention, queries: "tgt_len", keys: "src_len", mask: "padding",
      text: "What of the source do I need now? The target asks, the memory answers: the only place where the two meet. Its weights are no square.",
    },
    {
      id: "decoder_feed_forward", side: "decoder", row: "6", name: "feed-forward",
      shape: target, parameters: feedForward,
      text: "What follows from it? Each position for itself. The three sublayers make one layer, and there are N of them.",
    },
    {
      id: "logits", side: "decoder", row: "7", name: "output projection",
      shape: (s) => [s.batch, s.tgt_len, s.tgt_vocab_size],
      parameters: (s) => s.d_model * s.tgt_vocab_size,
      text: "A number for each word of the vocabulary, at each position: how well it would do as the next one. With tied weights this matrix is the target's embedding.",
    },
  ];

  function written(shape) {
    return `(${shape.join(", ")})`;
  }

  /** May query i see key j? Padding stands last in the source. */
  function visible(stage, sizes, padding, i, j) {
    return stage.mask === "causal" ? j <= i : j < sizes.src_len - padding;
  }

  class TransformerFlow {
    constructor(model, el) {
      this.model = model;
      this.chosen = 0;
      const { sizes } = model;
      this.sliders = {
        src_len: this.slider("Source tokens", 2, LONGEST, sizes.src_len),
        padding: this.slider("of them padding", 0, 3, 0),
        tgt_len: this.slider("Target tokens", 1, LONGEST, sizes.tgt_len),
        d_model: this.slider("Width d_model", 0, WIDTHS.length - 1, WIDTHS.indexOf(sizes.d_model), WIDTHS),
        num_heads: this.slider("Heads", 0, HEADS.length - 1, HEADS.indexOf(sizes.num_heads), HEADS),
      };
      this.boxes = STAGES.map((stage, index) => this.box(stage, index));
      this.back = make("button", { type: "button", class: "flow-step" }, "Back");
      this.next = make("button", { type: "button", class: "flow-step" }, "Next stage");
      this.back.addEventListener("click", () => this.choose(this.chosen - 1));
      this.next.addEventListener("click", () => this.choose(this.chosen + 1));
      this.panel = make("div", { class: "flow-panel" });
      this.summary = make("p", { class: "flow-summary", "aria-live": "polite" });
      el.className = "flow";
      el.append(
        make(
          "div",
          { class: "flow-diagram", role: "group", "aria-label": "Stages of the Transformer" },
          ...this.boxes.map(({ element }) => element),
        ),
        make(
          "div",
          { class: "flow-side" },
          make("div", { class: "flow-steps" }, this.back, this.next),
          this.panel,
          make("div", { class: "flow-sliders" }, ...Object.values(this.sliders).map(({ element }) => element)),
        ),
        this.summary,
      );
      if (model.note) el.append(make("p", { class: "course-interactive__note" }, model.note));
      this.update();
    }

    slider(name, min, max, value, values) {
      const id = `flow-${(count += 1)}`;
      const input = make("input", { type: "range", id, min, max, step: 1, value });
      const output = make("output", { for: id });
      const get = () => (values ? values[Number(input.value)] : Number(input.value));
      input.addEventListener("input", () => this.update());
      const element = make("div", { class: "flow-slider" }, make("label", { for: id }, name), output, input);
      return { input, output, element, get, named: Boolean(values) };
    }

    box(stage, index) {
      const shape = make("span", { class: "flow-shape" });
      const element = make(
        "button",
        { type: "button", class: `flow-box flow-box--${stage.side}`, "data-stage": stage.id, style: `grid-row: ${stage.row}` },
        make("span", { class: "flow-name" }, stage.name),
        shape,
      );
      element.addEventListener("click", () => this.choose(index));
      return { element, shape };
    }

    choose(index) {
      this.chosen = Math.min(Math.max(index, 0), STAGES.length - 1);
      this.update();
    }

    sizes() {
      const chosen = Object.fromEntries(
        Object.entries(this.sliders).map(([name, slider]) => [name, slider.get()]),
      );
      return { ...this.model.sizes, ...chosen, d_ff: 4 * chosen.d_model };
    }

    update() {
      Object.values(this.sliders).forEach(({ input, output, get, named }) => {
        output.textContent = get();
        if (named) input.setAttribute("aria-valuetext", String(get()));
      });
      const sizes = this.sizes();
      const padding = Math.min(sizes.padding, sizes.src_len - 1);
      this.boxes.forEach(({ element, shape }, index) => {
        shape.textContent = written(STAGES[index].shape(sizes));
        element.setAttribute("aria-pressed", String(index === this.chosen));
        element.classList.toggle("is-done", index < this.chosen);
      });
      this.back.disabled = this.chosen === 0;
      this.next.disabled = this.chosen === STAGES.length - 1;
      const stage = STAGES[this.chosen];
      this.panel.replaceChildren(...this.explain(stage, sizes, padding));
      this.tell(`${this.chosen + 1} of ${STAGES.length}, ${stage.side}: ${stage.name}, ${written(stage.shape(sizes))}.`);
    }

    explain(stage, sizes, padding) {
      const facts = [["gives", written(stage.shape(sizes)), "shape"]];
      if (stage.keys) {
        facts.push(["weights", written([sizes.batch, sizes.num_heads, sizes[stage.queries], sizes[stage.keys]]), "weights"]);
      }
      if (stage.parameters) {
        facts.push(["parameters", stage.parameters(sizes).toLocaleString("en"), "parameters"]);
      }
      const list = make("dl", { class: "flow-facts" });
      facts.forEach(([name, value, id]) =>
        list.append(make("dt", {}, name), make("dd", { "data-fact": id }, value)),
      );
      const parts = [make("p", { class: "flow-text" }, stage.text), list];
      if (stage.keys) parts.push(...this.mask(stage, sizes, padding));
      return parts;
    }

    /** The mask: a row for each query, a column for each key. */
    mask(stage, sizes, padding) {
      const rows = sizes[stage.queries];
      const columns = sizes[stage.keys];
      const svg = makeSvg("svg", {
        viewBox: `0 0 ${columns * CELL} ${rows * CELL}`, width: columns * CELL, height: rows * CELL, "aria-hidden": "true",
      });
      let open = 0;
      for (let i = 0; i < rows; i += 1) {
        for (let j = 0; j < columns; j += 1) {
          const seen = visible(stage, sizes, padding, i, j);
          open += seen;
          svg.append(
            makeSvg("rect", {
              class: seen ? "flow-cell" : "flow-cell flow-cell--hidden",
              x: j * CELL + 1, y: i * CELL + 1, width: CELL - 2, height: CELL - 2, rx: 3,
            }),
          );
        }
      }
      const says = `A row for each query, a column for each key: ${open} of ${rows * columns} may be seen.`;
      return [make("p", { class: "flow-mask-says" }, says), svg];
    }

    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => (this.summary.textContent = sentence), PAUSE);
      if (!this.summary.textContent) this.summary.textContent = sentence;
    }
  }

  window.courseFigures = window.courseFigures || {};
  window.courseFigures["transformer-flow"] = {
    render({ model, el }) {
      new TransformerFlow(model, el);
    },
  };
})();
