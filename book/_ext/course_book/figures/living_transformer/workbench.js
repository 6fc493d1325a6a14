/* The workbench: a Transformer runs, and everything in it can be looked at and switched off.
 *
 * new Workbench({ config, words, parameters }, examples, el): parameters as matrices; examples are those
 * of figure.py, and none for a model of which no truth is known.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Summary, Radios, makeButton } = window.courseControls;
  const {
    split, complaint, join, readable, encoderStages, decoderStages, OPERATIONS, explain, partsOff, trueKeys,
    Drawing, Lens, Player, moments, makeRun, makeRight, compareRuns,
  } = window.courseLiving;
  const { Transformer, translate } = window.courseEngine;
  const LONGEST = 20; // words that are written at most

  class Workbench {
    constructor({ config, words, parameters }, examples, el) {
      Object.assign(this, { config, words, examples, el, parameters });
      this.stages = { encoder: encoderStages(config), decoder: decoderStages(config) };
      this.cuts = new Set();
      this.truth = false;
      this.question = null; // of the page: { title, judge }, judge where a head is its answer
      this.look = { level: "layer", head: 0, query: 0, key: 0 };
      this.moment = { stage: this.stages.decoder.findLast(({ cross }) => cross), step: 0 };
      this.build();
    }

    build() {
      this.results = make("div", { class: "living-results" });
      this.why = make("div", { class: "living-whys", "aria-live": "polite" });
      this.player = new Player((moment) => this.arrive(moment), () => this.lens.element.scrollIntoView());
      this.drawing = new Drawing(this.stages, {
        onStage: (stage) => this.enter(stage),
        onWord: (stage, word) => this.choose(stage, word),
      });
      this.lens = new Lens();
      this.shown = new Radios("The drawing shows", ["the broken model", "the whole one"], 0, () => this.reload());
      this.truthButton = makeButton("Alignment and agreement", () => this.toggleTruth());
      this.truthButton.setAttribute("aria-pressed", "false");
      this.truthButton.hidden = this.examples.length === 0;
      this.options = make("div", { class: "living-options" }, this.truthButton, ...this.makeFull(), this.shown.element);
      this.legend = make("p", { class: "living-legend" });
      this.summary = new Summary();
      this.verdict = make("p", { class: "living-verdict", role: "status" });
      this.effect = make("p", { class: "living-effect", role: "status" });
      this.el.append(this.results, this.makeSurgery(), this.why, this.player.element, this.options, this.drawing.element,
        make("div", { class: "living-beside" }, this.summary.element, this.legend, this.lens.element));
      this.drawing.element.addEventListener("keydown", (event) => this.steer(event));
      this.watch();
      this.el.hidden = true; // until there is a sentence
    }

    /** Draw anew in another size or theme. */
    watch() {
      const again = () => this.ready && this.draw();
      this.watchers = [new ResizeObserver(again), new MutationObserver(again)];
      this.watchers[0].observe(this.drawing.element);
      this.watchers[1].observe(document.documentElement, { attributeFilter: ["data-theme"] });
    }

    /** Close the workbench, so that another model can take its place. */
    close() {
      this.player.stop();
      this.watchers.forEach((watcher) => watcher.disconnect());
    }

    /** A button that gives the figure the whole screen, where the browser can. */
    makeFull() {
      if (!document.fullscreenEnabled) return [];
      const stage = this.el.closest(".course-interactive__stage");
      const button = makeButton("Whole screen", () => (document.fullscreenElement ? document.exitFullscreen() : stage.requestFullscreen()));
      stage.onfullscreenchange = () => (button.textContent = document.fullscreenElement ? "Leave the whole screen" : "Whole screen");
      return [button];
    }

    makeSurgery() {
      this.switches = OPERATIONS.map(({ cut, name }) => this.switchButton(cut, name));
      this.heal = makeButton("Put all back", () => {
        this.cuts.clear();
        this.operate();
        this.switches[0].focus();
      }, "living-heal");
      return make("fieldset", { class: "living-surgery" }, make("legend", {}, "Switch off:"), ...this.switches, this.heal);
    }

    /** A button above the drawing that switches a part off and on again. */
    switchButton(cut, name) {
      const button = makeButton(name, () => this.turn(cut), "course-pill living-switch");
      button.dataset.cut = cut;
      return button;
    }

    /** A button in the lens that switches a part off or on; its label names that action. */
    partButton(cut, name) {
      const says = this.cuts.has(cut) ? `Put ${name} back` : `Switch off ${name}`;
      const button = makeButton(says, () => {
        this.turn(cut);
        this.lens.element.querySelector(`[data-cut="${cut}"]`).focus();
      }, "course-pill living-switch");
      button.dataset.cut = cut;
      return button;
    }

    turn(cut) {
      if (!this.cuts.delete(cut)) this.cuts.add(cut);
      this.operate();
    }

    // ---- a sentence ----

    /** Translate a sentence, and show it; return a message if it can't be translated. */
    read(text) {
      const words = split(text, this.words.src);
      const problem = complaint(words, this.words.src);
      this.player.stop();
      this.el.inert = Boolean(problem); // greyed out: it is of another sentence
      if (problem) return problem;
      const end = this.words.src.indexOf("<end>");
      const looked = this.source?.[this.look.query];
      this.ids = [...words.map((word) => this.words.src.indexOf(word)), end];
      this.source = [...words, "end"];
      this.example = this.examples.find(({ src }) => join(src) === join(words)) ?? null;
      this.look = { ...this.look, level: "layer", query: Math.max(this.source.indexOf(looked), 0), key: 0 };
      this.whole = this.run(new Set());
      this.operate();
      return "";
    }

    run(cuts) {
      const model = new Transformer(this.config, this.parameters, cuts);
      const [start, end] = ["<start>", "<end>"].map((word) => this.words.tgt.indexOf(word));
      return translate(model, this.ids, { start, end, most: LONGEST });
    }

    /** Compute without the parts that are switched off now, and show both results. */
    operate() {
      this.operated = this.cuts.size ? this.run(this.cuts) : null;
      this.switches.forEach((button) => button.setAttribute("aria-pressed", String(this.cuts.has(button.dataset.cut))));
      this.heal.hidden = this.cuts.size === 0;
      this.shown.element.hidden = !this.operated;
      this.why.replaceChildren(...explain(this.cuts));
      this.effect.textContent = this.operated ? compareRuns(this.written(this.whole), this.written(this.operated)) : "";
      this.showResults();
      this.reload();
    }

    showResults() {
      const written = this.written(this.whole);
      const due = this.truth && this.example ? [...this.example.tgt, "<end>"] : null;
      const right = due && join(due) !== join(written) ? due : null;
      const go = (step) => this.visit(this.stages.decoder.at(-1), step);
      const lines = [makeRun(this.operated ? "whole" : "French", this.whole, this.words.tgt, right, go)];
      if (this.operated) lines.push(makeRun("broken", this.operated, this.words.tgt, written, go, "changed"));
      if (right) lines.push(makeRight(this.example.tgt));
      if (due && !right) lines[0].lastChild.append(make("small", { class: "living-key" }, "all of it right"));
      this.results.replaceChildren(...lines);
    }

    /** The words that a run wrote. */
    written(run) {
      return run.steps.map(({ chosen }) => this.words.tgt[chosen]);
    }

    get current() {
      return this.operated && this.shown.get() === 0 ? this.operated : this.whole;
    }

    /** Take a head as the answer to the page's question, and show whether it is right. */
    answer(attention, head) {
      const { right, words } = this.question.judge(attention, head);
      this.verdict.dataset.right = right;
      this.verdict.textContent = words;
      this.verdict.scrollIntoView({ block: "nearest" });
    }

    /** Bring the drawing and its controls into view. */
    greet() {
      this.results.scrollIntoView();
      this.player.play.focus({ preventScroll: true });
    }

    /** Play word by word, for readers who have not asked for less motion. */
    play() {
      if (this.ready && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.start(() => this.player.nextWord());
    }

    /** Show a question's scene: a sentence, a stage of the model, a word, and whether the truth is shown. */
    set({ sentence, stage, word, step = 0, truth = false }) {
      this.cuts.clear();
      this.showTruth(truth);
      this.moment = { stage: Object.values(this.stages).flat().find(({ id }) => id === stage), step };
      this.read(sentence);
      if (word !== undefined) this.zoom({ query: word }, false);
    }

    get state() {
      return { place: this.player.now, cuts: [...this.cuts], truth: this.truth, look: this.look };
    }

    restore({ place, cuts, truth, look }) {
      this.cuts = new Set(cuts);
      this.showTruth(truth);
      this.operate();
      this.player.go(place);
      this.look = look;
      this.draw();
    }

    reload() {
      this.ready = true;
      this.el.hidden = false;
      const stay = this.look; // in the same row, if it is still there
      this.player.load(moments(this.stages, this.current.steps.length), this.moment);
      this.look = { ...stay, query: Math.min(stay.query, this.asking().length - 1) };
      this.draw();
    }

    // ---- moving about ----

    /** Show a moment of the player's, with the newest word chosen. */
    arrive(moment) {
      const changed = moment.stage !== this.moment.stage || moment.step !== this.moment.step;
      const sides = moment.stage.side !== this.moment.stage.side;
      this.moment = moment;
      if (moment.stage.side === "decoder") this.look.query = moment.step;
      else if (sides) this.look.query = this.partner(1, this.look.query) ?? 0;
      if (changed && this.player.element.contains(document.activeElement)) this.drawing.follow(moment.stage, this.player.element);
      if (changed) this.verdict.textContent = this.effect.textContent = "";
      if (changed) Object.assign(this.look, { level: this.sameKind(moment) ? this.look.level : "layer", key: 0 });
      this.draw();
    }

    sameKind({ stage }) {
      return stage.kind === "attention";
    }

    /** The place of the word in the other language that this one stands for, if the truth is known; `side` 0 is English. */
    partner(side, place) {
      return this.example?.alignment.find((pair) => pair[side] === place)?.[1 - side];
    }

    /** Go to a stage; from the encoder to the step that writes the word that was looked at, else at this step. */
    visit(stage, step = this.stepFor(stage)) {
      this.player.stop();
      const list = this.player.list;
      this.player.go(list.findIndex((moment) => moment.stage === stage && (stage.side === "encoder" || moment.step === step)));
    }

    /** Choose a stage in the drawing; the lens opens it. */
    enter(stage) {
      this.visit(stage);
      this.lens.growFrom(this.drawing.labelOf(stage));
    }

    /** Leave the lens for its stage in the drawing. */
    leave() {
      this.zoom({ level: "layer" }, false);
      this.drawing.labelOf(this.moment.stage).focus();
    }

    stepFor(stage) {
      const leaves = stage.side === "decoder" && this.moment.stage.side === "encoder";
      const step = leaves ? this.partner(0, this.look.query) : undefined;
      return step < this.current.steps.length ? step : this.moment.step;
    }

    /** Look at a word; at a stage of the drawing, or of the side on which the word stands. */
    choose(stage, word) {
      if (stage && stage !== this.moment.stage) this.visit(stage);
      this.zoom({ query: word, level: this.look.level }, false);
    }

    zoom(change, focus = true) {
      this.player.stop();
      if ("head" in change && change.head !== this.look.head) this.effect.textContent = "";
      Object.assign(this.look, change);
      this.draw();
      if (focus) this.lens.path.querySelector(".living-here").focus();
    }

    steer(event) {
      const [ahead, down] = [{ ArrowRight: 1, ArrowLeft: -1 }[event.key], { ArrowDown: 1, ArrowUp: -1 }[event.key]];
      if (!ahead && !down) return;
      event.preventDefault();
      if (down) this.player.go(this.player.now + down);
      else this.zoom({ query: Math.min(Math.max(this.look.query + ahead, 0), this.asking().length - 1) }, false);
      this.drawing.element.querySelector(ahead ? ".living-word[aria-pressed=true]" : ".living-label[aria-pressed=true]").focus();
    }

    showTruth(truth) {
      this.truth = truth;
      this.truthButton.setAttribute("aria-pressed", String(truth));
    }

    toggleTruth() {
      this.showTruth(!this.truth);
      this.showResults();
      this.draw();
    }

    // ---- showing ----

    asking(side = this.moment.stage.side) {
      if (side === "encoder") return this.source;
      return this.current.steps[this.moment.step].read.map((id) => readable(this.words.tgt[id]));
    }

    draw() {
      const view = this.view();
      this.drawing.draw({ ...view, sides: this.sides(), looks: this.looks(view) });
      this.lens.show(view);
      this.legend.textContent = this.explainTruth();
      this.summary.tell(this.sentence());
    }

    view() {
      const { stage, step } = this.moment;
      const { encoded, steps } = this.current;
      const written = this.written(this.current);
      return {
        ...this.look, stage, truth: this.truth, cuts: this.cuts, config: this.config, words: this.words,
        trace: stage.side === "encoder" ? encoded : steps[step].trace,
        asking: this.asking(),
        answering: stage.cross ? this.source : this.asking(),
        mayLook: (i, j) => stage.side === "encoder" || stage.cross || j <= i || (this.current === this.operated && this.cuts.has("causal_mask")),
        asked: this.question?.title ?? "", answer: this.question?.judge && ((head) => this.answer(stage.attention, head)),
        verdict: this.verdict, effect: this.effect,
        isOff: (head) => this.isOff(stage, head),
        trueKeys: (i) => trueKeys(this.example, written, stage, i),
        zoom: (change) => this.zoom(change),
        leave: () => this.leave(),
        partButton: (cut, name) => this.partButton(cut, name),
      };
    }

    /** The view of each side: the matrices computed so far. */
    sides() {
      const { stage, step } = this.moment;
      const { encoded, steps } = this.current;
      const reading = stage.side === "encoder";
      const row = this.stages[stage.side].indexOf(stage);
      const earlier = !reading && step > 0 ? steps[step - 1].trace : {};
      const ended = row === this.stages.decoder.length - 1;
      const said = steps.slice(0, ended ? step + 1 : step).map(({ chosen }) => readable(this.words.tgt[chosen]));
      return {
        encoder: {
          words: this.source, lanes: this.source.length, said: [],
          matrices: this.stages.encoder.map(({ id }, i) => (reading && i > row ? null : encoded[id])),
          off: this.stages.encoder.map((stage) => this.off(stage)),
        },
        decoder: {
          words: reading ? [] : this.asking("decoder"), lanes: steps.length, said: reading ? [] : said,
          matrices: this.stages.decoder.map(({ id }, i) => (reading ? null : i <= row ? steps[step].trace[id] : earlier[id] ?? null)),
          off: this.stages.decoder.map((stage) => this.off(stage)),
        },
      };
    }

    /** The parts of a stage that are switched off in the view, in words. */
    off(stage) {
      return this.current === this.operated ? partsOff(stage, this.cuts) : [];
    }

    /** Whether a head of a stage is switched off in the view: alone, or as part of cross-attention. */
    isOff(stage, head) {
      const off = this.cuts.has(`${stage.attention}.heads.${head}`) || (stage.cross && this.cuts.has("cross_attention"));
      return off && this.current === this.operated;
    }

    /** Where the word that is looked at takes its attention from: the chosen head's, or the mean of all that are on. */
    looks(view) {
      if (view.stage.kind !== "attention") return [];
      const heads = view.trace[`${view.stage.attention}.weights`];
      const chosen = view.level === "layer" ? heads.map((_, head) => head) : [view.head];
      const taken = chosen.filter((head) => !this.isOff(view.stage, head)).map((head) => heads[head]);
      const { partner, agreement } = view.truth ? view.trueKeys(view.query) : { partner: new Set(), agreement: new Set() };
      return view.answering.map((_, key) => ({
        key,
        weight: taken.reduce((sum, head) => sum + head.row(view.query)[key] / taken.length, 0),
        truth: partner.has(key) ? "partner" : agreement.has(key) ? "agreement" : "",
      }));
    }

    explainTruth() {
      if (!this.truth) return "Press a row, a word or a vector of the drawing: its numbers stand under the lens.";
      if (!this.example) return "The truth is known of the sentences in the list; of one that you type, only the model\u2019s word.";
      return "Solid dark: alignment, the word that is translated here. Dashed red: agreement, the word that decides this one\u2019s form. Percentages: how much of its weight a head puts there, for the word that you look at.";
    }

    sentence() {
      const { stage, step } = this.moment;
      if (stage.cross && this.current === this.operated && this.cuts.has("cross_attention")) {
        return `${stage.name}. It is switched off: nothing of the source comes through.`;
      }
      const says = stage.says(this.asking()[this.look.query]);
      if (stage.side === "encoder") return `${stage.name}. ${says}`;
      const next = readable(this.words.tgt[this.current.steps[Math.min(this.look.query, step)].chosen]);
      return `${stage.name}, on the way to \u201c${next}\u201d. ${says}`;
    }
  }

  window.courseLiving.Workbench = Workbench;
})();
