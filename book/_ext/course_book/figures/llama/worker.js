/* The laboratory in a Web Worker: { scripts } loads it; { id, method, args } is answered with
 * { id, share } while it runs, and with { id, result } or { id, error } at the end.
 */
(function () {
  "use strict";

  const PAUSE = 50; // milliseconds between two reports of progress
  let laboratory = null;

  function work({ id, method, args }) {
    try {
      const steps = laboratory[method](args);
      for (let told = performance.now(), step = steps.next(); ; step = steps.next()) {
        if (step.done) return { id, result: step.value };
        if (performance.now() - told > PAUSE) {
          told = performance.now();
          self.postMessage({ id, share: step.value });
        }
      }
    } catch (error) {
      return { id, error: error.message };
    }
  }

  self.addEventListener("message", ({ data }) => {
    if (data.scripts) {
      self.window = self;
      self.importScripts(...data.scripts);
      laboratory = new self.courseLlama.Laboratory();
    } else {
      self.postMessage(work(data));
    }
  });
})();
