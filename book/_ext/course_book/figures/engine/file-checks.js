/* Checks of a model's file that a reader opens, as course_lib's training/ wrote it. Anyone may have written
 * it, so all of it is checked, sizes first; a fault is thrown as an Error in words for the reader.
 */
(function () {
  "use strict";

  const { unpack } = window.courseEngine;
  const MOST_NUMBERS = 2_000_000;
  const LARGEST = 1e6; // of a parameter's size: sums of its products stay finite
  const MOST_LETTERS = 60; // of a word

  function need(holds, complaint) {
    if (!holds) throw new Error(complaint);
  }

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
  const isListOf = (value, most, holds) => Array.isArray(value) && value.length >= 1 && value.length <= most && value.every(holds);
  const isRowOf = (value, size) => Array.isArray(value) && value.length === size && value.every(Number.isFinite);

  function parse(text) {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error("It is no JSON, or its end is missing. Was it written to the end? Run the last cell of the notebook again.");
    }
  }

  /** Check that sizes are whole numbers from 1 to the maximum that `most` gives for each. */
  function checkSizes(config, most) {
    need(isObject(config), "It does not say how large the model is.");
    Object.entries(most).forEach(([name, limit]) =>
      need(isWhole(config[name], 1, limit), `Its ${name} must be a whole number from 1 to ${limit}.`));
  }

  /** Check a vocabulary; `name` is its name in messages. */
  function checkWords(words, size, marks, name = "vocabulary") {
    const isWord = (word) => typeof word === "string" && word.length >= 1 && word.length <= MOST_LETTERS;
    need(isListOf(words, size, isWord) && words.length === size, `Its ${name} must be ${size} words of at most ${MOST_LETTERS} letters.`);
    need(new Set(words).size === size, `Its ${name} holds a word twice.`);
    need(marks.every((mark) => words.includes(mark)), `Its ${name} must hold ${marks.join(" and ")}.`);
  }

  /** Check parameters against the shapes that the model has, and read them as matrices; some may be missing. */
  function readParameters(parameters, expected, mayMiss = () => false) {
    need(isObject(parameters) && isObject(parameters.shapes) && typeof parameters.float32 === "string", "Its parameters are missing.");
    const { shapes, float32 } = parameters;
    const surplus = Object.keys(shapes).find((name) => !Object.hasOwn(expected, name));
    need(surplus === undefined, `It holds a parameter that this Transformer has not: \u201c${String(surplus).slice(0, MOST_LETTERS)}\u201d.`);
    let count = 0;
    Object.entries(expected).forEach(([name, shape]) => {
      if (!Object.hasOwn(shapes, name) && mayMiss(name)) return;
      need(Object.hasOwn(shapes, name), `Its parameter ${name} is missing.`);
      const same = Array.isArray(shapes[name]) && shapes[name].length === shape.length && shape.every((size, i) => size === shapes[name][i]);
      need(same, `Its parameter ${name} must have the shape ${shape.join(" \u00D7 ")}.`);
      count += shape.reduce((product, size) => product * size, 1);
    });
    need(count <= MOST_NUMBERS, `It holds ${count.toLocaleString("en")} numbers; ${MOST_NUMBERS.toLocaleString("en")} are the most that this page takes.`);
    const letters = 4 * Math.ceil((4 * count) / 3);
    need(float32.length === letters && /^[A-Za-z0-9+/]*={0,2}$/.test(float32), `Its numbers are cut off or damaged: ${count.toLocaleString("en")} were expected.`);
    const read = unpack(parameters);
    const sound = Object.values(read).every(({ data }) => data.every((value) => Math.abs(value) <= LARGEST));
    need(sound, "Some of its numbers are infinite, undefined or far too large: the training went astray.");
    return { parameters: read, count };
  }

  /** Shapes that grow part by part: `linear` and `norm` add those of a layer. */
  class Shapes {
    constructor(wide, tables) {
      Object.assign(this, { wide, all: { ...tables } });
    }

    linear(name, to, from) {
      Object.assign(this.all, { [`${name}.weight`]: [to, from], [`${name}.bias`]: [to] });
    }

    norm(name) {
      Object.assign(this.all, { [`${name}.weight`]: [this.wide], [`${name}.bias`]: [this.wide] });
    }

    /** An attention layer in its residual connection. */
    attention(layer, attention, residual) {
      ["query", "key", "value", "output"].forEach((role) => this.linear(`${layer}.${attention}.${role}_projection`, this.wide, this.wide));
      this.norm(`${layer}.${residual}.norm`);
    }

    /** A feed-forward layer in its residual connection. */
    feedForward(layer, inner) {
      this.linear(`${layer}.feed_forward.up_projection`, inner, this.wide);
      this.linear(`${layer}.feed_forward.down_projection`, this.wide, inner);
      this.norm(`${layer}.feed_forward_residual.norm`);
    }
  }

  window.courseFileChecks = { need, isObject, isWhole, isListOf, isRowOf, parse, checkSizes, checkWords, readParameters, Shapes };
})();
