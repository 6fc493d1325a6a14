/* The figure "mask-builder": a mask to click together, and the attention that it lets through.
 *
 * model: { words, padding, x, query, key, value, note }.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, Summary, makeButton } = window.courseControls;
  const MOST_LAYERS = 4;
  const PRESETS = [
    ["causal and no padding", (t, s, padding) => s <= t && !padding.includes(s)],
    ["causal", (t, s) => s <= t],
    ["no padding", (t, s, padding) => !padding.includes(s)],
    ["no mask", () => true],
    ["one too far", (t, s) => s <= t + 1],
    ["upside down", (t, s) => s > t],
  ];

  /** A number as text; only an exact zero is written as 0. */
  function written(amount) {
    if (amount > 0 && amount < 0.005) return "<.01";
    return amount > 0 ? amount.toFixed(2) : "0";
  }

  class MaskBuilder {
    constructor(model, el) {
      this.model = model;
      this.mask = this.preset(PRESETS[0][1]);
      this.at = [0, 0];
      this.cells = [];
      this.leaks = [];
      const layers = { min: 1, max: MOST_LAYERS, value: 1 };
      this.layers = new Slider("Layers", () => this.update(), layers);
      this.summary = new Summary();
      this.buttons = PRESETS.map(([name, rule]) => makeButton(name, () => {
        this.mask = this.preset(rule);
        this.update();
      }));
      el.className = "mask";
      el.append(
        make("div", { class: "course-pills", role: "group", "aria-label": "Masks to begin with" }, ...this.buttons),
        make(
          "div",
          { class: "mask-tables" },
          this.table("The mask: may attend", (t, s) => this.maskCell(t, s)),
          this.table("The leak: output depends on input", (t, s) => this.leakCell(t, s)),
        ),
        this.layers.element,
        this.summary.element,
      );
      this.update();
    }

    preset(rule) {
      const { words, padding } = this.model;
      return words.map((_, t) => words.map((__, s) => rule(t, s, padding)));
    }

    /** Whether place s must be hidden from t: it is later, or padding. False if t is padding. */
    isForbidden(t, s) {
      const { padding } = this.model;
      return !padding.includes(t) && (s > t || padding.includes(s));
    }

    table(caption, cellOf) {
      const { words } = this.model;
      const head = make("tr", {}, make("td"), ...words.map((word) => make("th", { scope: "col" }, make("span", {}, word))));
      const rows = words.map((word, t) =>
        make("tr", {}, make("th", { scope: "row" }, word), ...words.map((_, s) => make("td", {}, cellOf(t, s)))),
      );
      return make(
        "table",
        { class: "mask-table" },
        make("caption", {}, caption),
        make("thead", {}, head),
        make("tbody", {}, ...rows),
      );
    }

    maskCell(t, s) {
      const cell = makeButton("", () => {
        this.mask[t][s] = !this.mask[t][s];
        this.at = [t, s];
        this.update();
      }, "mask-cell");
      cell.addEventListener("keydown", (event) => this.move(event, t, s));
      (this.cells[t] = this.cells[t] || [])[s] = cell;
      return cell;
    }

    leakCell(t, s) {
      const cell = make("span", { class: "mask-leak" });
      cell.classList.toggle("mask-leak--forbidden", this.isForbidden(t, s));
      (this.leaks[t] = this.leaks[t] || [])[s] = cell;
      return cell;
    }

    /** Move the focus by arrow keys within the mask, which is one stop of the Tab key. */
    move(event, t, s) {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const last = this.model.words.length - 1;
      const clamp = (value) => Math.max(0, Math.min(last, value));
      this.at = [clamp(t + steps[event.key][0]), clamp(s + steps[event.key][1])];
      this.showMask();
      this.cells[this.at[0]][this.at[1]].focus();
    }

    showMask() {
      const { words } = this.model;
      this.cells.forEach((row, t) =>
        row.forEach((cell, s) => {
          cell.setAttribute("aria-pressed", String(this.mask[t][s]));
          cell.setAttribute("aria-label", `${words[t]} (${t + 1}) may attend to ${words[s]} (${s + 1})`);
          cell.textContent = this.mask[t][s] ? "1" : "0";
          cell.tabIndex = t === this.at[0] && s === this.at[1] ? 0 : -1;
        }),
      );
    }

    update() {
      const layers = this.layers.get();
      this.showMask();
      this.buttons.forEach((button, index) => {
        const same = this.preset(PRESETS[index][1]).every((row, t) => row.every((may, s) => may === this.mask[t][s]));
        button.setAttribute("aria-pressed", String(same));
      });
      this.layers.show();
      const measured = window.courseLeak(this.model, this.mask, layers);
      const largest = Math.max(...measured.flat());
      let leaks = 0;
      let worst = 0;
      measured.forEach((row, t) =>
        row.forEach((amount, s) => {
          const cell = this.leaks[t][s];
          const isLeak = this.isForbidden(t, s) && amount > 0;
          cell.style.setProperty("--amount", (amount / largest).toFixed(3));
          cell.dataset.value = amount;
          cell.textContent = written(amount);
          cell.classList.toggle("is-leak", isLeak);
          if (isLeak) {
            leaks += 1;
            worst = Math.max(worst, amount);
          }
        }),
      );
      const empty = this.mask.filter((row) => !row.some(Boolean)).length;
      const stack = `${layers} ${layers === 1 ? "layer" : "layers"}`;
      this.summary.tell(
        (leaks
          ? `${stack}: ${leaks} ${leaks === 1 ? "leak" : "leaks"}, the largest ${written(worst)}.`
          : `${stack}: no leak.`) + (empty ? ` ${empty} ${empty === 1 ? "query sees" : "queries see"} nothing.` : ""),
      );
    }
  }

  window.courseFigures["mask-builder"] = MaskBuilder;
})();
