/* The figure "language-model": a real language model runs in the page, and the reader can inspect it and switch parts off.
 *
 * model: a recorded run, { date, command, name, layers, tokens, heads, note }; see figure.py. It is in view
 * until the reader loads the model itself.
 */
(function () {
  "use strict";

  const { make, grouped } = window.courseElements;
  const { Counts, Radios, Slider, Summary, makeButton } = window.courseControls;
  const { RecordedRun, Writer } = window.courseModelDesk;
  const { Look } = window.courseModelLook;
  const MOST_NEW = 60; // tokens of one press of the button

  class LanguageModel {
    constructor(model, el) {
      el.className = "model";
      this.source = new window.courseModelSource((buffer, onShare) => this.open(buffer, onShare));
      this.look = new Look();
      this.whole = new Writer("The whole model", this.look);
      this.cut = new Writer("With your cuts", this.look);
      this.cut.text.element.hidden = true;
      this.facts = make("p", { class: "model-facts" },
        `Recorded on ${model.date} with ${model.name} by `, make("code", {}, model.command), ". Load the model to write your own; a record holds a few heads only.");
      this.counts = new Counts();
      this.summary = new Summary();
      this.surgery = new window.courseModelSurgery({
        onChange: () => this.changed(),
        search: (onShare, cuts) => this.laboratory.call("induction", { seed: this.settings.seed, cuts }, onShare),
      });
      this.desk = this.makeDesk();
      this.desk.hidden = this.surgery.element.hidden = true;
      el.append(this.source.element, this.facts, this.desk, this.whole.text.element, this.cut.text.element,
        this.counts.element, this.summary.element, this.look.element, this.surgery.element);
      this.whole.show(new RecordedRun(model));
      this.whole.text.choose(model.tokens.findIndex(({ written }) => written));
    }

    makeDesk() {
      this.prompt = make("textarea", { id: "model-prompt", class: "course-field", rows: 3 });
      this.prompt.value = "The little dog ran into the forest because";
      this.kind = new Radios("The model", ["continues the text", "answers it, as a chat"], 0, () => {});
      this.temperature = new Slider("Temperature", () => this.showSliders(), { min: 0, max: 1.5, step: 0.1, value: 0 });
      this.topP = new Slider("Top p", () => this.showSliders(), { min: 0.05, max: 1, step: 0.05, value: 0.9 });
      this.seed = make("input", { id: "model-seed", class: "course-field", type: "number", min: 0, max: 9999, value: 1 });
      this.showSliders();
      this.write = makeButton("Write", () => this.run(), "course-pill model-go");
      this.more = makeButton("Go on", () => this.goOn());
      this.stop = makeButton("Stop", () => (this.stopped = true));
      this.bar = make("progress", { max: 1, value: 0, "aria-label": "Reading the text" });
      this.bar.hidden = true;
      this.more.disabled = this.stop.disabled = true;
      return make("div", { class: "model-desk" },
        make("label", { class: "course-label", for: "model-prompt" }, "Your text"), this.prompt, this.kind.element,
        make("div", { class: "course-sliders" }, this.temperature.element, this.topP.element,
          make("div", { class: "model-field" }, make("label", { class: "course-label", for: "model-seed" }, "Seed"), this.seed)),
        make("div", { class: "course-pills" }, this.write, this.more, this.stop), this.bar);
    }

    showSliders() {
      const temperature = this.temperature.get();
      this.temperature.show(temperature === 0 ? "0: the likeliest" : temperature.toFixed(1));
      this.topP.show(this.topP.get().toFixed(2));
    }

    get settings() {
      return { temperature: this.temperature.get(), topP: this.topP.get(), seed: Number(this.seed.value) || 0 };
    }

    /** The state that a link to the figure holds: the prompt and the chosen token, but no model. */
    get state() {
      return { prompt: this.prompt.value, place: this.whole.text.chosen };
    }

    restore({ prompt, place }) {
      this.prompt.value = prompt;
      if (place >= 0 && place < this.whole.text.tokens.length) this.whole.text.choose(place);
    }

    /** Open a file's bytes in a new laboratory. If that fails, the old one stays in use. */
    async open(buffer, onShare) {
      const parts = [this.desk, this.surgery.element];
      parts.forEach((part) => (part.inert = true));
      try {
        await this.replace(buffer, onShare);
      } finally {
        parts.forEach((part) => (part.inert = false));
      }
      this.prompt.focus();
    }

    async replace(buffer, onShare) {
      const laboratory = await window.courseStartLaboratory(window.courseDeferred["language-model"]);
      const model = await laboratory.call("open", { buffer }, onShare).catch((error) => {
        laboratory.end();
        throw error;
      });
      this.laboratory?.end();
      Object.assign(this, { laboratory, model });
      const licence = model.licence ? `, licence ${model.licence}` : "";
      const types = Object.entries(model.types).map(([type, count]) => `${count} of ${type}`).join(", ");
      this.facts.textContent = `${model.name}${licence}: ${grouped(model.parameters)} parameters in ${Math.round(model.bytes / 1e6)}\u00A0MB (tensors: ${types}); ${model.layers} layers, ${model.heads} heads of queries on ${model.keyHeads} of keys and values, width ${model.width}, ${grouped(model.vocabulary)} tokens. It runs ${laboratory.inWorker ? "in a worker" : "in this page"}.`;
      this.kind.element.hidden = !model.canChat;
      this.whole.text.clear();
      this.look.reset();
      this.surgery.offer(model);
      this.desk.hidden = this.surgery.element.hidden = false;
      this.counts.show([]);
      this.summary.say("The model is ready. Write.");
    }

    changed() {
      if (!this.model) return;
      this.cut.text.element.hidden = this.surgery.isWhole;
      if (this.whole.run.laboratory) this.summary.tell(this.surgery.isWhole ? "The model is whole." : "Press \u201CWrite\u201D: the model with your cuts writes beside the whole one.");
    }

    get writers() {
      return this.surgery.isWhole ? [this.whole] : [this.whole, this.cut];
    }

    setBusy(busy) {
      [this.write, this.prompt].forEach((part) => (part.disabled = busy));
      this.more.disabled = busy || this.ended;
      this.stop.disabled = !busy;
    }

    /** Read the prompt, then write. */
    run() {
      this.look.reset();
      this.ended = false;
      this.active = this.writers;
      return this.work(async () => {
        this.bar.hidden = false;
        const onShare = (share) => (this.bar.value = share);
        const chat = this.model.canChat && this.kind.get() === 1;
        [this.whole, this.cut].forEach((writer) => writer.text.clear());
        for (const writer of this.active) {
          const cuts = writer === this.whole ? undefined : this.surgery.cuts;
          const prompt = { name: writer === this.whole ? "whole" : "cut", text: this.prompt.value, chat, cuts };
          const { ms, bytes } = await writer.begin(this.laboratory, this.model, prompt, onShare);
          if (writer === this.whole) this.measured = { promptMs: ms, bytes, ms: [] };
          else this.measured.cutBytes = bytes;
          writer.ended = false;
          this.bar.value = 0;
        }
        this.bar.hidden = true;
        await this.stream();
      });
    }

    goOn() {
      return this.work(() => this.stream());
    }

    /** Run some steps of the model. Meanwhile only "Stop" can be pressed; the summary shows an error. */
    async work(steps) {
      this.stopped = false;
      this.setBusy(true);
      try {
        await steps();
      } catch (error) {
        this.ended = true;
        this.summary.say(error.message);
      }
      this.bar.hidden = true;
      this.setBusy(false);
      (this.ended ? this.write : this.more).focus();
    }

    async stream() {
      for (let i = 0; i < MOST_NEW && !this.stopped && !this.ended; i += 1) {
        for (const writer of this.active.filter(({ ended }) => !ended)) {
          const token = await writer.next(this.settings);
          writer.ended = token.ended;
          if (writer === this.whole) {
            this.measured.ms.push(token.ms);
            this.measured.bytes = token.bytes;
          } else {
            this.measured.cutBytes = token.bytes;
          }
        }
        this.ended = this.active.every(({ ended }) => ended);
        this.drawCounts();
      }
      const written = this.active.map(({ run }) => run.tokens.filter(({ written: own }) => own).map(({ text }) => text).join(""));
      this.summary.say(written.length === 1 ? `Written:${written[0]}` : written[0] === written[1]
        ? "Both wrote the same." : `The whole model:${written[0]} \u2014 with your cuts:${written[1]}`);
    }

    drawCounts() {
      const { promptMs, bytes, cutBytes, ms } = this.measured;
      const tokens = this.whole.run.tokens.length;
      const mean = ms.reduce((sum, x) => sum + x, 0) / ms.length;
      this.counts.show([
        ["tokens", `tokens, of ${this.model.most} that fit`, tokens],
        ["prompt", "ms for reading the prompt", grouped(Math.round(promptMs))],
        ["token", "ms for the newest token", grouped(Math.round(ms.at(-1)))],
        ["speed", "tokens a second", (1000 / mean).toFixed(1)],
        ["bytes", `bytes of keys and values (${grouped(bytes / tokens)} a token)`, grouped(bytes)],
        ...(cutBytes ? [["cut-bytes", "bytes of keys and values, with your cuts", grouped(cutBytes)]] : []),
      ]);
    }
  }

  window.courseFigures["language-model"] = LanguageModel;
})();
