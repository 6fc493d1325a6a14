/* The parts that can be switched off for the whole model, each with its lesson and its chapter. */
(function () {
  "use strict";

  const { make } = window.courseElements;

  const isSublayer = ({ kind }) => kind === "attention" || kind === "feed-forward";

  /** Each: its name (off: its name in the drawing when it is off), and the stages that it touches (within). */
  const OPERATIONS = [
    {
      cut: "scale", name: "scaling of scores", off: "scale", within: ({ kind }) => kind === "attention", page: "self-attention", chapter: "Self-attention",
      says: "Scores are no longer divided by the root of a head\u2019s width. They grow, the softmax nearly picks a single word, and a mixture becomes a choice.",
    },
    {
      cut: "positions", name: "positions", off: "positions", within: ({ kind }) => kind === "embedding", page: "positional-encoding", chapter: "Positional encoding",
      says: "Without positions attention sees a bag of words: it can\u2019t tell who sees whom, nor which word comes next.",
    },
    {
      cut: "causal_mask", name: "causal mask", off: "mask", within: ({ kind, side, cross }) => kind === "attention" && side === "decoder" && !cross, page: "masking", chapter: "Masking",
      says: "Words already written now look at words written after them. The newest has nothing to see ahead, but the earlier ones now pass on vectors that never occurred in training.",
    },
    {
      cut: "cross_attention", name: "cross-attention", off: "heads", within: ({ cross }) => cross, page: "transformer", chapter: "The Transformer",
      says: "Now translate a sentence that has nothing in common with this one, and compare the outputs. What did cross-attention bring to the decoder?",
    },
    {
      cut: "residuals", name: "residual paths", off: "residual", within: isSublayer, page: "residual-connections", chapter: "Residual connections",
      says: "Nothing carries a word past a sublayer any more: what attention and feed-forward say is all that is left, and they were trained to add to a residual stream, not to be it.",
    },
    {
      cut: "norms", name: "norms", off: "norm", within: isSublayer, page: "layer-normalization", chapter: "Layer normalisation",
      says: "No vector is brought to a common size before it is read. Each sublayer gets numbers of another size than it was trained on, and they grow from layer to layer.",
    },
  ];
  const PART = {
    heads: { page: "multi-head-attention", chapter: "Multi-head attention", says: "One head says nothing. Often the others make up for it; where they can\u2019t, you have found its purpose." },
    norm: { page: "layer-normalization", chapter: "Layer normalisation", says: "One norm is left out: this sublayer alone reads numbers of another size." },
    residual: { page: "residual-connections", chapter: "Residual connections", says: "One residual path is cut: past this sublayer only its own output is left of a word." },
  };

  function explanation(cut) {
    const whole = OPERATIONS.find((operation) => operation.cut === cut);
    if (whole) return whole;
    if (cut.includes(".heads.")) return PART.heads;
    return cut.endsWith(".norm") ? PART.norm : PART.residual;
  }

  /** A sentence for each kind of thing that is switched off, with a link to its chapter. */
  function explain(cuts) {
    return [...new Set([...cuts].map(explanation))].map(({ says, page, chapter }) =>
      make("p", { class: "living-why" }, `${says} `, make("a", { href: `${page}.html` }, `${chapter} explains why.`)));
  }

  /** The parts of a stage that are switched off, as its row in the drawing names them: "head 2", "norm". */
  function partsOff(stage, cuts) {
    const everywhere = OPERATIONS.filter(({ cut, within }) => cuts.has(cut) && within(stage)).map(({ off }) => off);
    const heads = `${stage.attention}.heads.`;
    const here = [...cuts].flatMap((cut) => {
      if (cut.startsWith(heads)) return [`head ${Number(cut.slice(heads.length)) + 1}`];
      return { [stage.id]: ["residual"], [`${stage.id}.norm`]: ["norm"] }[cut] ?? [];
    });
    return [...new Set([...everywhere, ...here])];
  }

  Object.assign(window.courseLiving, { OPERATIONS, explain, partsOff });
})();
