/* Small repairs of every page: blocks that scroll sideways can be reached and scrolled by keyboard, and
 * fade at the right as long as there is more; a link into something folded unfolds it, the menu shows
 * the page's entry, and a page read in the dark theme is printed on white.
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

  const hasMore = (element) => element.scrollWidth - element.clientWidth - element.scrollLeft > 1;
  const fade = (element, more) => element.classList.toggle("has-more", more);

  // Told of each at first, and again when it is unfolded or the window changes.
  const sizes = new ResizeObserver((entries) => {
    // All is measured before anything is changed: so the page is laid out once.
    const elements = entries.map(({ target }) => target);
    const scrolls = elements.map((element) => element.scrollWidth > element.clientWidth);
    const more = elements.map(hasMore);
    elements.forEach((element, index) => {
      mark(element, names.get(element), scrolls[index]);
      fade(element, more[index]);
    });
  });

  // Fonts change widths, and nothing tells of that.
  window.addEventListener("load", () => document.fonts.ready.then(() =>
    Object.entries(SCROLLERS).forEach(([kind, selector]) =>
      document.querySelectorAll(selector).forEach((element, index) => {
        names.set(element, `${kind} ${index + 1}`);
        sizes.observe(element);
        element.addEventListener("scroll", () => fade(element, hasMore(element)), { passive: true });
      }),
    ),
  ));

  /** Unfold all around the place that the address names, and go there. */
  function unfold() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let folded = false;
    for (let part = target; part; part = part.parentElement) {
      if (!part.matches("details:not([open]), .toggle-hidden")) continue;
      folded = true;
      if (part.matches("details")) part.open = true;
      else part.querySelector(".toggle-button").click();
    }
    if (folded) target.scrollIntoView();
  }

  window.addEventListener("load", unfold); // after the script that folds
  window.addEventListener("hashchange", unfold);

  // The theme restores the menu's scroll, whatever page it was of.
  document.addEventListener("DOMContentLoaded", () => {
    const menu = document.querySelector(".bd-sidebar-primary");
    const entry = menu?.querySelector("li.current.active > a");
    if (!entry) return;
    const above = entry.getBoundingClientRect().top - menu.getBoundingClientRect().top;
    if (above < 0 || above > menu.clientHeight - entry.offsetHeight) menu.scrollTop += above - menu.clientHeight / 4;
  });

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
