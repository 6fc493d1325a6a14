/* The figure "transformer-flow": the Transformer, stage by stage, with the shape of everything.
 *
 * model: { sizes: { batch, src_len, tgt_len, d_model, num_heads, d_ff, tgt_vocab_size }, shapes,
 * weights, note }. The shapes of the run are for readers without scripts; here they follow from
 * the sizes, which the reader changes.
 */
(function () {
  "use strict";

  const { make, makeSvg, grouped } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const WIDTHS = [32, 64, 128, 256, 512];
  const HEADS = [1, 2, 4, 8];
  const LONGEST = 10;
  const CELL = 18;

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
      text: "The encoder hands over a vector for each source word, not one for the sentence. It is computed once, however long the translation gets.",
    },
    {
      id: "tgt", side: "decoder", row: "1", name: "target tokens so far",
      shape: (s) => [s.batch, s.tgt_len],
      text: "The start token and the words written so far. In training, the whole right answer, shifted by one.",
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
      text: "Which part of the source do I need now? The target asks, the memory answers: the only place where the two meet. Its weights are no square.",
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

  /** Whether query i may attend to key j; padding is at the end of the source. */
  function visible(stage, sizes, padding, i, j) {
    return stage.mask === "causal" ? j <= i : j < sizes.src_len - padding;
  }

  class TransformerFlow {
    constructor(model, el) {
      this.model = model;
      this.chosen = 0;
      const { sizes } = model;
      this.sliders = {
        src_len: this.slider("Source tokens", { min: 2, max: LONGEST, value: sizes.src_len }),
        tgt_len: this.slider("Target tokens", { min: 1, max: LONGEST, value: sizes.tgt_len }),
        padding: this.slider("of the source, padding", { max: 3, value: 0 }),
        d_model: this.slider("Width d_model", { values: WIDTHS, value: sizes.d_model }),
        num_heads: this.slider("Heads", { values: HEADS, value: sizes.num_heads }),
      };
      this.boxes = STAGES.map((stage, index) => this.box(stage, index));
      this.back = makeButton("Back", () => this.choose(this.chosen - 1));
      this.next = makeButton("Next stage", () => this.choose(this.chosen + 1));
      this.panel = make("div", { class: "flow-panel" });
      this.summary = new Summary();
      el.className = "flow";
      const [lengths, others] = [["src_len", "tgt_len"], ["padding", "d_model", "num_heads"]].map((names) =>
        make("div", { class: "course-sliders" }, ...names.map((name) => this.sliders[name].element)));
      el.append(
        lengths,
        make(
          "div",
          { class: "flow-diagram", role: "group", "aria-label": "Stages of the Transformer" },
          ...this.boxes.map(({ element }) => element),
        ),
        make(
          "div",
          { class: "flow-side" },
          make("div", { class: "course-pills" }, this.back, this.next),
          this.panel,
          make("details", {}, make("summary", {}, "Padding, width, heads"), others),
        ),
        this.summary.element,
      );
      this.update();
    }

    slider(name, range) {
      return new Slider(name, () => this.update(), range);
    }

    box(stage, index) {
      const shape = make("span", { class: "flow-shape" });
      const element = make(
        "button",
        { type: "button", class: `flow-box flow-box--${stage.side}`, "data-stage": stage.id, style: `grid-row: ${stage.row}` },
        make("span", { class: "flow-name" }, stage.name),
        make("span", { class: "flow-tokens", "aria-hidden": "true" }),
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
      Object.values(this.sliders).forEach((slider) => slider.show());
      const sizes = this.sizes();
      const padding = Math.min(sizes.padding, sizes.src_len - 1);
      this.boxes.forEach(({ element, shape }, index) => {
        shape.textContent = written(STAGES[index].shape(sizes));
        const count = sizes[STAGES[index].side === "encoder" ? "src_len" : "tgt_len"];
        shape.previousSibling.replaceChildren(...Array.from({ length: count }, () => make("span")));
        element.setAttribute("aria-pressed", String(index === this.chosen));
        element.classList.toggle("is-done", index < this.chosen);
      });
      this.back.disabled = this.chosen === 0;
      this.next.disabled = this.chosen === STAGES.length - 1;
      const stage = STAGES[this.chosen];
      this.panel.replaceChildren(...this.explain(stage, sizes, padding));
      this.summary.tell(`${this.chosen + 1} of ${STAGES.length}, ${stage.side}: ${stage.name}, ${written(stage.shape(sizes))}.`);
    }

    explain(stage, sizes, padding) {
      const facts = [["gives", written(stage.shape(sizes)), "shape"]];
      if (stage.keys) {
        facts.push(["weights", written([sizes.batch, sizes.num_heads, sizes[stage.queries], sizes[stage.keys]]), "weights"]);
      }
      if (stage.parameters) {
        facts.push(["parameters", grouped(stage.parameters(sizes)), "parameters"]);
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
  }

  window.courseFigures["transformer-flow"] = TransformerFlow;
})();
