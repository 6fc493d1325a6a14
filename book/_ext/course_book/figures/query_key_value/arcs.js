/* The links from the chosen word to every word, as thick as their weights. */
(function () {
  "use strict";

  const { makeSvg } = window.courseElements;

  class Arcs {
    constructor(count) {
      this.element = makeSvg("svg", { class: "qkv-arcs", "aria-hidden": "true" });
      this.links = Array.from({ length: count }, () => {
        const link = { path: makeSvg("path"), dot: makeSvg("circle") };
        this.element.append(link.path, link.dot);
        return link;
      });
    }

    /** Draw links from word `from`; `heights` are the words' middles in pixels, in their order. */
    draw(from, weights, heights) {
      const right = this.element.clientWidth - 3;
      const room = right - 6; // the widest arc and half its stroke stay inside
      const span = Math.max(...heights) - Math.min(...heights);
      this.links.forEach(({ path, dot }, to) => {
        const [start, end] = [heights[from], heights[to]];
        // A cubic reaches three quarters of the way to its control points.
        const reach = (room * (0.3 + 0.7 * (Math.abs(end - start) / span))) / 0.75;
        const bulge = right - Math.min(reach, room / 0.75);
        const [first, last] = from === to ? [start - 7, end + 7] : [start, end];
        path.setAttribute("d", `M${right} ${first}C${bulge} ${first} ${bulge} ${last} ${right} ${last}`);
        path.style.strokeWidth = `${(0.75 + 8.25 * weights[to]).toFixed(2)}px`;
        path.style.opacity = (0.3 + 0.7 * Math.sqrt(weights[to])).toFixed(3);
        dot.setAttribute("cx", right);
        dot.setAttribute("cy", last);
        dot.setAttribute("r", 2.5);
      });
    }
  }

  window.courseArcs = Arcs;
})();
