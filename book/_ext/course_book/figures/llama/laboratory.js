/* Everything that a page asks of a language model: each method is a generator that yields the share that is
 * done, and returns plain data. It runs in a worker, or in slices in the page; see service.js.
 */
(function () {
  "use strict";

  const { readGGUF, ByteLevelBPE, Llama, softmax } = window.courseLlama;
  const SHOWN = 8; // alternatives of a token
  const LENS = 3; // of a layer
  const COPY = 20; // random tokens, read twice
  const BEST = 12; // heads in the ranking
  const SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"; // as its chat template has it

  /** A generator of random numbers from 0 to 1, seeded (mulberry32). */
  function makeRandom(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** The indices of the `count` largest numbers, largest first. */
  function topOf(numbers, count) {
    const best = [];
    numbers.forEach((value, i) => {
      if (best.length === count && value <= numbers[best[count - 1]]) return;
      let at = best.length;
      while (at > 0 && numbers[best[at - 1]] < value) at -= 1;
      best.splice(at, 0, i);
      if (best.length > count) best.pop();
    });
    return best;
  }

  /** Draw an id: logits are divided by the temperature, then the likeliest up to top-p stay. */
  function draw(logits, { temperature, topP }, random) {
    if (temperature === 0) return topOf(logits, 1)[0];
    const chances = softmax(logits.map((logit) => logit / temperature));
    const [first] = topOf(chances, 1);
    const order = [...chances.keys()].filter((id) => chances[id] > 1e-6 * chances[first]).sort((a, b) => chances[b] - chances[a]);
    const kept = [];
    let sum = 0;
    for (let i = 0; i < order.length && (i === 0 || sum < topP); i += 1) {
      kept.push(order[i]);
      sum += chances[order[i]];
    }
    let left = random() * sum;
    return kept.find((id) => (left -= chances[id]) < 0) ?? kept[0];
  }

  class Laboratory {
    /** Open a file's bytes; throw an Error with the reason if this code can't run the model. */
    *open({ buffer }) {
      const file = readGGUF(buffer);
      yield 0.5;
      this.bpe = new ByteLevelBPE(file.settings);
      this.model = new Llama(file);
      this.sessions = {};
      this.start = file.settings["tokenizer.ggml.bos_token_id"];
      const types = {};
      file.tensors.forEach(({ type }) => (types[type] = (types[type] ?? 0) + 1));
      return {
        ...this.model.config, bytes: buffer.byteLength, types, vocabulary: this.bpe.tokens.length, most: this.model.most,
        name: file.settings["general.name"] ?? "without a name", licence: file.settings["general.license"] ?? "",
        canChat: this.bpe.ids.has("<|im_start|>"),
      };
    }

    tokenOf(id) {
      const special = this.bpe.special.has(id);
      return { id, text: this.bpe.decode([id]), special };
    }

    /** Read a prompt into a session of this name, as it is or as the question of a chat. */
    *begin({ name, text, chat, cuts }) {
      const { bpe, model } = this;
      const part = (role, words) => `<|im_start|>${role}\n${words}<|im_end|>\n`;
      const whole = chat ? `${part("system", SYSTEM)}${part("user", text)}<|im_start|>assistant\n` : text;
      const ids = bpe.encode(whole);
      if (!ids.length) throw new Error("Write at least one word.");
      if (ids.length >= model.most) throw new Error(`The text has ${ids.length} tokens; this page reads ${model.most} at most.`);
      const began = performance.now();
      const session = model.begin(cuts);
      yield* model.read(session, ids);
      this.sessions[name] = session;
      return { tokens: ids.map((id) => this.tokenOf(id)), ms: performance.now() - began, bytes: model.cacheBytes(session) };
    }

    /** Draw the next token, and read it. The same seed draws the same token at the same place. */
    *next({ name, temperature, topP, seed }) {
      const { bpe, model } = this;
      const session = this.sessions[name];
      const began = performance.now();
      const place = session.tokens.length;
      const [logits] = model.logits([model.state(session, place - 1)]);
      const random = makeRandom(seed * 1000 + place);
      random();
      const id = draw(logits, { temperature, topP }, random);
      const probability = softmax(logits)[id];
      const isEnd = id === bpe.end || bpe.tokens[id] === "<|endoftext|>";
      if (!isEnd) yield* model.read(session, [id]);
      return {
        ...this.tokenOf(id), probability, ms: performance.now() - began, bytes: model.cacheBytes(session),
        ended: isEnd || session.tokens.length >= model.most,
      };
    }

    likeliest(logits, count) {
      const chances = softmax(logits);
      return { chances, best: topOf(chances, count).map((id) => ({ ...this.tokenOf(id), probability: chances[id] })) };
    }

    /** Return the likeliest alternatives to a token, and the attention weights of all heads at its place. */
    *look({ name, place }) {
      const session = this.sessions[name];
      const weights = session.weights[place];
      if (place === 0) return { weights };
      const [logits] = this.model.logits([this.model.state(session, place - 1)]);
      const { chances, best } = this.likeliest(logits, SHOWN);
      return { weights, alternatives: best, own: chances[session.tokens[place]] };
    }

    /** Return the likeliest next tokens after each layer, as if it were the last; the embeddings come first. */
    *lens({ name, place }) {
      const { layers } = this.model.config;
      const session = this.sessions[name];
      const rows = [];
      while (rows.length <= layers) {
        const some = [0, 1, 2, 3].map((i) => rows.length + i).filter((layer) => layer <= layers);
        const logits = this.model.logits(some.map((layer) => this.model.state(session, place, layer)));
        rows.push(...logits.map((row) => this.likeliest(row, LENS).best));
        yield rows.length / (layers + 1);
      }
      return rows;
    }

    /** Read random tokens twice; rank the heads by their look at the token after the last occurrence. */
    *induction({ seed, cuts }) {
      const { bpe, model } = this;
      const { layers, heads } = model.config;
      const random = makeRandom(seed);
      const plain = bpe.tokens.map((_, id) => id).filter((id) => !bpe.special.has(id) && /^\u0120?[a-z]{3,}$/.test(bpe.tokens[id]));
      const pool = plain.length ? plain : bpe.tokens.map((_, id) => id);
      const copy = Array.from({ length: COPY }, () => pool[Math.floor(random() * pool.length)]);
      const ids = [this.start ?? copy[0], ...copy, ...copy];
      const session = model.begin(cuts);
      for (const share of model.read(session, ids)) yield 0.6 * share;
      const ranking = [];
      for (let l = 0; l < layers; l += 1) {
        for (let h = 0; h < heads; h += 1) {
          let sum = 0;
          for (let i = 0; i < COPY; i += 1) {
            const place = 1 + COPY + i;
            sum += session.weights[place][(l * heads + h) * (place + 1) + i + 2];
          }
          ranking.push({ layer: l, head: h, weight: sum / COPY });
        }
      }
      const losses = [];
      for (let place = 1; place < 2 * COPY; place += 4) {
        const places = [0, 1, 2, 3].map((i) => place + i).filter((p) => p < 2 * COPY);
        model.logits(places.map((p) => model.state(session, p)))
          .forEach((logits, i) => losses.push(-Math.log(softmax(logits)[ids[places[i] + 1]])));
        yield 0.6 + (0.4 * place) / (2 * COPY);
      }
      const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
      return {
        text: bpe.decode(copy), first: mean(losses.slice(0, COPY - 1)), second: mean(losses.slice(COPY)),
        heads: ranking.sort((a, b) => b.weight - a.weight).slice(0, BEST),
      };
    }
  }

  Object.assign(window.courseLlama, { Laboratory, draw, makeRandom });
})();
