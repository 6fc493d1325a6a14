/* Small repairs of every page: what scrolls sideways can be reached and scrolled by keyboard. */
(function () {
  "use strict";

  const SCROLLERS = {
    Code: ".bd-article pre",
    Formula: ".bd-article .katex-display",
    Output: ".bd-article .cell_output .output", // a wide picture
    Table: ".pst-scrollable-table-container",
  };

  function update() {
    Object.entries(SCROLLERS).forEach(([kind, selector]) => {
      document.querySelectorAll(selector).forEach((element, index) => {
        const scrolls = element.scrollWidth > element.clientWidth + 1;
        if (scrolls) {
          element.tabIndex = 0;
          element.setAttribute("role", "region");
          // no two places of a page have the same name
          element.setAttribute("aria-label", `${kind} ${index + 1}, scrolls sideways`);
        } else if (element.getAttribute("role") === "region") {
          element.removeAttribute("tabindex");
          element.removeAttribute("role");
          element.removeAttribute("aria-label");
        }
      });
    });
  }

  update();
  window.addEventListener("load", update);
  window.addEventListener("resize", update);
  document.addEventListener("toggle", update, true); // what is folded has no width
})();
