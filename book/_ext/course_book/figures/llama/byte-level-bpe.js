/* Byte-level byte-pair encoding, as GPT-2 and SmolLM have it, with the vocabulary of a GGUF file.
 *
 * A text is cut at special tokens, then into words; the bytes of a word are written as letters, and pairs of
 * neighbours are merged, the earliest merge of the list first.
 */
(function () {
  "use strict";

  const SPACE = "\\p{White_Space}";
  const GPT2 = `'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|${SPACE}+(?![^${SPACE}])|${SPACE}+`;
  const GPT2_WORDS = new RegExp(GPT2, "gu");
  const splitGPT2 = (text) => text.match(GPT2_WORDS) ?? [];
  const SPLIT = {
    "gpt-2": splitGPT2,
    smollm: (text) => text.split(/(\p{N})/u).flatMap(splitGPT2), // each digit stands alone
  };
  const CONTROL = 3; // of tokenizer.ggml.token_type: a special token, never made of text
  const USER_DEFINED = 4;

  /** GPT-2's letter for each byte: printable ones stand for themselves. */
  function makeLetters() {
    const printable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    let next = 256;
    return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
  }

  const LETTERS = makeLetters();
  const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

  class ByteLevelBPE {
    /** settings: those of readGGUF; an Error says which kind of vocabulary is missing here. */
    constructor(settings) {
      const kind = settings["tokenizer.ggml.model"];
      const words = settings["tokenizer.ggml.pre"] ?? "gpt-2";
      if (kind !== "gpt2") throw new Error(`Its tokens are of kind \u201C${kind}\u201D; this page reads byte-level pairs (\u201Cgpt2\u201D).`);
      this.split = SPLIT[words];
      if (!this.split) throw new Error(`It cuts text into words as \u201C${words}\u201D does; this page knows ${Object.keys(SPLIT).join(" and ")}.`);
      this.tokens = settings["tokenizer.ggml.tokens"];
      this.ids = new Map(this.tokens.map((token, id) => [token, id]));
      this.ranks = new Map(settings["tokenizer.ggml.merges"].map((pair, rank) => [pair, rank]));
      const types = settings["tokenizer.ggml.token_type"] ?? [];
      this.special = new Set(this.tokens.map((_, id) => id).filter((id) => types[id] === CONTROL || types[id] === USER_DEFINED));
      this.end = settings["tokenizer.ggml.eos_token_id"];
      this.known = new Map(); // ids of words met before
    }

    /** Ids of a text; special tokens are recognised by their names if asked for. */
    encode(text, { specials = true } = {}) {
      if (!specials || !this.special.size) return this.encodePlain(text);
      const names = [...this.special].map((id) => this.tokens[id]).sort((a, b) => b.length - a.length);
      const escaped = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      return text.split(new RegExp(`(${escaped.join("|")})`)).flatMap((part, i) =>
        (i % 2 ? [this.ids.get(part)] : this.encodePlain(part)));
    }

    encodePlain(text) {
      return this.split(text).flatMap((word) => {
        if (!this.known.has(word)) this.known.set(word, this.encodeWord(word));
        return this.known.get(word);
      });
    }

    encodeWord(word) {
      let parts = [...new TextEncoder().encode(word)].map((byte) => LETTERS[byte]);
      for (;;) {
        let [best, rank] = [-1, Infinity];
        for (let i = 0; i + 1 < parts.length; i += 1) {
          const found = this.ranks.get(`${parts[i]} ${parts[i + 1]}`);
          if (found < rank) [best, rank] = [i, found];
        }
        if (best < 0) return parts.map((part) => this.ids.get(part));
        parts = [...parts.slice(0, best), parts[best] + parts[best + 1], ...parts.slice(best + 2)];
      }
    }

    /** The bytes of a token. */
    bytes(id) {
      if (this.special.has(id)) return new TextEncoder().encode(this.tokens[id]);
      return Uint8Array.from([...this.tokens[id]].map((letter) => BYTES.get(letter)));
    }

    /** The text of ids; bytes that are no UTF-8 become a replacement character. */
    decode(ids) {
      return new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => [...this.bytes(id)])));
    }
  }

  Object.assign(window.courseLlama, { ByteLevelBPE });
})();
