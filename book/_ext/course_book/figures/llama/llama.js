/* Llama: a decoder with RMSNorm, rotary positions, grouped queries, a gated feed-forward layer and a cache.
 *
 * A Session holds a text, the cache of its keys and values, and the parts of the model that are switched off.
 * `read` is a generator that pauses after each layer, so that a page without a worker can draw in between.
 * Queries and keys are in llama.cpp's order: rotary positions turn neighbouring entries as a pair.
 */
(function () {
  "use strict";

  const { QuantisedMatrix } = window.courseLlama;
  const MOST_PARAMETERS = 500_000_000;
  const MOST_TOKENS = 512; // in a session
  const AT_ONCE = 16; // tokens of a prompt read together

  const SIZES = {
    layers: "block_count", width: "embedding_length", inner: "feed_forward_length", heads: "attention.head_count",
  };

  function readConfig({ settings, tensors }) {
    const architecture = settings["general.architecture"];
    if (architecture !== "llama") {
      throw new Error(`Its architecture is \u201C${architecture}\u201D; this page computes \u201Cllama\u201D only.`);
    }
    const find = (name) => settings[`llama.${name}`];
    const config = Object.fromEntries(Object.entries(SIZES).map(([name, setting]) => {
      if (!(find(setting) > 0)) throw new Error(`It does not say its llama.${setting}.`);
      return [name, find(setting)];
    }));
    config.keyHeads = find("attention.head_count_kv") ?? config.heads;
    config.headWidth = find("attention.key_length") ?? config.width / config.heads;
    config.epsilon = find("attention.layer_norm_rms_epsilon") ?? 1e-5;
    config.base = find("rope.freq_base") ?? 10_000;
    config.context = find("context_length") ?? MOST_TOKENS;
    config.parameters = [...tensors.values()].reduce((sum, { rows, cols }) => sum + rows * cols, 0);
    if (config.parameters > MOST_PARAMETERS) {
      throw new Error(`It has ${Math.round(config.parameters / 1e6)} million parameters; this page takes ${MOST_PARAMETERS / 1e6} million at most.`);
    }
    if ((find("rope.scaling.type") ?? "none") !== "none" || tensors.has("rope_freqs.weight")) {
      throw new Error("It stretches its rotary positions; this page does not.");
    }
    if (find("expert_count")) throw new Error("It is a mixture of experts; this page computes one feed-forward layer.");
    if ((find("rope.dimension_count") ?? config.headWidth) !== config.headWidth) {
      throw new Error("It turns a part of each head only; this page turns the whole head.");
    }
    return config;
  }

  function rmsNorm(x, gain, epsilon) {
    let sum = 0;
    for (let i = 0; i < x.length; i += 1) sum += x[i] * x[i];
    const scale = 1 / Math.sqrt(sum / x.length + epsilon);
    return x.map((value, i) => value * scale * gain[i]);
  }

  function addTo(x, change) {
    for (let i = 0; i < x.length; i += 1) x[i] += change[i];
  }

  /** Replace scores by weights, in place: the softmax. */
  function softmax(scores) {
    let top = -Infinity;
    for (let i = 0; i < scores.length; i += 1) top = Math.max(top, scores[i]);
    let sum = 0;
    for (let i = 0; i < scores.length; i += 1) {
      scores[i] = Math.exp(scores[i] - top);
      sum += scores[i];
    }
    for (let i = 0; i < scores.length; i += 1) scores[i] /= sum;
    return scores;
  }

  /** The mean of the heads of keys, or of values, of one token: one head for all queries. */
  function meanOfHeads(vector, headWidth) {
    const mean = new Float64Array(headWidth);
    for (let i = 0; i < vector.length; i += 1) mean[i % headWidth] += (vector[i] * headWidth) / vector.length;
    return mean;
  }

  /** cuts: { heads, layers, rotary, sink, groups }. Heads are named "layer.head", layers by number; `rotary`
   * switches rotary positions off, `sink` the attention to the first token, `groups` grouped queries: then all
   * heads of queries share one head of keys and values, the mean of those of all groups (multi-query attention). */
  const NO_CUTS = { heads: [], layers: [], rotary: false, sink: false, groups: false };

  class Session {
    constructor(config, cuts = NO_CUTS) {
      this.keyHeads = cuts.groups ? 1 : config.keyHeads;
      const numbers = MOST_TOKENS * this.keyHeads * config.headWidth;
      this.cuts = { ...cuts, heads: new Set(cuts.heads), layers: new Set(cuts.layers) };
      this.tokens = [];
      this.keys = Array.from({ length: config.layers }, () => new Float32Array(numbers));
      this.values = Array.from({ length: config.layers }, () => new Float32Array(numbers));
      this.states = []; // of each token: its vector before the first layer and after each, one after the other
      this.weights = []; // of each token: for each layer, for each head, a weight for each token up to it
    }
  }

  class Llama {
    constructor(file) {
      this.config = readConfig(file);
      const take = (name, rows, cols) => {
        const tensor = file.tensors.get(name);
        if (!tensor) throw new Error(`It lacks the tensor ${name}.`);
        if (tensor.rows !== rows || tensor.cols !== cols) {
          throw new Error(`Its tensor ${name} has ${tensor.rows} rows of ${tensor.cols}, not ${rows} of ${cols}.`);
        }
        return new QuantisedMatrix(tensor);
      };
      const { layers, width, inner, heads, keyHeads, headWidth } = this.config;
      const [all, shared] = [heads * headWidth, keyHeads * headWidth];
      const { rows } = file.tensors.get("token_embd.weight") ?? {};
      this.embedding = take("token_embd.weight", rows, width);
      this.head = file.tensors.has("output.weight") ? take("output.weight", rows, width) : this.embedding;
      this.norm = take("output_norm.weight", 1, width).row(0);
      this.layers = Array.from({ length: layers }, (_, l) => ({
        attentionNorm: take(`blk.${l}.attn_norm.weight`, 1, width).row(0),
        query: take(`blk.${l}.attn_q.weight`, all, width),
        key: take(`blk.${l}.attn_k.weight`, shared, width),
        value: take(`blk.${l}.attn_v.weight`, shared, width),
        output: take(`blk.${l}.attn_output.weight`, width, all),
        innerNorm: take(`blk.${l}.ffn_norm.weight`, 1, width).row(0),
        gate: take(`blk.${l}.ffn_gate.weight`, inner, width),
        up: take(`blk.${l}.ffn_up.weight`, inner, width),
        down: take(`blk.${l}.ffn_down.weight`, width, inner),
      }));
      this.speeds = Float64Array.from({ length: headWidth / 2 }, (_, i) => this.config.base ** ((-2 * i) / headWidth));
    }

    begin(cuts) {
      return new Session(this.config, cuts);
    }

    /** The maximum number of tokens of a session. */
    get most() {
      return Math.min(MOST_TOKENS, this.config.context);
    }

    /** Read further tokens; yields the share that is done. */
    *read(session, tokens) {
      for (let i = 0; i < tokens.length; i += AT_ONCE) {
        const part = tokens.slice(i, i + AT_ONCE);
        for (let l = 0, reading = this.readPart(session, part); !reading.next().done; l += 1) {
          yield (i + (part.length * (l + 1)) / this.config.layers) / tokens.length;
        }
      }
    }

    *readPart(session, tokens) {
      const { layers, width, heads } = this.config;
      const first = session.tokens.length;
      const xs = tokens.map((token) => this.embedding.row(token));
      const states = tokens.map(() => new Float32Array((layers + 1) * width));
      const weights = tokens.map((_, t) => new Float32Array(layers * heads * (first + t + 1)));
      for (let l = 0; l < layers; l += 1) {
        xs.forEach((x, t) => states[t].set(x, l * width));
        if (!session.cuts.layers.has(l)) {
          this.attend(session, l, xs, first, weights);
          this.feedForward(this.layers[l], xs);
        }
        yield;
      }
      xs.forEach((x, t) => states[t].set(x, layers * width));
      session.tokens.push(...tokens);
      session.states.push(...states);
      session.weights.push(...weights);
    }

    attend(session, l, xs, first, weights) {
      const { heads, headWidth, epsilon } = this.config;
      const { keyHeads, cuts } = session;
      const layer = this.layers[l];
      const read = xs.map((x) => rmsNorm(x, layer.attentionNorm, epsilon));
      const [queries, keys, values] = [layer.query, layer.key, layer.value].map((matrix) => matrix.times(read));
      const [allKeys, allValues] = [session.keys[l], session.values[l]];
      const wide = keyHeads * headWidth;
      const mixed = xs.map((_, t) => {
        const place = first + t;
        if (!cuts.rotary) {
          this.turn(queries[t], place);
          this.turn(keys[t], place);
        }
        const [key, value] = cuts.groups ? [keys[t], values[t]].map((vector) => meanOfHeads(vector, headWidth)) : [keys[t], values[t]];
        allKeys.set(key, place * wide);
        allValues.set(value, place * wide);
        const out = new Float64Array(heads * headWidth);
        for (let h = 0; h < heads; h += 1) {
          const shared = Math.floor((h * keyHeads) / heads) * headWidth;
          const looks = this.look(session, queries[t], h, allKeys, shared, place);
          weights[t].set(looks, (l * heads + h) * (place + 1));
          if (cuts.heads.has(`${l}.${h}`)) continue;
          for (let j = 0; j <= place; j += 1) {
            for (let i = 0; i < headWidth; i += 1) out[h * headWidth + i] += looks[j] * allValues[j * wide + shared + i];
          }
        }
        return out;
      });
      layer.output.times(mixed).forEach((change, t) => addTo(xs[t], change));
    }

    /** The weights of one head for one query, over all tokens up to its place. */
    look(session, query, h, allKeys, shared, place) {
      const { headWidth } = this.config;
      const wide = session.keyHeads * headWidth;
      const scores = new Float64Array(place + 1);
      for (let j = 0; j <= place; j += 1) {
        let sum = 0;
        for (let i = 0; i < headWidth; i += 1) sum += query[h * headWidth + i] * allKeys[j * wide + shared + i];
        scores[j] = sum / Math.sqrt(headWidth);
      }
      if (session.cuts.sink && place > 0) scores[0] = -Infinity;
      return softmax(scores);
    }

    /** Rotate each pair of neighbouring entries, in each head, by the token's position times the pair's frequency. */
    turn(vector, place) {
      const { speeds } = this;
      for (let i = 0; i < vector.length; i += 2) {
        const angle = place * speeds[(i / 2) % speeds.length];
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        const [a, b] = [vector[i], vector[i + 1]];
        vector[i] = a * cos - b * sin;
        vector[i + 1] = a * sin + b * cos;
      }
    }

    feedForward(layer, xs) {
      const read = xs.map((x) => rmsNorm(x, layer.innerNorm, this.config.epsilon));
      const gates = layer.gate.times(read);
      const ups = layer.up.times(read);
      const gated = gates.map((gate, t) => gate.map((value, i) => (value / (1 + Math.exp(-value))) * ups[t][i]));
      layer.down.times(gated).forEach((change, t) => addTo(xs[t], change));
    }

    /** Compute logits from vectors of the residual stream after any layer. */
    logits(vectors) {
      return this.head.times(vectors.map((x) => rmsNorm(Float64Array.from(x), this.norm, this.config.epsilon)));
    }

    /** Return a token's vector after `layer` layers; by default after all. */
    state(session, place, layer = this.config.layers) {
      return session.states[place].subarray(layer * this.config.width, (layer + 1) * this.config.width);
    }

    /** Bytes of the keys and values that the cache holds, four for a number. */
    cacheBytes(session) {
      const { layers, headWidth } = this.config;
      return session.tokens.length * layers * 2 * session.keyHeads * headWidth * 4;
    }
  }

  Object.assign(window.courseLlama, { Llama, softmax });
})();
