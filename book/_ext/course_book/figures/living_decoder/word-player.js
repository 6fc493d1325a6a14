/* Play, back and on over the words that are written; onMove is told at which word it stands. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Slider, makeButton } = window.courseControls;
  const PACE = 900; // milliseconds a word

  class WordPlayer {
    constructor(onMove) {
      this.onMove = onMove;
      this.play = makeButton("\u25B6 Play", () => (this.timer ? this.stop() : this.start()));
      this.slider = new Slider("Word", () => this.choose(this.slider.get()), { max: 1, value: 0 });
      this.pills = make("div", { class: "course-pills" }, this.play,
        makeButton("Back", () => this.choose(this.now - 1)), makeButton("Next word", () => this.choose(this.now + 1)));
      this.element = make("div", { class: "living-player" }, this.pills, this.slider.element);
    }

    /** Set the number of words, and go to word `now`. */
    load(words, now) {
      this.words = words;
      this.slider.input.max = words.length - 1;
      this.slider.input.disabled = words.length === 1;
      this.go(now);
    }

    go(place) {
      this.now = Math.min(Math.max(place, 0), this.words.length - 1);
      this.slider.set(this.now);
      this.slider.show(`word ${this.now + 1} of ${this.words.length}`, this.words[this.now]);
      this.onMove(this.now);
    }

    choose(place) {
      this.stop();
      this.go(place);
    }

    start() {
      if (this.now === this.words.length - 1) this.go(0);
      this.play.textContent = "\u275A\u275A Pause";
      this.timer = setInterval(() => {
        this.go(this.now + 1);
        if (this.now === this.words.length - 1) this.stop();
      }, PACE);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = "\u25B6 Play";
    }
  }

  window.courseLooks.WordPlayer = WordPlayer;
})();
