/* Small repairs of every page: what scrolls sideways can be reached and scrolled by keyboard, and
 * what is read in the dark is printed on white.
 */
(function () {
  "use strict";

  const SCROLLERS = {
    Code: ".bd-article pre",
    Formula: ".bd-article .katex-display",
    Output: ".bd-article .cell_output .output", // a wide picture
    Table: ".pst-scrollable-table-container",
  };

  function mark(element, name, scrolls) {
    if (scrolls) {
      element.tabIndex = 0;
      element.setAttribute("role", "region");
      element.setAttribute("aria-label", `${name}, scrolls sideways`);
    } else if (element.getAttribute("role") === "region") {
      element.removeAttribute("tabindex");
      element.removeAttribute("role");
      element.removeAttribute("aria-label");
    }
  }

  function update() {
    // All is measured before anything is changed: so the page is laid out once.
    const found = Object.entries(SCROLLERS).flatMap(([kind, selector]) =>
      [...document.querySelectorAll(selector)].map((element, index) => ({
        element,
        name: `${kind} ${index + 1}`, // no two places of a page have the same name
        scrolls: element.scrollWidth > element.clientWidth + 1,
      })),
    );
    found.forEach(({ element, name, scrolls }) => mark(element, name, scrolls));
  }

  window.addEventListener("load", update);
  window.addEventListener("resize", update);
  document.addEventListener("toggle", update, true); // what is folded has no width

  const page = document.documentElement;
  let theme = null;
  window.addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => {
    page.dataset.theme = theme;
  });
})();
