/* Small repairs of every page: what scrolls sideways can be reached and scrolled by keyboard. */
(function () {
  "use strict";

  const SCROLLERS = ".bd-article pre, .bd-article div.math, .pst-scrollable-table-container";

  function nameOf(element) {
    if (element.matches("pre")) return "Code";
    return element.matches("div.math") ? "Formula" : "Table";
  }

  function update() {
    const counts = {};
    document.querySelectorAll(SCROLLERS).forEach((element) => {
      const kind = nameOf(element);
      counts[kind] = (counts[kind] || 0) + 1; // no two places of a page have the same name
      const scrolls = element.scrollWidth > element.clientWidth + 1;
      if (scrolls) {
        element.tabIndex = 0;
        element.setAttribute("role", "region");
        element.setAttribute("aria-label", `${kind} ${counts[kind]}, scrolls sideways`);
      } else if (element.getAttribute("role") === "region") {
        element.removeAttribute("tabindex");
        element.removeAttribute("role");
        element.removeAttribute("aria-label");
      }
    });
  }

  update();
  window.addEventListener("load", update);
  window.addEventListener("resize", update);
})();
