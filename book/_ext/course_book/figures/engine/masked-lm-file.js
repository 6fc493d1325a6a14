/* A BERT that a reader trained, from the file that course_lib's training/export.py wrote.
 *
 * readMaskedLM(text) -> { config, words, parameters, sentences, count }: sentences as { read, logits }, ids
 * and a row of logits for each place; see file-checks.js.
 */
(function () {
  "use strict";

  const { need, isObject, isWhole, isListOf, isRowOf, parse, checkSizes, checkWords, readParameters, Shapes } = window.courseFileChecks;
  const FORMAT = "course masked language model, version 1";
  const MOST = { vocab_size: 20_000, max_length: 1024, num_segments: 8, d_model: 512, num_heads: 32, d_ff: 4096, num_layers: 12 };
  const EPSILONS = ["eps_embeddings", "eps_layers", "eps_head"];
  const MARKS = ["[CLS]", "[SEP]", "[MASK]"];
  const MOST_SENTENCES = 100;
  const MOST_WORDS = 40; // of a sentence

  function checkConfig(config) {
    checkSizes(config, MOST);
    need(config.d_model % config.num_heads === 0, "Its heads must divide its d_model.");
    need(["pre", "post"].includes(config.norm_position), "Its norm_position must be \u201cpre\u201d or \u201cpost\u201d.");
    need(config.causal === false, "A BERT sees both sides: its causal must be false.");
    EPSILONS.forEach((name) => need(Number.isFinite(config[name]) && config[name] > 0 && config[name] < 1, `Its ${name} must be a number from 0 to 1.`));
  }

  /** The shape of each parameter that a BERT of these sizes has, its output tied to its embedding. */
  function maskedShapes({ vocab_size: size, max_length: length, num_segments: segments, d_model: wide, ...config }) {
    const shapes = new Shapes(wide, {
      "embeddings.tokens.weight": [size, wide], "embeddings.segments.weight": [segments, wide],
      "embeddings.positions.weight": [length, wide], "head.output_projection.bias": [size],
    });
    ["embeddings.norm", "head.norm"].forEach((name) => shapes.norm(name));
    shapes.linear("head.projection", wide, wide);
    for (let l = 0; l < config.num_layers; l += 1) {
      shapes.attention(`encoder.layers.${l}`, "self_attention", "attention_residual");
      shapes.feedForward(`encoder.layers.${l}`, config.d_ff);
    }
    if (config.norm_position === "pre") shapes.norm("encoder.norm");
    return shapes.all;
  }

  function checkSentences(sentences, { vocab_size: size, max_length: longest }) {
    const most = Math.min(MOST_WORDS, longest);
    const isRun = (run) => isObject(run) && isListOf(run.read, most, (id) => isWhole(id, 0, size - 1)) &&
      isListOf(run.logits, most, (row) => isRowOf(row, size)) && run.logits.length === run.read.length;
    need(isListOf(sentences, MOST_SENTENCES, isRun), "Its sentences, or the model\u2019s outputs for them, are damaged.");
  }

  function readMaskedLM(text) {
    const file = parse(text);
    need(isObject(file) && file.format === FORMAT, "It is no BERT of this course. Open the file that the last cell of homework 8 writes.");
    const { config, words, sentences } = file;
    checkConfig(config);
    checkWords(words, config.vocab_size, MARKS);
    checkSentences(sentences, config);
    return { config, words, sentences, ...readParameters(file.parameters, maskedShapes(config)) };
  }

  /** The largest difference of the page's logits from the file's, which the reader's code computed. */
  function maskedGap({ config, parameters, sentences }) {
    const model = new window.courseEngine.MaskedLM(config, parameters);
    return Math.max(...sentences.map(({ read, logits }) => {
      const here = model.read(read).logits;
      return Math.max(...logits.map((row, i) => Math.max(...row.map((value, j) => Math.abs(value - here.row(i)[j])))));
    }));
  }

  Object.assign(window.courseEngine, { readMaskedLM, maskedShapes, maskedGap });
})();
