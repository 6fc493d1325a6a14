/* Finds entries of the book (site/search_entries.py) by MiniSearch, and ranks them. */
(function () {
  "use strict";

  const STOP_WORDS = new Set(
    ("a an and are as at be by can do does for from how i in into is it its of on or that the their" +
      " my need no not once than this to versus vs was we what when where which who why with you your").split(" "),
  );
  const SYNONYMS = {
    bpe: "byte pair encoding",
    mha: "multi head attention",
    mlm: "masked language model",
    nsp: "next sentence prediction",
    ffn: "feed forward",
    mlp: "feed forward",
    pe: "positional encoding",
    rope: "rotary",
    lm: "language model",
    nmt: "translation",
    ppl: "perplexity",
    layernorm: "layer normalization",
    resnet: "residual",
    embeddings: "embedding",
    tokeniser: "tokenisation",
    tokenizer: "tokenisation",
    "o(n^2)": "quadratic cost",
  };
  const WEIGHTS = { section: 1, term: 0.8, figure: 0.5, name: 0.2 };
  const OF_EVERY_CHAPTER = new Set(["What next", "Check yourself", "Exercises", "Common mistakes", "The map"]);

  /** A power or an index in a formula, as site/search_entries.py writes them: d_k, n^2, e^(-2). */
  const SCRIPT =
    /([_^]\([^()]*(?:\([^()]*\)[^()]*)*\)|\^[^\s(]|(?<![\p{L}\p{N}_]\p{L})(?<=\p{L})_[\p{L}\p{N}]+(?![\p{L}\p{N}_]))/u;

  const split = (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean);

  /** Words with a hyphen, as some write them: warm-up gives warmup. */
  const joined = (text) => (text.match(/\p{L}+(?:-\p{L}+)+/gu) || []).map((word) => word.replaceAll("-", ""));

  /** One form for a word's spellings: no capitals, no accents, British, no plural. */
  function stem(word) {
    const plain = word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/iz(?=[aei])/, "is").replace(/(?<=..)ies$/, "y");
    return plain.length > 3 && plain.endsWith("s") && !plain.endsWith("ss") ? plain.slice(0, -1) : plain;
  }

  /** A stem without the ending of a verb: masking and masked give mask. */
  const root = (stem) => stem.replace(/(?<=.{4})(?:ing|ed)$/, "");

  const stems = (text) => split(text).filter((word) => !STOP_WORDS.has(word.toLowerCase())).map(stem);

  class Index {
    constructor(entries, MiniSearch) {
      this.entries = entries;
      this.mini = new MiniSearch({
        fields: ["title", "terms", "of", "text"],
        tokenize: (text) => [...split(text), ...joined(text)],
        processTerm: (word) => (STOP_WORDS.has(word.toLowerCase()) ? null : stem(word)),
      });
      this.mini.addAll(entries.map((entry, id) => ({ id, ...entry })));
      this.known = [...new Set(entries.flatMap((entry) => [entry.title, entry.terms || "", entry.of, entry.text].flatMap(split)))].map(stem);
    }

    /** Whether no word of the book begins so: then words with nearly that spelling are found. */
    isMisspelt(term) {
      return term.length > 3 && !this.known.some((word) => word.startsWith(term));
    }

    /** Entries, the best first, each with the words that it was found by. */
    find(query) {
      const asked = query.toLowerCase().replace(/\bhand(ing)? in\b/, "submit").split(/\s+/).map((word) => SYNONYMS[word] || word).join(" ");
      const words = split(asked).filter((word) => !STOP_WORDS.has(word)).map(stem);
      const found = this.mini.search(asked, {
        boost: { title: 5, terms: 4, of: 1.5, text: 1 },
        prefix: (term) => term.length > 1,
        fuzzy: (term) => (this.isMisspelt(term) ? 0.25 : false),
        weights: { fuzzy: 0.3, prefix: 0.6 },
        tokenize: split,
      });
      return found.map((hit) => this.weigh(hit, words, query)).sort((a, b) => b.score - a.score);
    }

    weigh(hit, words, query) {
      const entry = this.entries[hit.id];
      const share = hit.queryTerms.length / Math.max(words.length, 1); // of the words asked for
      const title = stems(entry.title);
      const names = [title, ...(entry.terms || "").split(", ").map(stems)].map((name) => name.map(root).join(" "));
      const asked = words.map(root).join(" ");
      let weight = WEIGHTS[entry.kind] * share ** 2;
      if (entry.kind === "name" && /[._]|[a-z][A-Z]/.test(query)) weight *= 5; // asks for a name
      if (entry.page.includes("for-contributors")) weight *= 0.5;
      if (names.includes(asked)) weight *= 3;
      else if (title.slice(0, words.length).map(root).join(" ") === asked) weight *= 1.6;
      const isNamed = hit.terms.some((word) => title.includes(word));
      if (entry.kind === "section" && entry.title === entry.of && isNamed) weight *= 1.5; // a chapter
      if (OF_EVERY_CHAPTER.has(entry.title)) weight *= 0.4;
      return { entry, score: hit.score * weight, words: hit.terms };
    }
  }

  window.courseSearch = { Index, SCRIPT, split, stem };
})();
