/* The stages of a Transformer in the order in which they are computed.
 *
 * A stage's id is the path of the matrix that it leaves behind. Its texts name the selected word.
 */
(function () {
  "use strict";

  const quoted = (word) => `\u201c${word}\u201d`;

  function embedding(side, name) {
    return {
      id: `${side}_positions`, side: name, kind: "embedding", label: "embedding", detail: "and position", short: "embedding and position", table: `${side}_embedding`,
      name: name === "encoder" ? "Source: embedding and positions" : "Target: embedding and positions",
      says: (word) => `${quoted(word)} is looked up in a table: its own row, the same wherever the word stands. A second vector, of sines and cosines, says where it stands. With their sum the word\u2019s residual stream begins.`,
    };
  }

  function attention(side, layer, sublayer, label, says) {
    const path = `${side}.layers.${layer}.${sublayer}_attention`;
    const residual = side === "encoder" ? "attention_residual" : `${sublayer}_attention_residual`;
    return {
      id: `${side}.layers.${layer}.${residual}`, side, kind: "attention", attention: path,
      cross: sublayer === "cross", label, detail: `layer ${layer + 1}`, short: `${label}, layer ${layer + 1}`, says,
      name: `${side[0].toUpperCase()}${side.slice(1)}, layer ${layer + 1}: ${label}`,
    };
  }

  function feedForward(side, layer) {
    return {
      id: `${side}.layers.${layer}.feed_forward_residual`, side, kind: "feed-forward",
      path: `${side}.layers.${layer}.feed_forward`, label: "feed-forward", detail: `layer ${layer + 1}`, short: `feed-forward, layer ${layer + 1}`,
      name: `${side[0].toUpperCase()}${side.slice(1)}, layer ${layer + 1}: feed-forward`,
      says: (word) => `Each word by itself: ${quoted(word)} is widened, negative numbers become 0, and the result is brought back and added to its residual stream.`,
    };
  }

  const LOOKS = {
    read: (word) => `${quoted(word)} asks every word of the source, ahead too, and takes in their answers.`,
    written: (word) => `${quoted(word)} asks the words written so far: itself and those before it. The mask hides the rest.`,
    cross: (word) => `${quoted(word)}, the last word written, asks every word of the source: what of you do I need now?`,
  };

  function encoderStages(config) {
    const layers = Array.from({ length: config.num_encoder_layers }, (_, l) => [
      attention("encoder", l, "self", "self-attention", LOOKS.read), feedForward("encoder", l),
    ]);
    const memory = {
      id: "encoder", side: "encoder", kind: "memory", label: "memory", short: "memory", name: "Memory",
      says: (word) => `The encoder hands over a vector for each source word. That of ${quoted(word)} knows its neighbours by now. It is computed once, however long the translation gets.`,
    };
    return [embedding("src", "encoder"), ...layers.flat(), memory];
  }

  function decoderStages(config) {
    const layers = Array.from({ length: config.num_decoder_layers }, (_, l) => [
      attention("decoder", l, "self", "self-attention", LOOKS.written),
      attention("decoder", l, "cross", "cross-attention", LOOKS.cross),
      feedForward("decoder", l),
    ]);
    const logits = {
      id: "decoder", side: "decoder", kind: "logits", label: "next word", short: "next word", name: "Logits: the next word",
      says: (word) => `The vector at ${quoted(word)} is multiplied with the vector of each French word. The largest product wins, and is written.`,
    };
    return [embedding("tgt", "decoder"), ...layers.flat(), logits];
  }

  Object.assign(window.courseLiving, { encoderStages, decoderStages });
})();
