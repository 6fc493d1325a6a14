/* Where the model comes from: the book's own folder, the browser's cache, or a file that the reader opens.
 *
 * new Source(onBuffer): onBuffer(buffer, onShare) opens the bytes, and is rejected with an Error that
 * says why they can't be opened. window.courseWeights, { file, bytes }, stands where the build had the weights.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton } = window.courseControls;
  const CACHE = "course-language-model";
  const FILE = "SmolLM2-135M-Instruct.Q4_1.gguf";
  const MOST_BYTES = 1_100_000_000;

  const megabytes = (bytes) => `${Math.round(bytes / 1e6)}\u00A0MB`;

  /** Download a file and report the progress, past the browser's cache of pages, which is too small for it. */
  async function download(address, bytes, onShare) {
    const response = await fetch(address, { cache: "no-store" });
    if (!response.ok) throw new Error(`The server answered with ${response.status}.`);
    const whole = new Uint8Array(bytes);
    const reader = response.body.getReader();
    let place = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (place + value.length > bytes) throw new Error("The file is larger than it was when the book was built.");
      whole.set(value, place);
      place += value.length;
      onShare(place / bytes);
    }
    if (place !== bytes) throw new Error("The download ended too early.");
    return whole.buffer;
  }

  class Source {
    constructor(onBuffer) {
      this.onBuffer = onBuffer;
      this.weights = location.protocol.startsWith("http") ? window.courseWeights : undefined;
      this.cache = this.weights && window.caches ? caches.open(CACHE) : Promise.resolve(null); // none without TLS
      this.says = make("p", { class: "model-source-says" });
      this.problem = make("p", { class: "model-problem", role: "status" });
      this.bar = make("progress", { max: 1, value: 0, "aria-label": "Loading the model" });
      this.bar.hidden = true;
      this.start = makeButton("", () => this.load(), "course-pill model-go");
      this.forget = makeButton("Delete it from the cache", () => this.drop());
      this.input = make("input", { id: "model-file", type: "file", accept: ".gguf" });
      this.input.addEventListener("change", () => this.take(this.input.files[0]));
      this.element = make("div", { class: "model-source" }, this.says,
        make("div", { class: "course-pills" }, this.start, this.forget), this.bar,
        make("div", { class: "model-file" }, make("label", { class: "course-label", for: "model-file" }, "Open a .gguf file"), this.input),
        this.problem);
      this.update();
    }

    get address() {
      return window.courseAddress(this.weights.file);
    }

    async update() {
      const { weights } = this;
      const kept = weights && await (await this.cache)?.match(this.address);
      this.start.hidden = !weights;
      this.forget.hidden = !kept;
      if (!weights) {
        this.says.textContent = this.opened ? `${this.opened} is open. You can open another file in its place.` : `The model is not loaded. Open ${FILE} (98\u00A0MB) from your computer; the text below says where it comes from. The file is read in your browser and goes nowhere else.`;
        return;
      }
      this.says.textContent = kept
        ? "SmolLM2 is in this browser\u2019s cache. It runs on your computer; nothing that you write leaves it."
        : `SmolLM2 runs on your computer; nothing that you write leaves it. First its weights have to be loaded, ${megabytes(weights.bytes)} once; the browser keeps them.`;
      this.start.textContent = kept ? "Start SmolLM2" : `Load SmolLM2 (${megabytes(weights.bytes)})`;
    }

    /** Do some work and show its progress; show the message if it fails. */
    async busy(work) {
      this.problem.textContent = "";
      this.bar.hidden = false;
      this.start.disabled = this.input.disabled = true;
      try {
        await work((share) => (this.bar.value = share));
        return true;
      } catch (error) {
        this.problem.textContent = `This model can\u2019t be opened. ${error.message}`;
        return false;
      } finally {
        this.bar.hidden = true;
        this.start.disabled = this.input.disabled = false;
        this.update();
      }
    }

    load() {
      return this.busy(async (onShare) => {
        const cache = await this.cache;
        const kept = await cache?.match(this.address);
        const buffer = kept ? await kept.arrayBuffer() : await download(this.address, this.weights.bytes, onShare);
        if (!kept) await cache?.put(this.address, new Response(buffer)).catch(() => {}); // no room: load it again next time
        await this.onBuffer(buffer, onShare);
      });
    }

    async drop() {
      await caches.delete(CACHE);
      this.cache = caches.open(CACHE);
      this.update();
      this.start.focus();
    }

    async take(file) {
      if (!file) return;
      await this.busy(async (onShare) => {
        if (file.size > MOST_BYTES) throw new Error(`It has ${megabytes(file.size)}; this page takes ${megabytes(MOST_BYTES)} at most.`);
        await this.onBuffer(await file.arrayBuffer(), onShare);
        this.opened = file.name;
      });
      this.input.value = ""; // the same file may be chosen again
    }
  }

  window.courseModelSource = Source;
})();
