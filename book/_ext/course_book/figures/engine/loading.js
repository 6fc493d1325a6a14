/* Load scripts on demand, from a folder as from a server; and the panel that offers to start a model. */
(function () {
  "use strict";

  const { make } = window.courseElements;
  const { makeButton } = window.courseControls;
  const loaded = new Map(); // promises by address: figures of a page share loaded scripts

  /** The whole address of a file of the site. */
  const addressOf = (path) => new URL(document.documentElement.dataset.content_root + path, location.href).href;

  function load(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.async = false; // they run in the order in which they are asked for
      script.src = addressOf(address);
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => {
        loaded.delete(address); // another try may succeed
        reject(new Error(`${address} can't be loaded`));
      });
      document.head.append(script);
    });
  }

  function loadOnce(address) {
    if (!loaded.has(address)) loaded.set(address, load(address));
    return loaded.get(address);
  }

  window.courseAddress = addressOf;

  /** Load scripts, given by their addresses from the root of the site. */
  window.courseLoad = (addresses) => Promise.all(addresses.map(loadOnce));

  /** Where a model lies: { file, bytes }. */
  window.courseModelFile = (id) => JSON.parse(document.getElementById(id).textContent);

  /** The panel in a model's place until the reader starts it: a sentence, and a button that names the download. */
  window.courseMakeStart = ({ bytes }, { says, name }, onStart) =>
    make("div", { class: "living-start" }, make("p", {}, says),
      makeButton(`${name} (${Math.round(bytes / 1000)}\u00A0kB)`, onStart, "course-pill living-go"));
})();
