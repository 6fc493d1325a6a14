/* course_lib's AttentionReader: embed, attend once, name a token.
 *
 * readThrough(parameters, tokens, heads) -> { weights, named, logits }: a matrix of weights for each
 * head, and for each place the token that it names.
 */
(function () {
  "use strict";

  const { Matrix, add, linear, attendByHeads } = window.courseEngine;

  function readThrough(parameters, tokens, heads) {
    const project = (name, x) => linear(x, parameters[`${name}.weight`], parameters[`${name}.bias`]);
    const words = Matrix.of(tokens.map((token) => parameters["token_embedding.weight"].row(token)));
    const places = Matrix.of(tokens.map((_, i) => parameters["position_embedding.weight"].row(i)));
    const x = add(words, places);
    const [queries, keys, values] = ["query", "key", "value"].map((role) => project(`attention.${role}_projection`, x));
    const { weights, joined } = attendByHeads({ queries, keys, values }, {
      heads, may: () => true, scaled: true, silent: () => false,
    });
    const logits = project("generator", project("attention.output_projection", joined));
    const named = logits.map((row) => row.indexOf(Math.max(...row)));
    return { weights, named, logits };
  }

  window.courseEngine.readThrough = readThrough;
})();
