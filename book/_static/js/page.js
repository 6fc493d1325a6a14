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

  const names = new Map(); // no two places of a page have the same

  // Only what is near: to measure what is out of sight would lay out the whole page at once.
  const nearby = new IntersectionObserver(
    (entries) => {
      const near = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
      // All is measured before anything is changed: so the page is laid out once.
      const scrolls = near.map((element) => element.scrollWidth > element.clientWidth + 1);
      near.forEach((element, index) => mark(element, names.get(element), scrolls[index]));
    },
    { rootMargin: "100% 0px" },
  );

  function watch() {
    nearby.disconnect();
    Object.entries(SCROLLERS).forEach(([kind, selector]) =>
      document.querySelectorAll(selector).forEach((element, index) => {
        names.set(element, `${kind} ${index + 1}`);
        nearby.observe(element); // told at once, and again when it is unfolded
      }),
    );
  }

  window.addEventListener("load", watch);
  window.addEventListener("resize", watch);

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
