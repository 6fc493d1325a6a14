/* Search while typing, in the dialog that Ctrl+K opens and on the page search.html.
 *
 * MiniSearch, search-index.js and the entries are loaded once a reader searches. Where the build had
 * MiniLM, window.courseMeaning names its files; then a reader can also search by meaning.
 */
(function () {
  "use strict";

  const PARTS = ["minisearch/minisearch.js", "js/search-index.js", "search-entries.js"];
  const GROUPS = {
    section: { name: "Sections", most: 8 },
    term: { name: "Glossary", most: 3 },
    figure: { name: "Figures", most: 3 },
    name: { name: "Library", most: 5 },
  };
  const EXCERPT = 170; // characters
  const PAUSE = 250; // milliseconds without a key before a search by meaning
  const MEANING = location.protocol.startsWith("http") ? window.courseMeaning : undefined;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  };

  const root = document.documentElement.dataset.content_root || "./";

  function loadScript(path) {
    return new Promise((resolve, reject) => {
      const script = make("script", { src: `${root}_static/${path}` });
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(path)));
      document.head.append(script);
    });
  }

  let index = null; // a promise, once a reader searches

  function loadIndex() {
    index ||= Promise.all(PARTS.map(loadScript)).then(
      () => new window.courseSearch.Index(window.courseSearchEntries, window.MiniSearch),
    );
    return index;
  }

  /** A text, with its powers and indices drawn. */
  function drawn(text) {
    return text.split(window.courseSearch.SCRIPT).map((part, place) =>
      place % 2 ? make(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/^\((.*)\)$/, "$1")) : part);
  }

  /** A text, with the words that a query found marked. */
  function marked(text, words) {
    const { stem } = window.courseSearch;
    const found = new Set(words);
    const parts = [];
    // A power may have several words.
    text.split(/([\p{L}\p{N}_]+)/u).forEach((part, place) => {
      if (place % 2 && found.has(stem(part))) parts.push(make("mark", {}, ...drawn(part)), "");
      else parts.push((parts.pop() ?? "") + part);
    });
    return parts.flatMap((part) => (typeof part === "string" ? drawn(part) : part));
  }

  /** The text from the sentence, or row of a table, with the first found word on, cut at a word. */
  function excerpt(text, words) {
    const { split, stem } = window.courseSearch;
    const found = new Set(words);
    const sentences = text.split(/(?<=[.!?]) (?=\p{Lu})| (?=•)/u);
    const first = sentences.findIndex((sentence) => split(sentence).some((word) => found.has(stem(word))));
    const rest = sentences.slice(Math.max(first, 0)).join(" ").replace(/^• /, "");
    return rest.length <= EXCERPT ? rest : `${rest.slice(0, EXCERPT).replace(/\s+\S*$/, "")} …`;
  }

  function makeResult({ entry, words }) {
    const title = make("span", { class: "course-search-title" });
    if (entry.html) title.innerHTML = entry.html; // the book's own
    else title.append(...marked(entry.title, words));
    const link = make("a", { class: "course-search-result", href: `${root}${entry.page}#${entry.anchor}` }, title);
    if (entry.of !== entry.title && entry.kind !== "term") link.append(make("span", { class: "course-search-of" }, entry.of));
    const text = excerpt(entry.text, words);
    if (text) link.append(make("span", { class: "course-search-text" }, ...marked(text, words)));
    return make("li", {}, link);
  }

  function makeGroup(kind, found) {
    const list = make("ul", {}, ...found.slice(0, GROUPS[kind].most).map(makeResult));
    return make("section", { "aria-label": GROUPS[kind].name }, make("p", { class: "course-search-group" }, GROUPS[kind].name), list);
  }

  let model = null; // a promise, once a reader loads it

  function loadModel(onShare) {
    model ||= Promise.all([loadIndex(), ...["sentence-encoder", "search-meaning"].map((name) => loadScript(`js/${name}.js`))])
      .then(() => window.courseSearchMeaning.load(root, MEANING, onShare));
    return model;
  }

  class Search {
    constructor(form) {
      this.input = form.querySelector("input");
      this.status = make("p", { class: "course-search-status", role: "status" });
      this.results = make("div", { class: "course-search-groups" });
      this.element = make("div", { class: "course-search" }, this.status, this.results);
      this.element.hidden = true;
      form.after(this.element);
      if (MEANING) this.offerMeaning(form);
      this.input.addEventListener("focus", () => loadIndex());
      this.input.addEventListener("input", () => this.show());
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.show().then(() => this.links[0]?.click());
      });
      form.parentElement.addEventListener("keydown", (event) => this.move(event));
      // The link of a result on this page leads out of the dialog.
      this.results.addEventListener("click", () => form.closest("dialog")?.close());
    }

    /** Two buttons, one for each way to search. */
    offerMeaning(form) {
      this.byMeaning = false;
      this.ready = false; // whether the model is loaded
      const ways = ["By words", "By meaning"].map((name, place) => {
        const way = make("button", { type: "button", class: "course-search-way", "aria-pressed": String(!place) }, name);
        way.addEventListener("click", () => {
          this.byMeaning = place === 1;
          this.offer.hidden = !this.byMeaning || this.ready;
          ways.forEach((other) => other.setAttribute("aria-pressed", String(other === way)));
          this.show();
        });
        return way;
      });
      form.after(make("div", { class: "course-search-ways", role: "group", "aria-label": "Way to search" }, ...ways));
      const bar = make("progress", { max: 1, value: 0, "aria-label": "Loading the model" });
      bar.hidden = true;
      const start = make("button", { type: "button", class: "course-search-way" }, `Load MiniLM (${Math.round(MEANING.bytes / 1e6)} MB)`);
      start.addEventListener("click", async () => {
        start.disabled = true;
        bar.hidden = false;
        try {
          await loadModel((share) => (bar.value = share));
          this.ready = this.offer.hidden = true;
          this.input.focus();
        } catch (error) {
          model = null;
          bar.hidden = true;
        }
        start.disabled = false;
        await this.show();
        if (!this.ready) this.status.textContent = "The model could not be loaded. Try again.";
      });
      this.offer = make("div", { class: "course-search-offer" },
        make("p", {}, "A search by meaning finds sections that use other words than yours. The model runs in your browser; nothing that you type leaves it."),
        start, bar);
      this.offer.hidden = true;
      this.results.before(this.offer);
    }

    async showByMeaning(query) {
      this.element.hidden = !query && this.ready;
      this.status.textContent = "";
      this.results.replaceChildren();
      if (!query || !this.ready) return;
      const isOld = () => !this.byMeaning || query !== this.input.value.trim();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (isOld()) return;
      const found = await window.courseSearchMeaning.find(query);
      if (isOld()) return;
      const entries = found.slice(0, GROUPS.section.most).map(({ place }) => ({ entry: window.courseSearchEntries[place], words: [] }));
      this.results.replaceChildren(makeGroup("section", entries));
      this.status.textContent = `The ${entries.length} nearest sections`;
    }

    get links() {
      return [...this.results.querySelectorAll("a")];
    }

    async show() {
      const query = this.input.value.trim();
      if (this.byMeaning) return this.showByMeaning(query);
      this.element.hidden = !query;
      if (!query) return;
      let found;
      try {
        found = (await loadIndex()).find(query);
      } catch (error) {
        index = null;
        this.status.textContent = "The search could not be loaded. Reload the page and try again.";
        return;
      }
      if (this.byMeaning || query !== this.input.value.trim()) return; // typed on meanwhile
      const kinds = [...new Set(found.map(({ entry }) => entry.kind))]; // that of the best first
      this.results.replaceChildren(...kinds.map((kind) => makeGroup(kind, found.filter(({ entry }) => entry.kind === kind))));
      const count = this.links.length;
      this.status.textContent = count ? `${count} ${count === 1 ? "result" : "results"}` : `Nothing found for \u201c${query}\u201d.`;
    }

    /** Arrow keys go from the input to the results and back. */
    move(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || this.element.hidden) return;
      const stops = [this.input, ...this.links];
      const place = stops.indexOf(document.activeElement);
      if (place < 0) return;
      event.preventDefault();
      stops[(place + step + stops.length) % stops.length].focus();
    }
  }

  document.querySelectorAll("form.bd-search").forEach((form) => {
    const search = new Search(form);
    const asked = form.closest("dialog") ? "" : new URLSearchParams(location.search).get("q");
    if (asked) {
      search.input.value = asked;
      search.show();
    }
  });
})();
