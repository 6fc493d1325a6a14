/* Search by meaning, with sentence-encoder.js: loaded once a reader asks for it.
 *
 * courseSearchMeaning.load(root, files, onShare): files is window.courseMeaning, { model, vectors, bytes }.
 * find(query), a promise: { place, score } of each section, best first; place is that of its entry.
 */
(function () {
  "use strict";

  let encoder = null;
  let sections = null; // a row of the matrix for each of the places

  async function fetchBuffer(address, onPart) {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server answered with ${response.status}`);
    const counter = new TransformStream({
      transform(part, out) {
        onPart(part.length);
        out.enqueue(part);
      },
    });
    return new Response(response.body.pipeThrough(counter)).arrayBuffer();
  }

  async function load(root, { model, vectors, bytes }, onShare) {
    let loaded = 0;
    const [ofModel, ofSections] = await Promise.all([
      fetchBuffer(`${root}_static/${model}`, (length) => onShare((loaded += length) / bytes)),
      fetchBuffer(`${root}_static/${vectors}`, () => {}),
    ]);
    const { header, tensors } = window.courseReadTensors(ofSections);
    sections = { places: header.entries, matrix: tensors.sections };
    encoder = new window.courseSentenceEncoder(ofModel);
  }

  async function find(query) {
    const vector = await encoder.encode(query);
    const { places, matrix: { cols, scales, bytes } } = sections;
    return places
      .map((place, r) => ({ place, score: scales[r] * vector.reduce((sum, value, i) => sum + value * bytes[r * cols + i], 0) }))
      .sort((a, b) => b.score - a.score);
  }

  window.courseSearchMeaning = { load, find };
})();
