/* A text as a row of tokens: one stop of the Tab key, and one token chosen. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { placeByKey } = window.courseControls;
  const NAMES = { "\n": "\u23CE", "\t": "\u21E5" };

  /** A token's text with its spaces and ends of line in view. */
  function shown(text) {
    const named = text.replace(/[\n\t]/g, (sign) => NAMES[sign]).replace(/^ | $/g, "\u00B7");
    return named || "\u2205";
  }

  const percent = (p) => (p >= 0.9995 ? ">99.9%" : p < 0.0005 ? "<0.1%" : `${(100 * p).toFixed(1)}%`);

  class TokenText {
    constructor(name, onChoose) {
      Object.assign(this, { onChoose, tokens: [], chosen: -1 });
      this.list = make("div", { class: "model-tokens", role: "group", "aria-label": name });
      this.list.addEventListener("keydown", (event) => this.move(event));
      this.element = make("div", { class: "model-text" }, make("p", { class: "model-whose" }, name), this.list);
    }

    clear() {
      this.tokens = [];
      this.chosen = -1;
      this.list.replaceChildren();
    }

    /** Append a token { text, written, probability }. */
    append(token) {
      const place = this.tokens.push(token) - 1;
      const button = make("button", { type: "button", tabindex: place ? -1 : 0, class: `model-token${token.written ? " is-written" : ""}${token.special ? " is-special" : ""}`, "aria-pressed": "false" },
        shown(token.text));
      if (token.probability !== undefined) {
        button.style.setProperty("--sure", token.probability.toFixed(3));
        button.title = percent(token.probability);
      }
      button.addEventListener("click", () => this.choose(place));
      this.list.append(button);
      if (token.text.includes("\n")) this.list.append(make("span", { class: "model-break" }));
    }

    get buttons() {
      return [...this.list.querySelectorAll("button")];
    }

    /** Arrow keys, Home and End move within the tokens. */
    move(event) {
      const { buttons } = this;
      const place = placeByKey(event, buttons.indexOf(event.target), buttons.length);
      if (place !== undefined) this.stop(place).focus();
    }

    /** Let the Tab key stop at this token; return its button. */
    stop(place) {
      this.buttons.forEach((button, i) => (button.tabIndex = i === place ? 0 : -1));
      return this.buttons[place];
    }

    choose(place) {
      this.mark(place);
      this.stop(place);
      this.onChoose(place);
    }

    /** Mark a token as chosen, or none, and shade nothing. */
    mark(place = -1) {
      this.chosen = place;
      this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === place)));
      this.shade();
    }

    /** Shade the tokens by weights; none, if there are none. */
    shade(weights = []) {
      this.buttons.forEach((button, i) => button.style.setProperty("--look", (weights[i] ?? 0).toFixed(3)));
    }
  }

  window.courseModelText = { TokenText, shown, percent };
})();
