/* The controls that switch parts of the model off, and the search for induction heads, whose list has buttons
 * to switch them off too.
 *
 * new Surgery({ onChange, search }): search(onShare, cuts) returns the laboratory's result of `induction`. Without
 * `cuts` it searches in the whole model.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { Summary, makeButton, makeSelect } = window.courseControls;
  const { makeField, makeTable, offerNumbers } = window.courseModelLook;
  const { percent } = window.courseModelText;

  const nameOf = (key) => {
    const [layer, head] = key.split(".").map(Number);
    return `head ${head + 1} of layer ${layer + 1}`;
  };

  class Surgery {
    constructor({ onChange, search }) {
      Object.assign(this, { onChange, search, heads: new Set(), layers: new Set(), switches: {}, found: null });
      this.switch("rotary", "Positions off");
      this.switch("sink", "Sink off");
      this.switch("groups", "Grouped queries off");
      this.switches.groups.title = "All heads of queries share one head of keys and values, the mean of those of the groups: multi-query attention.";
      this.layer = makeSelect("Layer", [], () => {});
      this.head = makeSelect("Head", [], () => {});
      this.list = make("div", { class: "course-pills", role: "group", "aria-label": "Parts that are switched off" });
      this.heal = makeButton("Heal all", () => this.healAll());
      this.searchButton = makeButton("Search for induction heads", () => this.find());
      this.bar = make("progress", { max: 1, value: 0, "aria-label": "Searching" });
      this.bar.hidden = true;
      this.ranking = make("div", { class: "model-ranking" });
      this.summary = new Summary();
      this.element = make("div", { class: "model-surgery" },
        make("p", { class: "model-heading" }, "Surgery"),
        make("div", { class: "course-pills" }, ...Object.values(this.switches)),
        make("div", { class: "course-pills" }, makeField(this.layer), makeField(this.head),
          makeButton("Switch this head off", () => this.cut(this.heads, `${this.layer.select.value}.${this.head.select.value}`)),
          makeButton("Switch this layer off", () => this.cut(this.layers, Number(this.layer.select.value)))),
        this.list,
        make("div", { class: "course-pills" }, this.searchButton, this.heal), this.bar, this.ranking, this.summary.element);
      this.draw();
    }

    switch(name, words) {
      const button = makeButton(words, () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        this.change();
      }, "course-pill model-switch");
      button.setAttribute("aria-pressed", "false");
      this.switches[name] = button;
    }

    /** Offer the layers and heads of a model. */
    offer({ layers, heads, keyHeads }) {
      this.switches.groups.hidden = keyHeads === 1; // it has multi-query attention already
      offerNumbers(this.layer, [...Array(layers).keys()]);
      offerNumbers(this.head, [...Array(heads).keys()]);
      this.found = null;
      this.ranking.replaceChildren();
      this.healAll();
    }

    get cuts() {
      const pressed = (name) => this.switches[name].getAttribute("aria-pressed") === "true";
      return { heads: [...this.heads], layers: [...this.layers], rotary: pressed("rotary"), sink: pressed("sink"), groups: pressed("groups") };
    }

    get isWhole() {
      const { heads, layers, ...switches } = this.cuts;
      return !heads.length && !layers.length && !Object.values(switches).includes(true);
    }

    cut(set, key) {
      set.add(key);
      this.change();
    }

    healAll() {
      this.heads.clear();
      this.layers.clear();
      Object.values(this.switches).forEach((button) => button.setAttribute("aria-pressed", "false"));
      this.change();
    }

    change() {
      this.draw();
      this.onChange();
    }

    draw() {
      const off = (set, key, words) => makeButton(`${words} \u2715`, () => {
        set.delete(key);
        this.change();
        this.heal.focus();
      }, "course-pill model-cut");
      this.list.replaceChildren(
        ...[...this.heads].map((key) => off(this.heads, key, nameOf(key))),
        ...[...this.layers].map((key) => off(this.layers, key, `layer ${key + 1}`)));
      this.heal.disabled = this.isWhole;
      if (this.found) this.drawRanking();
    }

    /** Search in the whole model. With parts switched off, also measure the loss of the cut model. */
    async find() {
      this.searchButton.disabled = true;
      this.bar.hidden = false;
      const onShare = (share) => (this.bar.value = share);
      try {
        this.found ??= await this.search(onShare);
        const now = this.isWhole ? this.found : await this.search(onShare, this.cuts);
        this.drawRanking();
        const nats = (x) => x.toFixed(2);
        const lost = now === this.found ? "" : ` With your cuts: ${nats(now.first)} and ${nats(now.second)} nats.`;
        this.summary.say(`Loss of a token: ${nats(this.found.first)} nats when the words come for the first time, ${nats(this.found.second)} when they come again.${lost}`);
      } catch (error) {
        this.summary.say(error.message);
      }
      this.searchButton.disabled = false;
      this.searchButton.textContent = "Measure again";
      this.bar.hidden = true;
    }

    drawRanking() {
      const rows = this.found.heads.map(({ layer, head, weight }) => {
        const key = `${layer}.${head}`;
        const isOff = this.heads.has(key);
        const button = makeButton(isOff ? "is off" : "Switch off", () => this.cut(this.heads, key));
        button.disabled = isOff;
        button.setAttribute("aria-label", `${isOff ? "Is off" : "Switch off"}: ${nameOf(key)}`);
        return [nameOf(key), percent(weight), button];
      });
      this.ranking.replaceChildren(
        make("p", { class: "model-random" }, `Random words, read twice: \u201C${this.found.text.trim()}\u201D`),
        makeTable("Weight on the token after the last occurrence, mean over the second reading", ["head", "weight", "surgery"], rows, "model-table model-heads"),
        makeButton("Switch the best six off", () => {
          this.found.heads.slice(0, 6).forEach(({ layer, head }) => this.heads.add(`${layer}.${head}`));
          this.change();
          this.searchButton.focus();
        }));
    }
  }

  window.courseModelSurgery = Surgery;
})();
