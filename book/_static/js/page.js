/* Small repairs of every page: blocks that scroll sideways can be reached and scrolled by keyboard,
 * and a page read in the dark theme is printed on white.
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

  function markAll(elements) {
    // All is measured before anything is changed: so the page is laid out once.
    const scrolls = elements.map((element) => element.scrollWidth > element.clientWidth + 1);
    elements.forEach((element, index) => mark(element, names.get(element), scrolls[index]));
  }

  // Only elements near the viewport: to measure the others would lay out the whole page at once.
  // A reader with the keyboard may go anywhere.
  const nearby = new IntersectionObserver(
    (entries) => markAll(entries.filter((e) => e.isIntersecting).map((e) => e.target)),
    { rootMargin: "100% 0px" },
  );
  let byKeyboard = false;
  const markAllByKeyboard = () => markAll(byKeyboard ? [...names.keys()] : []);
  const takeToKeyboard = () => {
    byKeyboard = true;
    markAllByKeyboard();
  };
  window.addEventListener("keydown", takeToKeyboard, { once: true });

  function watch() {
    nearby.disconnect();
    Object.entries(SCROLLERS).forEach(([kind, selector]) =>
      document.querySelectorAll(selector).forEach((element, index) => {
        names.set(element, `${kind} ${index + 1}`);
        nearby.observe(element); // told at once, and again when it is unfolded
      }),
    );
    markAllByKeyboard();
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
