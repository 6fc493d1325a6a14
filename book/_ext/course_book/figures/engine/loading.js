/* Scripts that are loaded when they are asked for, from a folder as from a server. */
(function () {
  "use strict";

  const loaded = new Map(); // promises by address: figures of a page share what they load

  function load(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.async = false; // they run in the order in which they are asked for
      script.src = document.documentElement.dataset.content_root + address;
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

  /** Load scripts, given by their addresses from the root of the site. */
  window.courseLoad = (addresses) => Promise.all(addresses.map(loadOnce));
})();
