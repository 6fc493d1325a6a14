/* The figure "living-captioner": the reader makes a picture of shapes, and a captioner looks at it.
 *
 * model: { model: id of its file, side, colors, kinds, sizes, scenes, note }; see figure.py. The picture can be
 * made at once; the engine and the captioner are loaded once it is to be described.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Radios, makeButton, makeSelect } = window.courseControls;
  const { Board, render } = window.courseCaptioner;
  const NOTHING = new Set();
  const [MAKING, LOOKING] = [0, 1]; // what pressing the picture does

  const sameLook = (a, b) => ["kind", "color", "size"].every((name) => a[name] === b[name]);
  const samePlace = (a, b) => a.row === b.row && a.column === b.column;

  class LivingCaptioner {
    constructor(model, el) {
      this.model = model;
      this.file = JSON.parse(document.getElementById(model.model).textContent);
      this.colors = Object.keys(model.colors);
      this.sizes = Object.keys(model.sizes);
      this.kind = new Radios("Shape", model.kinds, 0, () => this.turnTo(MAKING));
      this.color = new Radios("Colour", this.colors, 0, () => this.turnTo(MAKING));
      this.size = new Radios("Size", this.sizes, 0, () => this.turnTo(MAKING));
      this.color.element.classList.add("caption-colors");
      this.color.inputs.forEach((input, i) => input.nextSibling.style.setProperty("--swatch", `rgb(${model.colors[this.colors[i]].map((part) => 255 * part).join(" ")})`));
      this.pick = makeSelect("Begin with", Object.entries(model.scenes.map(({ name }) => name)), () => this.begin());
      this.board = new Board({ side: model.side, onPlace: (...place) => this.put(...place), onRegion: (place) => this.reader.press(place) });
      this.mode = new Radios("Pressing the picture", ["puts the shape there", "turns its look there, or away"], 0, () => this.draw());
      this.mode.element.hidden = true;
      this.go = makeButton(`Describe it (loads ${Math.round(this.file.bytes / 1000)} kB once)`, () => this.wake(), "course-pill living-go");
      this.said = make("div", { class: "caption-said" }, make("div", { class: "living-start" },
        make("p", {}, "Put a few shapes into the picture. Then let the model look at it."), this.go));
      el.className = "living caption";
      el.append(
        make("div", { class: "caption-halves" },
          make("div", { class: "caption-making" },
            make("div", { class: "caption-pick" }, this.pick.label, this.pick.select, makeButton("Clear", () => this.change([]))),
            this.kind.element, this.color.element, this.size.element, this.mode.element, this.board.element),
          this.said));
      this.begin();
    }

    /** Take one of the pictures that the chapter made. */
    begin() {
      this.change(this.model.scenes[this.pick.select.value].shapes);
    }

    /** Put the chosen shape into a column; what stood there goes, and a shape of its own look goes for good. */
    put(row, column) {
      const shape = { kind: this.model.kinds[this.kind.get()], color: this.colors[this.color.get()], size: this.sizes[this.size.get()], row, column };
      const others = this.shapes.filter((other) => other.column !== column);
      const again = this.shapes.some((other) => samePlace(other, shape) && sameLook(other, shape));
      this.change(again ? others : [...others, shape]);
    }

    change(shapes) {
      this.shapes = [...shapes].sort((a, b) => a.column - b.column);
      this.picture = render(this.shapes, this.model);
      this.reader?.read(this.picture, this.shapes);
      this.turnTo(MAKING);
    }

    /** Set what pressing the picture does: placing a shape, or choosing a region. */
    turnTo(mode) {
      this.mode.inputs[mode].checked = true;
      this.draw();
    }

    /** Load the captioner, and let it describe the picture. */
    async wake() {
      await window.courseLoad([...window.courseDeferred["living-captioner"], this.file.file]);
      this.said.replaceChildren();
      this.mode.element.hidden = false;
      this.reader ??= new window.courseCaptioner.Reader(window.courseModels[this.model.model], this.model, this.said, {
        onLook: () => this.turnTo(LOOKING),
        onChange: () => this.draw(),
      });
      this.reader.read(this.picture, this.shapes);
      this.turnTo(LOOKING);
    }

    draw() {
      const looking = this.reader && this.mode.get() === LOOKING;
      this.board.show({
        picture: this.picture, shapes: this.shapes,
        look: looking ? this.reader.weights : null,
        framed: looking ? this.reader.trueRegions : NOTHING,
      });
    }
  }

  window.courseFigures["living-captioner"] = LivingCaptioner;
})();
