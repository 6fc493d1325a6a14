/* Play, step and back over the moments of a translation: encoder stages once, decoder stages a word. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, makeButton } = window.courseControls;
  const PACE = 750; // milliseconds a stride

  /** The moments of a run: { stage, step, where }, in the order of computation; where says it in words. */
  function moments(stages, steps) {
    const reading = stages.encoder.map((stage) => ({ stage, step: 0, where: `reading: ${stage.short}` }));
    const writing = Array.from({ length: steps }, (_, step) => stages.decoder.map((stage) => (
      { stage, step, where: `word ${step + 1} of ${steps}: ${stage.short}` })));
    return [...reading, ...writing.flat()];
  }

  class Player {
    /** onMove(moment) is called at each moment; onCloser() scrolls to the lens, far below on a phone. */
    constructor(onMove, onCloser) {
      this.onMove = onMove;
      this.play = makeButton("\u25B6 Play", () => (this.timer ? this.stop() : this.start()), "course-pill living-play");
      this.next = makeButton("Next word", () => this.nextWord());
      this.buttons = [
        this.play,
        makeButton("Back", () => this.go(this.now - 1)),
        makeButton("Step", () => this.go(this.now + 1)),
        this.next,
      ];
      this.slider = new Slider("Where it is", () => this.go(this.slider.get()), { max: 1, value: 0 });
      this.pills = make("div", { class: "course-pills" }, ...this.buttons);
      this.element = make("div", { class: "living-player" }, this.pills, makeButton("Closer \u2193", onCloser, "living-closer"), this.slider.element);
    }

    /** Load new moments, and stay at the one nearest to this stage and step. */
    load(list, { stage, step }) {
      this.list = list;
      this.slider.input.max = list.length - 1;
      const same = list.filter((moment) => moment.stage === stage);
      this.go(list.indexOf(same.findLast((moment) => moment.step <= step)));
    }

    go(place) {
      this.now = Math.min(Math.max(place, 0), this.list.length - 1);
      this.slider.set(this.now);
      this.slider.show(this.list[this.now].where);
      this.next.disabled = this.now === this.list.length - 1;
      this.onMove(this.list[this.now]);
    }

    /** Go to the same stage at the next word; from the encoder, to the decoder's last cross-attention; at the last word, to its end. */
    nextWord() {
      const { step, stage } = this.list[this.now];
      const [kept, next] = stage.side === "encoder" ? [({ cross }) => cross, 0] : [(other) => other === stage, step + 1];
      const place = this.list.findLastIndex((moment) => kept(moment.stage) && moment.step <= next);
      this.go(place === this.now ? this.list.length - 1 : place);
    }

    /** Play to the end; each call of `stride` moves on, by default to the next moment. */
    start(stride = () => this.go(this.now + 1)) {
      this.stop();
      if (this.now === this.list.length - 1) this.go(0);
      this.play.textContent = "\u275A\u275A Pause";
      this.timer = setInterval(() => {
        const before = this.now;
        stride();
        if (this.now === before || this.now === this.list.length - 1) this.stop();
      }, PACE);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = "\u25B6 Play";
    }
  }

  Object.assign(window.courseLiving, { Player, moments });
})();
