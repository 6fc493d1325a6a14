/* A sentence encoder as site/meaning.py writes it: BERT in 8 bits, the mean of its last vectors.
 *
 * new courseSentenceEncoder(buffer).encode(text): a promise of the unit vector. It works in pieces,
 * between which the page may draw. courseReadTensors(buffer): { header, tensors }.
 */
(function () {
  "use strict";

  const PUNCTUATION = /([\p{P}$+<=>^`|~])/u;
  const IDEOGRAPH = /([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2ceaf}\u{2f800}-\u{2fa1f}])/gu;
  const MOST_LETTERS = 100; // of a word with known pieces

  const untilDrawn = () => new Promise((resolve) => setTimeout(resolve));

  function readTensors(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const tensors = {};
    for (const [name, [begin, rows, cols]] of Object.entries(header.tensors)) {
      const place = 4 + length + begin;
      const floats = new Float32Array(buffer, place, rows);
      tensors[name] = cols ? { rows, cols, scales: floats, bytes: new Int8Array(buffer, place + 4 * rows, rows * cols) } : floats;
    }
    return { header, tensors };
  }

  /** Row r of a matrix, added to a vector. */
  function addRow({ cols, scales, bytes }, r, to) {
    for (let i = 0; i < cols; i += 1) to[i] += scales[r] * bytes[r * cols + i];
  }

  /** The products of a matrix's rows with vectors, plus a bias. */
  function project({ rows, cols, scales, bytes }, bias, xs) {
    const outs = xs.map(() => new Float32Array(rows));
    for (let r = 0, begin = 0; r < rows; r += 1, begin += cols) {
      for (let t = 0; t < xs.length; t += 1) {
        const x = xs[t];
        let a = 0;
        let b = 0;
        for (let i = 0; i < cols; i += 2) {
          a += bytes[begin + i] * x[i];
          b += bytes[begin + i + 1] * x[i + 1];
        }
        outs[t][r] = scales[r] * (a + b) + bias[r];
      }
    }
    return outs;
  }

  function normalise(x, weight, bias, eps) {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + eps);
    return x.map((value, i) => (value - mean) * scale * weight[i] + bias[i]);
  }

  /** The error function, to seven digits: Abramowitz and Stegun, formula 7.1.26. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  const gelu = (x) => x.map((value) => 0.5 * value * (1 + erf(value / Math.SQRT2)));
  const add = (x, y) => x.map((value, i) => value + y[i]);

  function attend(queries, keys, values, heads) {
    const width = queries[0].length / heads;
    return queries.map((query) => {
      const out = new Float32Array(query.length);
      for (let begin = 0; begin < query.length; begin += width) {
        const scores = keys.map((key) => {
          let sum = 0;
          for (let i = begin; i < begin + width; i += 1) sum += query[i] * key[i];
          return sum / Math.sqrt(width);
        });
        const most = Math.max(...scores);
        const weights = scores.map((score) => Math.exp(score - most));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        values.forEach((value, j) => {
          for (let i = begin; i < begin + width; i += 1) out[i] += (weights[j] / total) * value[i];
        });
      }
      return out;
    });
  }

  class SentenceEncoder {
    constructor(buffer) {
      const { header, tensors } = readTensors(buffer);
      Object.assign(this, { config: header.config, tensors });
      this.ids = new Map(header.vocabulary.map((token, id) => [token, id]));
    }

    /** The token ids of a text, with [CLS] and [SEP]. */
    tokenize(text) {
      const plain = text.replace(/[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}]/gu, "").replace(IDEOGRAPH, " $1 ");
      const words = plain.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "").split(/\s+/u);
      const pieces = words.flatMap((word) => word.split(PUNCTUATION)).filter(Boolean).flatMap((word) => this.split(word));
      const known = ["[CLS]", ...pieces.slice(0, this.config.longest - 2), "[SEP]"];
      return known.map((piece) => this.ids.get(piece));
    }

    /** The pieces of a word: always the longest one that fits. */
    split(word) {
      const letters = [...word];
      const pieces = [];
      if (letters.length > MOST_LETTERS) return ["[UNK]"];
      for (let start = 0; start < letters.length; ) {
        const begun = start > 0 ? "##" : "";
        let end = letters.length;
        while (end > start && !this.ids.has(begun + letters.slice(start, end).join(""))) end -= 1;
        if (end === start) return ["[UNK]"];
        pieces.push(begun + letters.slice(start, end).join(""));
        start = end;
      }
      return pieces;
    }

    project(name, xs) {
      return project(this.tensors[`${name}.weight`], this.tensors[`${name}.bias`], xs);
    }

    norm(name, xs) {
      return xs.map((x) => normalise(x, this.tensors[`${name}.weight`], this.tensors[`${name}.bias`], this.config.eps));
    }

    embed(ids) {
      const tables = ["tokens", "segments", "positions"].map((name) => this.tensors[`embeddings.${name}.weight`]);
      const sums = ids.map((id, place) => {
        const sum = new Float32Array(tables[0].cols);
        [id, 0, place].forEach((row, i) => addRow(tables[i], row, sum));
        return sum;
      });
      return this.norm("embeddings.norm", sums);
    }

    async encode(text) {
      let xs = this.embed(this.tokenize(text));
      for (let l = 0; `encoder.layers.${l}.feed_forward.up_projection.weight` in this.tensors; l += 1) {
        const name = `encoder.layers.${l}`;
        const [queries, keys, values] = ["query", "key", "value"].map((role) => this.project(`${name}.self_attention.${role}_projection`, xs));
        const joined = attend(queries, keys, values, this.config.heads);
        const attended = this.project(`${name}.self_attention.output_projection`, joined);
        xs = this.norm(`${name}.attention_residual.norm`, xs.map((x, t) => add(x, attended[t])));
        await untilDrawn();
        const inner = this.project(`${name}.feed_forward.up_projection`, xs).map(gelu);
        const outer = this.project(`${name}.feed_forward.down_projection`, inner);
        xs = this.norm(`${name}.feed_forward_residual.norm`, xs.map((x, t) => add(x, outer[t])));
        await untilDrawn();
      }
      const sum = xs.reduce(add);
      const length = Math.hypot(...sum);
      return sum.map((value) => value / length);
    }
  }

  Object.assign(window, { courseSentenceEncoder: SentenceEncoder, courseReadTensors: readTensors });
})();
