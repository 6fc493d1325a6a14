/* What search shows of each page it found: a sentence of its prose that has one of the words.
 *
 * Takes the place of two functions of Sphinx's searchtools.js, whose excerpts begin and end within
 * words, mix code with text, and hold every formula twice.
 */
(function () {
  "use strict";

  const LENGTH = 240;
  const PROSE = "p, dd, figcaption, li";
  const NOT_PROSE =
    "script, style, nav, button, table, pre, .course-choices, .course-veil__line, .headerlink," +
    " .katex-html, annotation, .eqno";
  const FUNCTION_APPLICATION = /\u2061/g; // between a function's name and its bracket, for MathML

  function prose(html, anchor) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const place = (anchor && page.querySelector(anchor)) || page.querySelector('[role="main"] article');
    if (!place) return [];
    if (place.matches("dt")) return [place.nextElementSibling.textContent.trim()];
    place.querySelectorAll(NOT_PROSE).forEach((part) => part.remove());
    return [...place.querySelectorAll(PROSE)]
      .filter((part) => !part.querySelector(PROSE)) // each text once
      .map((part) => part.textContent.replace(FUNCTION_APPLICATION, "").replace(/\s+/g, " ").trim())
      .filter(Boolean);
  }

  function has(words, text) {
    const lower = text.toLowerCase();
    return words.some((word) => lower.includes(word));
  }

  /** The text from its first sentence with one of the words on, cut at a word. */
  function excerpt(text, words) {
    const sentences = text.split(/(?<=[.!?]) (?=\p{Lu})/u);
    const start = Math.max(sentences.findIndex((sentence) => has(words, sentence)), 0);
    const rest = sentences.slice(start).join(" ");
    if (rest.length <= LENGTH) return rest;
    return `${rest.slice(0, LENGTH).replace(/\s+\S*$/, "")} …`;
  }

  Search.htmlToText = (html, anchor) => prose(html, anchor).join("\n");

  Search.makeSearchSummary = (html, keywords, anchor) => {
    const words = [...keywords].map((word) => word.toLowerCase());
    const passages = prose(html, anchor);
    const passage = passages.find((text) => has(words, text)) || passages[0] || "";
    const summary = document.createElement("p");
    summary.className = "context";
    summary.textContent = excerpt(passage, words);
    return summary;
  };
})();
