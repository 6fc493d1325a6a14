/* A language model that a reader trained, from the file that course_lib's training/export.py
 * wrote.
 *
 * readDecoderLM(text) -> { config, words, parameters, sentences, count }: sentences as { read, logits }, ids
 * and the logits after the last of them; see file-checks.js.
 */
(function () {
  "use strict";

  const { need, isObject, isWhole, isListOf, isRowOf, parse, checkSizes, checkWords, readParameters, Shapes } = window.courseFileChecks;
  const FORMAT = "course language model, version 1";
  const MOST = { vocab_size: 20_000, max_length: 1024, d_model: 512, num_heads: 32, d_ff: 4096, num_layers: 12 };
  const MOST_SENTENCES = 100;
  const MOST_WORDS = 200; // of a text

  function checkConfig(config) {
    checkSizes(config, MOST);
    need(config.d_model % config.num_heads === 0, "Its heads must divide its d_model.");
    ["start", "end"].forEach((name) => need(isWhole(config[name], 0, config.vocab_size - 1), `Its ${name} must be one of its words.`));
    need(config.max_length > 1, "Its max_length must be a whole number from 2.");
  }

  /** The shape of each parameter that a decoder of these sizes has. */
  function decoderShapes({ vocab_size: size, max_length: length, d_model: wide, ...config }) {
    const shapes = new Shapes(wide, { "embedding.weight": [size, wide], "positions.weight": [length, wide], "output_projection.weight": [size, wide] });
    for (let l = 0; l < config.num_layers; l += 1) {
      shapes.attention(`layers.${l}`, "self_attention", "attention_residual");
      shapes.feedForward(`layers.${l}`, config.d_ff);
    }
    shapes.norm("norm");
    return shapes.all;
  }

  function checkSentences(sentences, { vocab_size: size, max_length: longest }) {
    const isRun = (run) => isObject(run) && isListOf(run.read, Math.min(MOST_WORDS, longest), (id) => isWhole(id, 0, size - 1)) && isRowOf(run.logits, size);
    need(isListOf(sentences, MOST_SENTENCES, isRun), "Its texts, or the model\u2019s outputs for them, are damaged.");
  }

  function readDecoderLM(text) {
    const file = parse(text);
    need(isObject(file) && file.format === FORMAT, "It is no language model of this course. Open the file that the last cell of homework 6 writes.");
    const { config, words, sentences } = file;
    checkConfig(config);
    checkWords(words, config.vocab_size, []);
    checkSentences(sentences, config);
    const isTied = (name) => name === "output_projection.weight";
    return { config, words, sentences, ...readParameters(file.parameters, decoderShapes(config), isTied) };
  }

  /** The largest difference of the page's logits from the file's, which the reader's code computed. */
  function decoderGap({ config, parameters, sentences }) {
    const model = new window.courseEngine.DecoderLM(parameters, config.num_heads);
    return Math.max(...sentences.map(({ read, logits }) => {
      const here = model.read(read).logits;
      return Math.max(...logits.map((value, i) => Math.abs(value - here[i])));
    }));
  }

  Object.assign(window.courseEngine, { readDecoderLM, decoderShapes, decoderGap });
})();
