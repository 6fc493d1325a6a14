/* The figure "word-neighbours": a map of words, and for one of them those whose vectors point most
 * nearly the same way.
 *
 * model: { words, vectors: { name: [[...], ...] }, note }; one-hot vectors are made here. A word is
 * chosen by pressing it on the map or in the list, or from the menu; pointing at it shows it.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const { Radios, Summary, makeButton, makeSelect } = window.courseControls;
  const { dot } = window.courseArithmetic;
  const { principalPlaces, roundPlaces } = window.courseWordMap;
  const SHOWN = 8;
  const WIDTH = 640;
  const HEIGHT = 470;
  const MARGIN = { x: 52, y: 26 };
  const LETTER = 0.6; // width of a letter by its height
  const BOLD = 0.66;

  function cosine(a, b) {
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }

  class WordNeighbours {
    constructor(model, el) {
      this.model = model;
      this.height = window.matchMedia("(max-width: 600px)").matches ? 28 : 15; // of a letter, in units
      const alphabetical = Object.entries(model.words).sort(([, a], [, b]) => (a < b ? -1 : 1));
      const { label, select } = makeSelect("Word", alphabetical, () => this.choose(Number(select.value)));
      this.select = select;
      const first = ["nurse", "boys", "red"].find((word) => model.words.includes(word));
      this.chosen = first ? model.words.indexOf(first) : 0;
      this.kinds = ["one-hot", ...Object.keys(model.vectors)];
      this.radios = new Radios("Vectors", this.kinds, 1, () => this.draw());
      this.lines = makeSvg("g");
      this.marks = model.words.map((word, i) => this.makeMark(word, i));
      this.svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
        this.lines, ...this.marks.map(({ element }) => element));
      this.list = make("ol", { class: "near-list" });
      this.summary = new Summary();
      el.className = "near";
      el.append(
        make("div", { class: "near-map" }, this.svg),
        make("div", { class: "near-word" }, label, select, this.radios.element),
        this.list,
        this.summary.element,
      );
      this.draw();
    }

    get kind() {
      return this.kinds[this.radios.get()];
    }

    makeMark(word, index) {
      const name = makeSvg("text", { class: "near-text" }, word);
      const element = makeSvg("g", { class: "near-mark" },
        makeSvg("circle", { class: "near-reach", r: 13 }), makeSvg("circle", { class: "near-dot", r: 4 }), name);
      element.addEventListener("pointerenter", () => this.show(index));
      element.addEventListener("pointerleave", () => this.show(this.chosen));
      element.addEventListener("click", () => this.choose(index));
      return { element, name, index };
    }

    /** Put all words in their places, and name as many as have room, the most frequent first. */
    draw() {
      const table = this.model.vectors[this.kind];
      const raw = table ? principalPlaces(table) : roundPlaces(this.model.words.length);
      const [x, y] = [0, 1].map((side) => {
        const all = raw.map((place) => place[side]);
        return [Math.min(...all), Math.max(...all)];
      });
      this.places = raw.map((place) => [
        MARGIN.x + ((WIDTH - 2 * MARGIN.x) * (place[0] - x[0])) / (x[1] - x[0]),
        HEIGHT - MARGIN.y - ((HEIGHT - 2 * MARGIN.y) * (place[1] - y[0])) / (y[1] - y[0]),
      ]);
      this.marks.forEach(({ element }, i) =>
        element.setAttribute("transform", `translate(${this.places[i].map((at) => at.toFixed(1)).join(" ")})`));
      this.show(this.chosen);
    }

    choose(index) {
      this.chosen = index;
      this.show(index);
    }

    cosines(index) {
      const table = this.model.vectors[this.kind];
      return this.model.words
        .map((word, i) => ({ word, i, cosine: table ? cosine(table[index], table[i]) : 0 }))
        .filter(({ i }) => i !== index)
        .sort((a, b) => b.cosine - a.cosine);
    }

    show(index) {
      const nearest = this.cosines(index).slice(0, SHOWN);
      const isAlike = this.kind !== "one-hot";
      const near = new Set(isAlike ? nearest.map(({ i }) => i) : []);
      this.select.value = index;
      this.marks.forEach(({ element, index: i }) => {
        element.classList.toggle("is-chosen", i === index);
        element.classList.toggle("is-near", near.has(i));
      });
      this.nameWords(index, near);
      this.drawLines(index, isAlike ? nearest : []);
      this.fillList(nearest);
      const word = `\u201c${this.model.words[index]}\u201d`;
      this.summary.say(isAlike
        ? `By ${this.kind}, ${word} is used most like \u201c${nearest[0].word}\u201d and ` +
          `\u201c${nearest[1].word}\u201d.`
        : `As one-hot vectors, all words are equally unlike ${word}: map and list are in no order.`);
    }

    /** The chosen word and its neighbours are named first; a name goes where it hides no other. */
    nameWords(index, near) {
      const order = [index, ...near, ...this.marks.keys()];
      const taken = this.places.map(([x, y]) => ({ left: x - 3, right: x + 3, top: y - 3, bottom: y + 3 }));
      const named = new Set();
      order.forEach((i) => {
        if (named.has(i)) return;
        const { name } = this.marks[i];
        const size = i === index ? 1.25 * this.height : this.height;
        const width = this.model.words[i].length * size * (i === index || near.has(i) ? BOLD : LETTER);
        const [x, y] = this.places[i];
        const spot = [["start", 8, 5], ["end", -8, 5], ["middle", 0, -9], ["middle", 0, 9 + 0.75 * size]].find(([anchor, dx, dy]) => {
          const left = x + dx - (anchor === "start" ? 0 : anchor === "end" ? width : width / 2);
          const box = { left, right: left + width, top: y + dy - 0.75 * size, bottom: y + dy + 0.2 * size };
          const isFree = box.left > 2 && box.right < WIDTH - 2 && box.top > 0 && box.bottom < HEIGHT &&
            taken.every((t) => box.left > t.right || box.right < t.left || box.top > t.bottom || box.bottom < t.top);
          if (isFree) taken.push(box);
          return isFree;
        });
        named.add(i);
        name.style.display = spot ? "" : "none";
        if (!spot) return;
        const [anchor, dx, dy] = spot;
        name.setAttribute("text-anchor", anchor);
        name.setAttribute("x", dx);
        name.setAttribute("y", dy);
        name.style.fontSize = `${size}px`;
      });
    }

    drawLines(index, nearest) {
      const [x1, y1] = this.places[index];
      this.lines.replaceChildren(...nearest.map(({ i, cosine: value }) => {
        const [x2, y2] = this.places[i];
        const line = makeSvg("line", { class: "near-line", x1, y1, x2, y2 });
        line.style.strokeWidth = 1 + 4 * Math.max(value, 0);
        return line;
      }));
    }

    fillList(nearest) {
      this.list.replaceChildren(...nearest.map(({ word, i, cosine: value }) => {
        const bar = make("span", { class: "near-bar", "aria-hidden": "true" }, make("span"));
        bar.firstChild.style.setProperty("--part", Math.max(value, 0).toFixed(3));
        return make("li", {}, makeButton(word, () => this.choose(i), "near-name"), bar,
          make("span", { class: "near-number" }, value.toFixed(2)));
      }));
    }
  }

  window.courseFigures["word-neighbours"] = WordNeighbours;
})();
