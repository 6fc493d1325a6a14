/* course_lib's Transformer: encoder and decoder, pre-norm or post-norm, sinusoidal positions, ReLU.
 *
 * new Transformer(config, parameters, cuts): cuts is a Set of names of the parts that are switched off:
 *   scale, positions, causal_mask, cross_attention; residuals, norms (all of them), or one of them
 *   by its path (decoder.layers.0.cross_attention_residual, ....norm); a head by its attention's
 *   path and its number (decoder.layers.1.cross_attention.heads.2).
 *
 * encode(ids), decode(ids, memory) -> a trace: matrices by the paths that the modules have in
 * course_lib, in the order in which they are computed. An attention's path is its output; below it
 * are query_projection, key_projection, value_projection, output_projection, joined, and arrays with
 * a matrix for each head: scores, weights, outputs.
 */
(function () {
  "use strict";

  const { Matrix, linear, add, rectify, normalise, attendByHeads } = window.courseEngine;
  const ANYTHING = () => true;
  const NOT_AHEAD = (i, j) => j <= i;

  /** The vectors of the first positions: sine, cosine, sine, cosine, each pair slower. */
  function sinusoids(length, width) {
    return Matrix.of(Array.from({ length }, (_, t) =>
      Float64Array.from({ length: width }, (__, i) => {
        const angle = t / 10000 ** ((i - (i % 2)) / width);
        return i % 2 ? Math.cos(angle) : Math.sin(angle);
      })));
  }

  class Transformer {
    constructor(config, parameters, cuts = new Set()) {
      if (config.positions !== "sinusoidal" || config.activation !== "relu") {
        throw new Error(`no such Transformer here: ${config.positions}, ${config.activation}`);
      }
      Object.assign(this, { config, parameters, cuts });
    }

    /** Read a source: a trace, the memory under "encoder". */
    encode(ids) {
      const trace = {};
      let x = this.embed(trace, "src", ids);
      for (let l = 0; l < this.config.num_encoder_layers; l += 1) {
        const layer = `encoder.layers.${l}`;
        x = this.residual(trace, `${layer}.attention_residual`, x, (y) =>
          this.attention(trace, `${layer}.self_attention`, y, y, ANYTHING));
        x = this.residual(trace, `${layer}.feed_forward_residual`, x, (y) =>
          this.feedForward(trace, `${layer}.feed_forward`, y));
        trace[layer] = x;
      }
      this.finish(trace, "encoder", x);
      return trace;
    }

    /** Read a target so far: a trace, the logits under "output_projection". */
    decode(ids, memory) {
      const trace = {};
      const may = this.cuts.has("causal_mask") ? ANYTHING : NOT_AHEAD;
      let x = this.embed(trace, "tgt", ids);
      for (let l = 0; l < this.config.num_decoder_layers; l += 1) {
        const layer = `decoder.layers.${l}`;
        x = this.residual(trace, `${layer}.self_attention_residual`, x, (y) =>
          this.attention(trace, `${layer}.self_attention`, y, y, may));
        x = this.residual(trace, `${layer}.cross_attention_residual`, x, (y) =>
          this.crossAttention(trace, `${layer}.cross_attention`, y, memory));
        x = this.residual(trace, `${layer}.feed_forward_residual`, x, (y) =>
          this.feedForward(trace, `${layer}.feed_forward`, y));
        trace[layer] = x;
      }
      const said = this.finish(trace, "decoder", x);
      trace.output_projection = this.project("output_projection", said);
      return trace;
    }

    /** The parameter of a name; one tied to the target's embedding has no copy of its own. */
    parameter(name) {
      return this.parameters[name] ?? this.parameters["tgt_embedding.weight"];
    }

    embed(trace, side, ids) {
      const table = this.parameter(`${side}_embedding.weight`);
      const scale = Math.sqrt(table.cols);
      const x = Matrix.of(ids.map((id) => table.row(id).map((value) => value * scale)));
      trace[`${side}_embedding`] = x;
      const placed = this.cuts.has("positions") ? x : add(x, sinusoids(x.rows, x.cols));
      trace[`${side}_positions`] = placed;
      return placed;
    }

    project(name, x) {
      return linear(x, this.parameter(`${name}.weight`), this.parameters[`${name}.bias`]);
    }

    norm(trace, name, x) {
      const off = this.cuts.has("norms") || this.cuts.has(name);
      const normed = off ? x : normalise(x, this.parameter(`${name}.weight`), this.parameter(`${name}.bias`));
      trace[name] = normed;
      return normed;
    }

    residual(trace, name, x, sublayer) {
      const off = this.cuts.has("residuals") || this.cuts.has(name);
      const join = (said) => (off ? said : add(x, said));
      const pre = this.config.norm_position === "pre";
      trace[name] = pre
        ? join(sublayer(this.norm(trace, `${name}.norm`, x)))
        : this.norm(trace, `${name}.norm`, join(sublayer(x)));
      return trace[name];
    }

    attention(trace, name, x, source, may) {
      const [queries, keys, values] = [["query", x], ["key", source], ["value", source]].map(
        ([role, from]) => (trace[`${name}.${role}_projection`] = this.project(`${name}.${role}_projection`, from)),
      );
      const found = attendByHeads({ queries, keys, values }, {
        heads: this.config.num_heads,
        may,
        scaled: !this.cuts.has("scale"),
        silent: (head) => this.cuts.has(`${name}.heads.${head}`),
      });
      Object.entries(found).forEach(([part, value]) => (trace[`${name}.${part}`] = value));
      trace[`${name}.output_projection`] = this.project(`${name}.output_projection`, found.joined);
      trace[name] = trace[`${name}.output_projection`];
      return trace[name];
    }

    crossAttention(trace, name, x, memory) {
      const said = this.attention(trace, name, x, memory, ANYTHING);
      if (this.cuts.has("cross_attention")) trace[name] = new Matrix(said.rows, said.cols); // zeros
      return trace[name];
    }

    feedForward(trace, name, x) {
      trace[`${name}.up_projection`] = this.project(`${name}.up_projection`, x);
      trace[`${name}.inner`] = rectify(trace[`${name}.up_projection`]);
      trace[name] = trace[`${name}.down_projection`] = this.project(`${name}.down_projection`, trace[`${name}.inner`]);
      return trace[name];
    }

    /** The last norm, which pre-norm layers need. */
    finish(trace, name, x) {
      trace[name] = this.config.norm_position === "pre" ? this.norm(trace, `${name}.norm`, x) : x;
      return trace[name];
    }
  }

  window.courseEngine.Transformer = Transformer;
})();
