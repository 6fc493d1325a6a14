/* Controls of figures (sliders, choices, grids of buttons) and their summaries; styles in css/figures.css. */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const PAUSE = 200; // milliseconds before a change is read out
  const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  let count = 0;

  const newId = () => `course-control-${(count += 1)}`;
  const makeLabel = (id, name) => make("label", { class: "course-label", for: id }, name);

  /** A slider over a range of numbers, or over the list `values`; `value` is the initial one. */
  class Slider {
    constructor(name, onInput, { values = null, min = 0, max, step = 1, value }) {
      const id = newId();
      this.values = values && [...new Set([...values, value])].sort((a, b) => a - b);
      const places = values
        ? { min: 0, max: this.values.length - 1, step: 1, value: this.values.indexOf(value) }
        : { min, max, step, value };
      this.input = make("input", { type: "range", id, ...places });
      this.output = make("output", { for: id });
      this.element = make("div", { class: "course-slider" }, makeLabel(id, name), this.output, this.input);
      this.input.addEventListener("input", onInput);
    }

    get() {
      const place = Number(this.input.value);
      return this.values ? this.values[place] : place;
    }

    set(value) {
      this.input.value = value;
    }

    /** Show the value as `words`; screen readers say `spoken`. */
    show(words = grouped(this.get()), spoken = words) {
      this.output.textContent = words;
      this.input.setAttribute("aria-valuetext", spoken);
    }
  }

  /** Make a select; options are pairs of value and name (of a list: Object.entries). */
  function makeSelect(name, options, onChange) {
    const id = newId();
    const select = make("select", { class: "course-field", id },
      ...options.map(([value, words]) => make("option", { value }, words)));
    select.addEventListener("change", onChange);
    return { label: makeLabel(id, name), select };
  }

  /** Radio buttons for a few names; `get` returns the index of the chosen one. */
  class Radios {
    constructor(legend, names, chosen, onChange) {
      const group = newId();
      this.inputs = names.map((_, i) => make("input", { type: "radio", name: group, id: `${group}-${i}` }));
      this.inputs[chosen].checked = true;
      this.inputs.forEach((input) => input.addEventListener("change", onChange));
      this.element = make("fieldset", { class: "course-radios" }, make("legend", {}, legend),
        ...this.inputs.map((input, i) =>
          make("span", {}, input, make("label", { for: input.id }, names[i]))));
    }

    get() {
      return this.inputs.findIndex((input) => input.checked);
    }
  }

  function makeButton(words, onClick, className = "course-pill") {
    const button = make("button", { type: "button", class: className }, words);
    button.addEventListener("click", onClick);
    return button;
  }

  /** The index to which an arrow key, Home or End leads from `place` in a row; undefined for other keys. */
  function placeByKey(event, place, length) {
    const ends = { Home: 0, End: length - 1 };
    const target = event.key in STEPS ? place + STEPS[event.key] : ends[event.key];
    if (target === undefined) return undefined;
    event.preventDefault();
    return Math.min(Math.max(target, 0), length - 1);
  }

  /** Make buttons in rows of `columns` one stop of the Tab key; arrow keys, Home and End move between them. */
  function steerGrid(buttons, columns, here = 0) {
    const ends = { Home: 0, End: buttons.length - 1 };
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    buttons.forEach((button, i) => {
      button.tabIndex = i === here ? 0 : -1;
      button.addEventListener("keydown", (event) => {
        const target = event.key in steps ? i + steps[event.key] : ends[event.key];
        if (!(target in buttons)) return;
        event.preventDefault();
        button.tabIndex = -1;
        buttons[target].tabIndex = 0;
        buttons[target].focus();
      });
    });
  }

  /** Cards of numbers: facts are [id, name, number]. */
  class Counts {
    constructor() {
      this.element = make("dl", { class: "course-counts" });
    }

    show(facts) {
      this.element.replaceChildren(...facts.map(([id, name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", { "data-count": id }, String(value)))));
    }
  }

  /** The sentence under a figure; each change of it is read out. */
  class Summary {
    constructor() {
      this.element = make("p", { class: "course-summary", "aria-live": "polite" });
    }

    say(sentence) {
      clearTimeout(this.pause);
      this.element.textContent = sentence;
    }

    /** Show a sentence once the reader pauses: a dragged slider passes many values. */
    tell(sentence) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.say(sentence), PAUSE);
      if (!this.element.textContent) this.say(sentence);
    }
  }

  window.courseControls = { Slider, Radios, Counts, Summary, makeSelect, makeButton, placeByKey, steerGrid };
})();
