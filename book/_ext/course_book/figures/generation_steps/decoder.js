/* A decoder-only language model, read with plain arithmetic: course_lib's DecoderLM with learned
 * positions, from its weights.
 *
 * courseDecoder.read(model, tokens) -> { next, weights }: the probability of each token after the
 * last one, and weights[layer][head][i][j], how much token i attends to token j <= i.
 */
(function () {
  "use strict";

  const { dot, softmax } = window.courseArithmetic;
  const EPSILON = 1e-5;

  const add = (a, b) => a.map((value, i) => value + b[i]);

  function normalise(x, weight, bias) {
    const mean = x.reduce((a, b) => a + b, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    return x.map((value, i) => ((value - mean) / Math.sqrt(variance + EPSILON)) * weight[i] + bias[i]);
  }

  /** GELU, approximated with tanh, as in GPT-2. */
  function gelu(x) {
    return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  }

  function read({ weights, num_heads: heads }, tokens) {
    const linear = (name, x) =>
      weights[`${name}.weight`].map((row, i) => dot(row, x) + weights[`${name}.bias`][i]);
    const norm = (name, x) => normalise(x, weights[`${name}.weight`], weights[`${name}.bias`]);
    const embedding = weights["embedding.weight"];
    const wide = embedding[0].length / heads;

    function attend(name, rows) {
      const parts = ["query", "key", "value"].map((part) =>
        rows.map((x) => linear(`${name}.${part}_projection`, x)),
      );
      const cut = (x, head) => x.slice(head * wide, (head + 1) * wide);
      const seen = Array.from({ length: heads }, (_, head) => {
        const [queries, keys] = parts.map((vectors) => vectors.map((x) => cut(x, head)));
        return queries.map((query, i) =>
          softmax(keys.slice(0, i + 1).map((key) => dot(query, key) / Math.sqrt(wide))),
        );
      });
      const out = rows.map((_, i) => {
        const joined = seen.flatMap((alpha, head) => {
          const values = parts[2].slice(0, i + 1).map((x) => cut(x, head));
          return Array.from({ length: wide }, (__, d) => dot(alpha[i], values.map((v) => v[d])));
        });
        return linear(`${name}.output_projection`, joined);
      });
      return { out, seen };
    }

    function think(name, x) {
      return linear(`${name}.down_projection`, linear(`${name}.up_projection`, x).map(gelu));
    }

    let stream = tokens.map((token, i) => add(embedding[token], weights["positions.weight"][i]));
    const all = [];
    for (let layer = `layers.0`; `${layer}.feed_forward.up_projection.weight` in weights; layer = `layers.${all.length}`) {
      const normed = stream.map((x) => norm(`${layer}.attention_residual.norm`, x));
      const { out, seen } = attend(`${layer}.self_attention`, normed);
      stream = stream.map((x, i) => add(x, out[i]));
      stream = stream.map((x) =>
        add(x, think(`${layer}.feed_forward`, norm(`${layer}.feed_forward_residual.norm`, x))),
      );
      all.push(seen);
    }
    const last = norm("norm", stream[stream.length - 1]);
    return { next: softmax(embedding.map((row) => dot(row, last))), weights: all };
  }

  window.courseDecoder = { read };
})();
