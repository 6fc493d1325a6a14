/* course_lib's DecoderLM with learned positions: a decoder alone, pre-norm, with GELU.
 *
 * new DecoderLM(parameters, heads); read(tokens, past) -> { logits, weights, past }: the logits after the
 * last token; weights[layer][head], a matrix with a row for each token read now; and what to hand to the
 * next reading, which then reads the new tokens alone: for each layer the keys and values so far. Nothing
 * is changed in place: a past may be read on from more than once.
 */
(function () {
  "use strict";

  const { Matrix, add, linear, normalise, attendByHeads } = window.courseEngine;
  const NOTHING = { length: 0, layers: [] };

  /** GELU, approximated with tanh, as in GPT-2. */
  function gelu(x) {
    return new Matrix(x.rows, x.cols, x.data.map((value) =>
      0.5 * value * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3)))));
  }

  function below(earlier, later) {
    return earlier ? Matrix.of([...earlier.map((row) => row), ...later.map((row) => row)]) : later;
  }

  class DecoderLM {
    constructor(parameters, heads) {
      Object.assign(this, { parameters, heads });
    }

    project(name, x) {
      return linear(x, this.parameters[`${name}.weight`], this.parameters[`${name}.bias`]);
    }

    norm(name, x) {
      return normalise(x, this.parameters[`${name}.weight`], this.parameters[`${name}.bias`]);
    }

    read(tokens, past = NOTHING) {
      const embedding = this.parameters["embedding.weight"];
      const places = this.parameters["positions.weight"];
      let x = add(Matrix.of(tokens.map((token) => embedding.row(token))),
        Matrix.of(tokens.map((_, i) => places.row(past.length + i))));
      const [layers, weights] = [[], []];
      for (let l = 0; `layers.${l}.feed_forward.up_projection.weight` in this.parameters; l += 1) {
        const found = this.attend(`layers.${l}`, x, past.layers[l]);
        x = this.think(`layers.${l}`, add(x, found.said));
        layers.push(found.kept);
        weights.push(found.weights);
      }
      const last = this.norm("norm", Matrix.of([x.row(x.rows - 1)]));
      const logits = linear(last, this.parameters["output_projection.weight"] ?? embedding).row(0);
      return { logits, weights, past: { length: past.length + tokens.length, layers } };
    }

    /** Self-attention of new tokens, to themselves and to the cached keys and values of those before. */
    attend(layer, x, kept) {
      const normed = this.norm(`${layer}.attention_residual.norm`, x);
      const [queries, newKeys, newValues] = ["query", "key", "value"].map((role) =>
        this.project(`${layer}.self_attention.${role}_projection`, normed));
      const [keys, values] = [below(kept?.keys, newKeys), below(kept?.values, newValues)];
      const before = keys.rows - x.rows;
      const { weights, joined } = attendByHeads({ queries, keys, values }, {
        heads: this.heads, may: (i, j) => j <= before + i, scaled: true, silent: () => false,
      });
      const said = this.project(`${layer}.self_attention.output_projection`, joined);
      return { said, weights, kept: { keys, values } };
    }

    think(layer, x) {
      const inner = gelu(this.project(`${layer}.feed_forward.up_projection`, this.norm(`${layer}.feed_forward_residual.norm`, x)));
      return add(x, this.project(`${layer}.feed_forward.down_projection`, inner));
    }
  }

  /** The bytes of the cached keys and values of all layers. */
  function pastBytes({ layers }) {
    return layers.reduce((sum, { keys, values }) => sum + keys.data.byteLength + values.data.byteLength, 0);
  }

  Object.assign(window.courseEngine, { DecoderLM, pastBytes });
})();
