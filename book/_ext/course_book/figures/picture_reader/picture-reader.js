/* The figure "picture-reader": choose a word of a caption and see where the model looked; cover a
 * place of the picture and read what it says then.
 *
 * model: { side, regions, models, pictures: [{ pixels, truth, readings }], note };
 * readings[model][0] is the caption of the whole picture, readings[model][1 + patch] that of the
 * picture with a patch covered: { words, weights }, weights[word][region] in thousandths, or null.
 */
(function () {
  "use strict";

  const { make, makeSvg } = window.courseElements;
  const { Radios, Summary, makeButton } = window.courseControls;
  const PATCHES = 4; // along each side
  const DARKEST = 0.35; // of what gets no weight
  const SEEN = 0.08; // a weight from which a region is framed
  const WORD_KEYS = { ArrowRight: 1, ArrowLeft: -1 };
  const PATCH_KEYS = { ...WORD_KEYS, ArrowDown: PATCHES, ArrowUp: -PATCHES };

  class PictureReader {
    constructor(model, el) {
      this.model = model;
      this.covered = null;
      this.word = 0;
      this.pictures = model.pictures.map((picture, i) => this.thumbnail(picture, i));
      const last = model.models.length - 1;
      this.radios = new Radios("The decoder gets", model.models, last, () => this.update());
      this.canvas = make("canvas", { width: model.side, height: model.side, role: "img" });
      this.light = make("canvas", {
        class: "reader-light", width: model.regions, height: model.regions, "aria-hidden": "true",
      });
      this.frames = makeSvg("svg", { class: "reader-frames", viewBox: `0 0 ${model.regions} ${model.regions}`, "aria-hidden": "true" });
      this.tag = make("span", { class: "reader-tag", "aria-hidden": "true" });
      this.patches = Array.from({ length: PATCHES ** 2 }, (_, i) => this.patch(i));
      this.caption = make("div", { class: "reader-words", role: "group", "aria-label": "Caption" });
      this.truth = make("p", { class: "reader-truth" });
      this.summary = new Summary();
      el.className = "reader";
      el.append(
        make("div", { class: "reader-controls" },
          make("div", { class: "reader-thumbs", role: "group", "aria-label": "Picture" }, ...this.pictures),
          this.radios.element),
        make("div", { class: "reader-board" },
          make("div", { class: "reader-picture" }, this.canvas, this.light, this.frames, this.tag,
            make("div", { class: "reader-patches", role: "group", "aria-label": "Cover a place" },
              ...this.patches)),
          make("div", { class: "reader-text" }, make("p", { class: "course-chart-title" }, "The model says"),
            this.caption, this.truth, this.summary.element)),
      );
      this.show(0);
    }

    thumbnail(picture, index) {
      const { side } = this.model;
      const canvas = make("canvas", { width: side, height: side, "aria-hidden": "true" });
      this.paint(canvas, picture);
      const button = makeButton("", () => this.show(index), "reader-thumb");
      button.setAttribute("aria-label", `Picture ${index + 1}`);
      button.append(canvas);
      return button;
    }

    patch(index) {
      const place = `row ${Math.floor(index / PATCHES) + 1}, column ${(index % PATCHES) + 1}`;
      const button = make("button", { type: "button", "aria-label": `Cover ${place}` });
      button.addEventListener("click", () => this.cover(index));
      button.addEventListener("keydown", (event) => this.move(event, PATCH_KEYS, this.patches, index));
      button.addEventListener("focus", () => this.makeReachable(this.patches, index));
      return button;
    }

    show(index) {
      this.picture = this.model.pictures[index];
      this.pictures.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
      this.covered = null;
      this.word = 0;
      this.makeReachable(this.patches, 0);
      this.paint(this.canvas, this.picture);
      this.canvas.setAttribute("aria-label", `In the picture: ${this.picture.truth.join(" ")}.`);
      this.update();
    }

    paint(canvas, { pixels }) {
      const { side } = this.model;
      const context = canvas.getContext("2d");
      const image = context.createImageData(side, side);
      for (let i = 0; i < side * side; i += 1) {
        for (let channel = 0; channel < 3; channel += 1) {
          const at = 6 * i + 2 * channel;
          image.data[4 * i + channel] = parseInt(pixels.slice(at, at + 2), 16);
        }
        image.data[4 * i + 3] = 255;
      }
      context.putImageData(image, 0, 0);
    }

    cover(index) {
      this.covered = this.covered === index ? null : index;
      this.update();
    }

    /** Arrow keys walk through buttons, of which one at a time is reached by Tab. */
    move(event, keys, buttons, from) {
      const to = from + keys[event.key];
      if (!(to >= 0 && to < buttons.length)) return;
      event.preventDefault();
      buttons[to].focus();
    }

    makeReachable(buttons, index) {
      buttons.forEach((button, i) => (button.tabIndex = i === index ? 0 : -1));
    }

    update() {
      const readings = this.picture.readings[this.radios.get()];
      this.whole = readings[0];
      this.reading = readings[this.covered === null ? 0 : 1 + this.covered];
      this.word = Math.max(0, Math.min(this.word, this.reading.words.length - 1));
      this.patches.forEach((button, i) =>
        button.setAttribute("aria-pressed", String(i === this.covered)));
      this.buttons = this.reading.words.map((word, i) => this.wordButton(word, i));
      this.caption.replaceChildren(...this.buttons);
      const isRight = this.reading.words.join(" ") === this.picture.truth.join(" ");
      const truth = this.picture.truth.join(" ");
      this.truth.textContent = isRight ? `\u2713 That is what the picture shows.` : `\u2717 The picture shows: ${truth}.`;
      this.truth.classList.toggle("is-wrong", !isRight);
      this.look(this.word);
    }

    wordButton(word, index) {
      const button = makeButton(word, () => this.look(index), "course-word");
      button.addEventListener("focus", () => this.look(index));
      button.addEventListener("keydown", (event) => this.move(event, WORD_KEYS, this.buttons, index));
      return button;
    }

    look(index) {
      this.word = index;
      this.makeReachable(this.buttons, index);
      this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
      const weights = this.reading.weights && this.reading.weights[index];
      this.shade(weights);
      this.frame(weights);
      this.summary.say([this.sayCover(), this.sayWord(weights)].filter(Boolean).join(" "));
    }

    /** Darken each region, the less weight it has. */
    shade(weights) {
      const { regions } = this.model;
      const context = this.light.getContext("2d", { willReadFrequently: true }); // tiny: off the GPU
      const image = context.createImageData(regions, regions);
      const most = weights ? Math.max(...weights) : 1;
      for (let i = 0; i < regions * regions; i += 1) {
        const share = weights ? weights[i] / most : 1;
        image.data[4 * i + 3] = Math.round(255 * DARKEST * (1 - share));
      }
      context.putImageData(image, 0, 0);
    }

    /** Frame what has a good share of the weight, and write the word beside the largest. */
    frame(weights) {
      const { regions } = this.model;
      const best = weights ? weights.indexOf(Math.max(...weights)) : -1;
      const shown = (weights || []).flatMap((weight, i) => (weight / 1000 >= SEEN || i === best ? [i] : []));
      this.frames.replaceChildren(...shown.flatMap((i) => ["outer", "inner"].map((kind) => {
        const frame = makeSvg("rect", {
          class: `reader-frame--${kind}`, x: i % regions, y: Math.floor(i / regions), width: 1, height: 1,
        });
        return frame;
      })));
      this.tag.style.display = weights ? "" : "none";
      if (!weights) return;
      const [row, column] = [Math.floor(best / regions), best % regions];
      this.tag.textContent = `${this.reading.words[this.word]} ${Math.round(weights[best] / 10)}%`;
      this.tag.classList.toggle("is-left", column >= regions / 2);
      this.tag.style.top = `${(100 * (row + 0.5)) / regions}%`;
      this.tag.style.left = `${(100 * (column + (column >= regions / 2 ? 0 : 1))) / regions}%`;
    }

    sayCover() {
      if (this.covered === null) return "";
      const before = this.whole.words.join(" ");
      return this.reading.words.join(" ") === before
        ? "One place is covered, and the caption stays the same."
        : `One place is covered. Before, the caption was: ${before}.`;
    }

    sayWord(weights) {
      if (!this.reading.words.length) return "The model says nothing.";
      const word = `\u201C${this.reading.words[this.word]}\u201D`;
      if (!weights) {
        return `For ${word}, as for every word, all ${this.model.regions ** 2} regions count alike: ` +
          "the decoder gets their mean.";
      }
      const { regions } = this.model;
      const best = weights.indexOf(Math.max(...weights));
      return `For ${word} it looks most at row ${Math.floor(best / regions) + 1}, ` +
        `column ${(best % regions) + 1} of ${regions}, with ${Math.round(weights[best] / 10)}% of the weight.`;
    }
  }

  window.courseFigures["picture-reader"] = PictureReader;
})();
