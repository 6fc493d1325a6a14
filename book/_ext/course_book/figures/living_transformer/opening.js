/* The first frame of the living Transformer, drawn from numbers in the page before any model is loaded: a
 * sentence, its translation, and from where each French word took its attention, one after the other.
 *
 * opening: { src, written, looks }: words, and for each written word its weights over the source.
 */
(function () {
  "use strict";

  const { makeSvg } = window.courseElements;
  const WIDE = 320;
  const ROW = 25;
  const ENGLISH = 110; // where its words end
  const FRENCH = 210; // where its words begin
  const FAINTEST = 0.04;

  const height = (place) => (place + 0.7) * ROW;

  function makeLook(weight, from, to) {
    const [y0, y1] = [height(from) - 4, height(to) - 4];
    const [x0, x1] = [ENGLISH + 8, FRENCH - 8];
    const middle = (x0 + x1) / 2;
    return makeSvg("path", {
      d: `M${x0} ${y0} C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`, pathLength: 1, style: `--turn: ${to}`,
      "stroke-width": 1 + 4 * weight, "stroke-opacity": 0.2 + 0.8 * weight,
    });
  }

  window.courseMakeOpening = ({ src, written, looks }) => {
    const tall = ROW * Math.max(src.length, written.length) + 6;
    return makeSvg("svg", { class: "living-opening", viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": `${src.join(" ")} becomes ${written.join(" ")}` },
      ...looks.flatMap((row, to) => row.map((weight, from) => weight > FAINTEST ? makeLook(weight, from, to) : "")),
      ...src.map((word, i) => makeSvg("text", { x: ENGLISH, y: height(i), "text-anchor": "end" }, word)),
      ...written.map((word, i) => makeSvg("text", { class: "is-french", x: FRENCH, y: height(i), style: `--turn: ${i}` }, word.replaceAll("'", "\u2019"))));
  };
})();
