/* A translator that a reader trained, from the file that course_lib's training/export.py wrote.
 *
 * readTranslator(text) -> { config, words, parameters, sentences, count }: parameters as matrices,
 * sentences as { src, read, logits }, count of numbers. A fault of the file is thrown as an Error in words
 * for the reader; see file-checks.js.
 */
(function () {
  "use strict";

  const { need, isObject, isWhole, isListOf, isRowOf, parse, checkSizes, checkWords, readParameters, Shapes } = window.courseFileChecks;
  const FORMAT = "course translator, version 1";
  const MOST = { src_vocab_size: 20_000, tgt_vocab_size: 20_000, d_model: 512, num_heads: 32, d_ff: 4096, num_encoder_layers: 12, num_decoder_layers: 12 };
  const MOST_SENTENCES = 100;
  const MOST_WORDS = 40; // of a sentence

  function checkConfig(config) {
    checkSizes(config, MOST);
    need(config.d_model % config.num_heads === 0 && config.d_model % 2 === 0, "Its d_model must be even, and its heads must divide it.");
    need(["pre", "post"].includes(config.norm_position), "Its norm_position must be \u201cpre\u201d or \u201cpost\u201d.");
    need(config.positions === "sinusoidal" && config.activation === "relu", "This page knows sinusoidal positions and ReLU alone.");
  }

  /** The shape of each parameter that a Transformer of these sizes has. */
  function shapesOf({ d_model: wide, d_ff: inner, src_vocab_size: src, tgt_vocab_size: tgt, ...config }) {
    const shapes = new Shapes(wide, { "src_embedding.weight": [src, wide], "tgt_embedding.weight": [tgt, wide], "output_projection.weight": [tgt, wide] });
    const stacks = {
      encoder: { layers: config.num_encoder_layers, attentions: { self_attention: "attention_residual" } },
      decoder: {
        layers: config.num_decoder_layers,
        attentions: { self_attention: "self_attention_residual", cross_attention: "cross_attention_residual" },
      },
    };
    Object.entries(stacks).forEach(([side, { layers, attentions }]) => {
      for (let l = 0; l < layers; l += 1) {
        const layer = `${side}.layers.${l}`;
        Object.entries(attentions).forEach(([attention, residual]) => shapes.attention(layer, attention, residual));
        shapes.feedForward(layer, inner);
      }
      if (config.norm_position === "pre") shapes.norm(`${side}.norm`);
    });
    return shapes.all;
  }

  /** The parameters that may be missing: those tied to the target's embedding. */
  const TIED = ["output_projection.weight", "src_embedding.weight"];

  function checkSentences(sentences, config) {
    const isId = (size) => (id) => isWhole(id, 0, size - 1);
    const isRun = (run) => isObject(run) && isListOf(run.src, MOST_WORDS, isId(config.src_vocab_size)) &&
      isListOf(run.read, MOST_WORDS, isId(config.tgt_vocab_size)) &&
      isListOf(run.logits, MOST_WORDS, (row) => isRowOf(row, config.tgt_vocab_size)) && run.logits.length === run.read.length;
    need(isListOf(sentences, MOST_SENTENCES, isRun), "Its sentences, or the model\u2019s outputs for them, are damaged.");
  }

  function readTranslator(text) {
    const file = parse(text);
    need(isObject(file) && file.format === FORMAT, "It is no translator of this course. Open the file that the last cell of homework 5 writes.");
    const { config, words, sentences } = file;
    checkConfig(config);
    need(isObject(words), "Its vocabularies are missing.");
    checkWords(words.src, config.src_vocab_size, ["<end>"], "source vocabulary");
    checkWords(words.tgt, config.tgt_vocab_size, ["<start>", "<end>"], "target vocabulary");
    const sameWords = config.src_vocab_size === config.tgt_vocab_size;
    const mayMiss = (name) => TIED.includes(name) && (name !== "src_embedding.weight" || sameWords);
    checkSentences(sentences, config);
    return { config, words, sentences, ...readParameters(file.parameters, shapesOf(config), mayMiss) };
  }

  /** The largest difference of the page's logits from the file's, which the reader's code computed. */
  function largestGap({ config, parameters, sentences }) {
    const model = new window.courseEngine.Transformer(config, parameters);
    return Math.max(...sentences.map(({ src, read, logits }) => {
      const here = model.decode(read, model.encode(src).encoder).output_projection;
      return Math.max(...logits.map((row, i) => Math.max(...row.map((value, j) => Math.abs(value - here.row(i)[j])))));
    }));
  }

  Object.assign(window.courseEngine, { readTranslator, shapesOf, largestGap });
})();
