/* Functions that every figure needs: they make elements and write numbers. A figure registers its class here:
 * window.courseFigures[name] = class { constructor(model, el) {...} }.
 */
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const SUPERSCRIPTS = "\u2070\u00B9\u00B2\u00B3\u2074\u2075\u2076\u2077\u2078\u2079";

  function fill(element, attributes, children) {
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  }

  function make(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }

  /** Let an element that scrolls sideways fade at the right as long as there is more. */
  function fadeWhereMore(wide) {
    const look = () => wide.classList.toggle("has-more", wide.scrollWidth - wide.clientWidth - wide.scrollLeft > 1);
    const sizes = new ResizeObserver(look);
    [wide, ...wide.children].forEach((part) => sizes.observe(part));
    wide.addEventListener("scroll", look, { passive: true });
    return wide;
  }

  /** A place that scrolls sideways where its content is too wide; the keyboard reaches it by name. */
  function makeScroller(name, ...children) {
    return fadeWhereMore(make("div", { class: "course-scroll", role: "region", tabindex: 0, "aria-label": name }, ...children));
  }

  function makeSvg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
  }

  /** An empty chart, hidden from screen readers: its caller describes in words all that it shows. */
  function makeChart(width, height) {
    return makeSvg("svg", { class: "course-chart", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  }

  function makeChartLabel(words, x, y, anchor, dy = 0) {
    return makeSvg("text", { class: "course-chart-label", x, y, dy, "text-anchor": anchor }, words);
  }

  /** Call `act` once, when an element is in view and the page is loaded; return whether: never if the reader
   * asked for less motion. */
  function whenSeen(element, act) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return false;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      act();
    }, { threshold: 0.5 });
    if (document.readyState === "complete") observer.observe(element);
    else window.addEventListener("load", () => observer.observe(element));
    return true;
  }

  /** A number with its sign; a true minus, and no "-0.00". */
  function signed(number, digits = 2) {
    const text = Math.abs(number).toFixed(digits);
    if (Number(text) === 0) return text;
    return `${number < 0 ? "\u2212" : "+"}${text}`;
  }

  /** A number with commas: 10,000. */
  function grouped(number) {
    return number.toLocaleString("en");
  }

  /** 10 to a whole power, as text with raised digits. */
  function powerOfTen(exponent) {
    const raised = [...String(exponent)].map((digit) => SUPERSCRIPTS[digit] ?? "\u207B");
    return `10${raised.join("")}`;
  }

  /** A number as digits times a power of ten: 2.5 x 10^-6. */
  function scientific(number, digits = 1) {
    const power = Math.floor(Math.log10(number));
    return `${(number / 10 ** power).toFixed(digits)} \u00B7 ${powerOfTen(power)}`;
  }

  window.courseElements = {
    make, fadeWhereMore, makeScroller, makeSvg, makeChart, makeChartLabel, whenSeen, signed, grouped, powerOfTen, scientific,
  };
  window.courseFigures = {};
})();
