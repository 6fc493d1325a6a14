/* The way to the laboratory: a Web Worker where the page comes from a server, the page itself elsewhere.
 *
 * await courseStartLaboratory(addresses): the scripts in their order, worker.js last. It gives
 * call(method, args, onShare), a promise of the result; calls run one after the other. end() frees its memory.
 */
(function () {
  "use strict";

  const SLICE = 30; // milliseconds of work, after which the page may draw

  const untilDrawn = () => new Promise((resolve) => setTimeout(resolve));

  function startWorker(addresses) {
    const absolute = addresses.map(window.courseAddress);
    const worker = new Worker(absolute.at(-1));
    worker.postMessage({ scripts: absolute.slice(0, -1) });
    const open = new Map();
    let count = 0;
    worker.addEventListener("message", ({ data: { id, share, result, error } }) => {
      const { resolve, reject, onShare } = open.get(id);
      if (share !== undefined) return onShare(share);
      open.delete(id);
      return error === undefined ? resolve(result) : reject(new Error(error));
    });
    const rejectAll = (message) => {
      open.forEach(({ reject }) => reject(new Error(message)));
      open.clear();
    };
    worker.addEventListener("error", ({ message }) => rejectAll(message));
    return {
      inWorker: true,
      end: () => {
        worker.terminate();
        rejectAll("The model was closed.");
      },
      call: (method, args, onShare = () => {}) => new Promise((resolve, reject) => {
        const id = (count += 1);
        open.set(id, { resolve, reject, onShare });
        worker.postMessage({ id, method, args }, args.buffer ? [args.buffer] : []);
      }),
    };
  }

  async function startHere(addresses) {
    await window.courseLoad(addresses.slice(0, -1));
    const laboratory = new window.courseLlama.Laboratory();
    let last = Promise.resolve();
    const work = async (method, args, onShare) => {
      const steps = laboratory[method](args);
      for (let began = performance.now(), step = steps.next(); ; step = steps.next()) {
        if (step.done) return step.value;
        if (performance.now() - began > SLICE) {
          onShare(step.value);
          await untilDrawn();
          began = performance.now();
        }
      }
    };
    return {
      inWorker: false,
      end: () => {},
      call: (method, args, onShare = () => {}) => {
        const result = last.then(() => work(method, args, onShare));
        last = result.catch(() => {});
        return result;
      },
    };
  }

  window.courseStartLaboratory = async (addresses) =>
    (location.protocol.startsWith("http") && window.Worker ? startWorker(addresses) : startHere(addresses));
})();
