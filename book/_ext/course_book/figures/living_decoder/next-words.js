/* The next words, likeliest first: as the decoder looks now, and as it would by itself. */
(function () {
  "use strict";

  const { make, makeScroller } = window.courseElements;
  const LIKELIEST = 5;

  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  function makeBar(share, className) {
    const bar = make("span", { class: `living-bar ${className}` }, make("span", {}));
    bar.firstChild.style.width = `${100 * share}%`;
    return bar;
  }

  /** Make the list of next words. now, own: probabilities by id; own is null if the look was not moved. */
  function makeNextWords(now, own, vocabulary) {
    const order = now.map((_, id) => id).sort((a, b) => now[b] - now[a]).slice(0, LIKELIEST);
    const wanted = own ? own.indexOf(Math.max(...own)) : order[0];
    if (!order.includes(wanted)) order.push(wanted);
    const heads = ["next word", own ? "with your look" : "probability", ...(own ? ["by itself"] : [])];
    const row = (id) => make("tr", { class: id === order[0] ? "is-first" : "" },
      make("th", { scope: "row" }, vocabulary[id].replace(/[<>]/g, "")),
      make("td", { "data-probability": now[id] }, percent(now[id])),
      ...(own ? [make("td", { "data-own": own[id] }, percent(own[id]))] : []),
      make("td", {}, makeBar(now[id], ""), ...(own ? [makeBar(own[id], "is-own")] : [])));
    return makeScroller("The likeliest next words", make("table", { class: "living-scores looks-next" },
      make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)), make("td"))),
      make("tbody", {}, ...order.map(row))));
  }

  window.courseLooks.makeNextWords = makeNextWords;
})();
