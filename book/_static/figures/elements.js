/* Making elements, writing numbers: what every figure needs. */
(function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  }

  function makeSvg(tag, attributes = {}) {
    const element = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    return element;
  }

  /** A number with its sign; a true minus, and no "-0.00". */
  function signed(number, digits = 2) {
    const text = Math.abs(number).toFixed(digits);
    if (Number(text) === 0) return text;
    return `${number < 0 ? "\u2212" : "+"}${text}`;
  }

  window.courseElements = { make, makeSvg, signed };
})();
