/* Below each figure: a link that holds its state, the line that embeds it in another page, a picture of it.
 *
 * courseFigureTools(figure, el, shown): `shown` is the object of the figure's class. Its state is a list of
 * its controls' values, unless the class has `state` and `restore(state)`. ?state=JSON#id restores a figure's
 * state; ?embed=id removes everything from the page but the figure; it may have a state, too.
 */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton } = window.courseControls;
  const CONTROLS = "input:not([type=file]), select, textarea, button[aria-pressed]";
  const PROPERTIES = [
    "align-content", "align-items", "align-self", "appearance", "background", "border-bottom",
    "border-collapse", "border-left", "border-radius", "border-right", "border-spacing", "border-top", "bottom",
    "box-shadow", "box-sizing", "caption-side", "clip-path", "color", "column-gap", "display", "fill",
    "fill-opacity", "flex-direction", "flex-wrap", "float", "font-family", "font-size", "font-style",
    "font-variant-numeric", "font-weight", "grid-area", "grid-template-columns", "grid-template-rows", "height",
    "justify-content", "justify-items", "justify-self", "left", "letter-spacing", "line-height", "list-style",
    "margin", "opacity", "outline", "overflow", "padding", "paint-order", "position", "right", "row-gap",
    "stroke", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-opacity",
    "stroke-width", "text-align", "text-anchor", "text-decoration", "text-shadow", "text-transform", "top",
    "transform", "transform-origin", "vertical-align", "visibility", "white-space", "width", "writing-mode",
    "z-index",
  ];
  const XHTML = "http://www.w3.org/1999/xhtml";
  const MARGIN = 16; // around a picture, in pixels

  // ---- its state ----

  const isSwitch = (control) => control.matches("[type=checkbox], [type=radio]");
  const isButton = (control) => control.matches("button");

  function read(control) {
    if (isSwitch(control)) return control.checked;
    return isButton(control) ? control.getAttribute("aria-pressed") === "true" : control.value;
  }

  function write(control, value) {
    if (!control || control.disabled || read(control) === value) return;
    if (isSwitch(control) || isButton(control)) {
      control.click();
      return;
    }
    control.value = value;
    ["input", "change"].forEach((name) => control.dispatchEvent(new Event(name, { bubbles: true })));
  }

  const stateOf = (el, shown) => shown.state ?? [...el.querySelectorAll(CONTROLS)].map(read);

  function restore(el, shown, state) {
    if (shown.restore) shown.restore(state);
    // Writing one control may replace others, so each is looked up just before it is written.
    else state.forEach((value, place) => write(el.querySelectorAll(CONTROLS)[place], value));
  }

  function address(figure, asked) {
    const url = new URL(location.href);
    url.search = new URLSearchParams(asked);
    url.hash = figure.id;
    return url.href;
  }

  // ---- its picture ----

  const styled = (copy, style) => {
    copy.setAttribute("style", PROPERTIES.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; "));
    return copy;
  };

  /** The text that a style adds before or after an element, such as an arrow, as an element; null if there is none. */
  function stillAdded(element, place) {
    const style = getComputedStyle(element, place);
    const text = /^"(?:[^"\\]|\\.)*"/.exec(style.content);
    return text && style.display !== "none" ? styled(make("span", {}, JSON.parse(text[0])), style) : null;
  }

  /** Copy an element with its computed styles written into it; null if it is not displayed. */
  function still(element) {
    const style = getComputedStyle(element);
    if (style.display === "none" || element.matches(".course-tools, script")) return null;
    const copy = element.matches("canvas") ? make("img", { src: element.toDataURL() }) : element.cloneNode(false);
    copy.removeAttribute("id");
    styled(copy, style);
    if (element.matches("input")) copy.setAttribute("value", element.value);
    if ("checked" in element) copy.toggleAttribute("checked", element.checked);
    if ("selected" in element) copy.toggleAttribute("selected", element.selected);
    const children = [...element.childNodes].map((child) => (child instanceof Element ? still(child) : child.cloneNode()));
    copy.append(...[stillAdded(element, "::before"), ...children, stillAdded(element, "::after")].filter(Boolean));
    return copy;
  }

  /** An element as an SVG of its own, without what operates it. */
  function picture(element) {
    element.classList.add("is-still");
    const { width, height } = element.getBoundingClientRect();
    const copy = still(element);
    element.classList.remove("is-still");
    copy.setAttribute("xmlns", XHTML);
    copy.style.margin = "0";
    const page = getComputedStyle(document.documentElement).getPropertyValue("--course-card");
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width + 2 * MARGIN}" height="${height + 2 * MARGIN}">` +
      `<rect width="100%" height="100%" fill="${page}"/>` +
      `<foreignObject x="${MARGIN}" y="${MARGIN}" width="${width}" height="${height}">${new XMLSerializer().serializeToString(copy)}</foreignObject></svg>`;
  }

  function save(name, text) {
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    make("a", { href: url, download: `${name}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // ---- the row of tools ----

  function makeTools(figure, el, shown) {
    const said = make("span", { role: "status" });
    const state = () => JSON.stringify(stateOf(el, shown));
    const copy = async (text, done) => {
      try {
        await navigator.clipboard.writeText(text);
        said.textContent = done;
      } catch (error) {
        said.textContent = text; // the browser refused: the reader can copy it by hand
      }
    };
    return make("div", { class: "course-tools" },
      makeButton("Copy link", () => copy(address(figure, { state: state() }), "The link leads to what you see."), "course-tool"),
      makeButton("Copy to embed", () => copy(`<iframe src="${address(figure, { embed: figure.id, state: state() })}" width="100%" height="${Math.ceil(figure.offsetHeight)}"></iframe>`, "One line for another page."), "course-tool"),
      makeButton("Save as picture", () => save(figure.id, picture(el)), "course-tool course-save"),
      said);
  }

  window.courseFigureTools = (figure, el, shown) => {
    if (!figure.id) return;
    const tools = makeTools(figure, el, shown);
    const asked = new URLSearchParams(location.search);
    figure.querySelector(".course-interactive__stage").after(tools);
    if (asked.get("embed") === figure.id) {
      document.body.style.visibility = "hidden";
      // Once all other scripts have run, which need the whole page.
      window.addEventListener("load", () => setTimeout(() => {
        document.body.replaceChildren(make("div", { class: "bd-article course-embedded" }, figure));
        document.body.style.visibility = "";
      }));
    }
    if (asked.has("state") && location.hash === `#${figure.id}`) restore(el, shown, JSON.parse(asked.get("state")));
  };
})();
