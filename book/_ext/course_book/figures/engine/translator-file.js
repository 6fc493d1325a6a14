/* A translator that a reader trained, from the file that course_lib's training/export.py wrote.
 *
 * readTranslator(text) -> { config, words, parameters, sentences, count }: parameters as matrices,
 * sentences as { src, read, logits }, count of numbers. Anyone may have written the file, so all of it
 * is checked, sizes first; what is wrong with it is thrown as an Error in words for the reader.
 */
(function () {
  "use strict";

  const { unpack } = window.courseEngine;
  const FORMAT = "course translator, version 1";
  const MOST_NUMBERS = 2_000_000;
  const LARGEST = 1e6; // of a parameter's size: sums of its products stay finite
  const MOST = { src_vocab_size: 20_000, tgt_vocab_size: 20_000, d_model: 512, num_heads: 32, d_ff: 4096, num_encoder_layers: 12, num_decoder_layers: 12 };
  const MOST_LETTERS = 60; // of a word
  const MOST_SENTENCES = 100;
  const MOST_WORDS = 40; // of a sentence

  function need(holds, complaint) {
    if (!holds) throw new Error(complaint);
  }

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
  const isListOf = (value, most, holds) => Array.isArray(value) && value.length >= 1 && value.length <= most && value.every(holds);

  function parse(text) {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error("It is no JSON, or its end is missing. Was it written to the end? Run the last cell of the notebook again.");
    }
  }

  function checkConfig(config) {
    need(isObject(config), "It does not say how large the model is.");
    Object.entries(MOST).forEach(([name, most]) =>
      need(isWhole(config[name], 1, most), `Its ${name} must be a whole number from 1 to ${most}.`));
    need(config.d_model % config.num_heads === 0 && config.d_model % 2 === 0, "Its d_model must be even, and its heads must divide it.");
    need(["pre", "post"].includes(config.norm_position), "Its norm_position must be \u201cpre\u201d or \u201cpost\u201d.");
    need(config.positions === "sinusoidal" && config.activation === "relu", "This page knows sinusoidal positions and ReLU alone.");
  }

  function checkWords(words, size, marks, side) {
    const isWord = (word) => typeof word === "string" && word.length >= 1 && word.length <= MOST_LETTERS;
    need(isListOf(words, size, isWord) && words.length === size, `Its ${side} vocabulary must be ${size} words of at most ${MOST_LETTERS} letters.`);
    need(new Set(words).size === size, `Its ${side} vocabulary holds a word twice.`);
    need(marks.every((mark) => words.includes(mark)), `Its ${side} vocabulary must hold ${marks.join(" and ")}.`);
  }

  /** The shape of each parameter that a Transformer of these sizes has. */
  function shapesOf({ d_model: wide, d_ff: inner, src_vocab_size: src, tgt_vocab_size: tgt, ...config }) {
    const shapes = { "src_embedding.weight": [src, wide], "tgt_embedding.weight": [tgt, wide], "output_projection.weight": [tgt, wide] };
    const linear = (name, to, from) => Object.assign(shapes, { [`${name}.weight`]: [to, from], [`${name}.bias`]: [to] });
    const norm = (name) => Object.assign(shapes, { [`${name}.weight`]: [wide], [`${name}.bias`]: [wide] });
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
        Object.entries(attentions).forEach(([attention, residual]) => {
          ["query", "key", "value", "output"].forEach((role) => linear(`${layer}.${attention}.${role}_projection`, wide, wide));
          norm(`${layer}.${residual}.norm`);
        });
        linear(`${layer}.feed_forward.up_projection`, inner, wide);
        linear(`${layer}.feed_forward.down_projection`, wide, inner);
        norm(`${layer}.feed_forward_residual.norm`);
      }
      if (config.norm_position === "pre") norm(`${side}.norm`);
    });
    return shapes;
  }

  /** Which of them may be missing: what is tied to the target's embedding. */
  const TIED = ["output_projection.weight", "src_embedding.weight"];

  function checkParameters(parameters, config) {
    need(isObject(parameters) && isObject(parameters.shapes) && typeof parameters.float32 === "string", "Its parameters are missing.");
    const expected = new Map(Object.entries(shapesOf(config)));
    const { shapes, float32 } = parameters;
    const surplus = Object.keys(shapes).find((name) => !expected.has(name));
    need(surplus === undefined, `It holds a parameter that this Transformer has not: \u201c${String(surplus).slice(0, MOST_LETTERS)}\u201d.`);
    let count = 0;
    expected.forEach((shape, name) => {
      const tied = TIED.includes(name) && (name !== "src_embedding.weight" || config.src_vocab_size === config.tgt_vocab_size);
      if (!Object.hasOwn(shapes, name) && tied) return;
      need(Object.hasOwn(shapes, name), `Its parameter ${name} is missing.`);
      const same = Array.isArray(shapes[name]) && shapes[name].length === shape.length && shape.every((size, i) => size === shapes[name][i]);
      need(same, `Its parameter ${name} must have the shape ${shape.join(" \u00D7 ")}.`);
      count += shape.reduce((product, size) => product * size, 1);
    });
    need(count <= MOST_NUMBERS, `It holds ${count.toLocaleString("en")} numbers; ${MOST_NUMBERS.toLocaleString("en")} are the most that this page takes.`);
    const letters = 4 * Math.ceil((4 * count) / 3);
    need(float32.length === letters && /^[A-Za-z0-9+/]*={0,2}$/.test(float32), `Its numbers are cut off or damaged: ${count.toLocaleString("en")} were expected.`);
    return count;
  }

  function checkSentences(sentences, config) {
    const isId = (size) => (id) => isWhole(id, 0, size - 1);
    const isRow = (row) => Array.isArray(row) && row.length === config.tgt_vocab_size && row.every(Number.isFinite);
    const isRun = (run) => isObject(run) && isListOf(run.src, MOST_WORDS, isId(config.src_vocab_size)) &&
      isListOf(run.read, MOST_WORDS, isId(config.tgt_vocab_size)) &&
      isListOf(run.logits, MOST_WORDS, isRow) && run.logits.length === run.read.length;
    need(isListOf(sentences, MOST_SENTENCES, isRun), "Its sentences, or what the model made of them, are damaged.");
  }

  function readTranslator(text) {
    const file = parse(text);
    need(isObject(file) && file.format === FORMAT, "It is no translator of this course. Open the file that the last cell of homework 5 writes.");
    checkConfig(file.config);
    need(isObject(file.words), "Its vocabularies are missing.");
    checkWords(file.words.src, file.config.src_vocab_size, ["<end>"], "source");
    checkWords(file.words.tgt, file.config.tgt_vocab_size, ["<start>", "<end>"], "target");
    const count = checkParameters(file.parameters, file.config);
    checkSentences(file.sentences, file.config);
    const parameters = unpack(file.parameters);
    const sound = Object.values(parameters).every(({ data }) => data.every((value) => Math.abs(value) <= LARGEST));
    need(sound, "Some of its numbers are infinite, undefined or far too large: the training went astray.");
    return { config: file.config, words: file.words, parameters, sentences: file.sentences, count };
  }

  /** How far the page's logits are from those that the reader's own code computed, at most. */
  function largestGap({ config, parameters, sentences }) {
    const model = new window.courseEngine.Transformer(config, parameters);
    return Math.max(...sentences.map(({ src, read, logits }) => {
      const here = model.decode(read, model.encode(src).encoder).output_projection;
      return Math.max(...logits.map((row, i) => Math.max(...row.map((value, j) => Math.abs(value - here.row(i)[j])))));
    }));
  }

  Object.assign(window.courseEngine, { readTranslator, shapesOf, largestGap });
})();
