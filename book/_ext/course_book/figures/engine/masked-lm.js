/* course_lib's BERT under the head that guesses words: learned positions, layers with GELU.
 *
 * new MaskedLM(config, parameters); config: { num_heads, norm_position, causal, eps_embeddings, eps_layers,
 * eps_head }. read(tokens) -> { logits, weights }: logits, a matrix with a row for each place;
 * weights[layer][head], a matrix with a row for each place that asks. With causal each place sees
 * itself and the places to its left alone.
 */
(function () {
  "use strict";

  const { Matrix, add, linear, normalise, attendByHeads } = window.courseEngine;
  const FAR = 6; // beyond it the error function is 1, to the last digit

  /** The error function, by a series whose terms are all of one sign: nothing cancels. */
  function erf(x) {
    if (Math.abs(x) > FAR) return Math.sign(x);
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  /** GELU, exact. */
  function exactGelu(x) {
    return new Matrix(x.rows, x.cols, x.data.map((value) => 0.5 * value * (1 + erf(value / Math.SQRT2))));
  }

  class MaskedLM {
    constructor(config, parameters) {
      Object.assign(this, { config, parameters });
    }

    project(name, x) {
      return linear(x, this.parameters[`${name}.weight`], this.parameters[`${name}.bias`]);
    }

    norm(name, x, epsilon) {
      return normalise(x, this.parameters[`${name}.weight`], this.parameters[`${name}.bias`], epsilon);
    }

    read(tokens) {
      let x = this.embed(tokens);
      const weights = [];
      for (let l = 0; `encoder.layers.${l}.feed_forward.up_projection.weight` in this.parameters; l += 1) {
        const layer = `encoder.layers.${l}`;
        x = this.residual(`${layer}.attention_residual`, x, (y) => this.attend(`${layer}.self_attention`, y, weights));
        x = this.residual(`${layer}.feed_forward_residual`, x, (y) => this.think(`${layer}.feed_forward`, y));
      }
      if (this.config.norm_position === "pre") x = this.norm("encoder.norm", x, this.config.eps_layers);
      return { logits: this.guess(x), weights };
    }

    /** Embeddings of tokens, of positions and of the first segment, added and normalised. */
    embed(tokens) {
      const [words, segments, places] = ["tokens", "segments", "positions"].map((name) => this.parameters[`embeddings.${name}.weight`]);
      const named = Matrix.of(tokens.map((token) => words.row(token)));
      const placed = Matrix.of(tokens.map((_, i) => places.row(i).map((value, d) => value + segments.row(0)[d])));
      return this.norm("embeddings.norm", add(named, placed), this.config.eps_embeddings);
    }

    residual(name, x, sublayer) {
      const normed = (y) => this.norm(`${name}.norm`, y, this.config.eps_layers);
      return this.config.norm_position === "pre" ? add(x, sublayer(normed(x))) : normed(add(x, sublayer(x)));
    }

    attend(name, x, kept) {
      const [queries, keys, values] = ["query", "key", "value"].map((role) => this.project(`${name}.${role}_projection`, x));
      const { weights, joined } = attendByHeads({ queries, keys, values }, {
        heads: this.config.num_heads, may: (i, j) => !this.config.causal || j <= i, scaled: true, silent: () => false,
      });
      kept.push(weights);
      return this.project(`${name}.output_projection`, joined);
    }

    think(name, x) {
      return this.project(`${name}.down_projection`, exactGelu(this.project(`${name}.up_projection`, x)));
    }

    /** Logits: one more layer, then the product of each vector with every token's embedding. */
    guess(x) {
      const ready = this.norm("head.norm", exactGelu(this.project("head.projection", x)), this.config.eps_head);
      return linear(ready, this.parameters["embeddings.tokens.weight"], this.parameters["head.output_projection.bias"]);
    }
  }

  Object.assign(window.courseEngine, { MaskedLM, erf });
})();
