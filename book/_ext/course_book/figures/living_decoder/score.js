/* One additive score, number by number: v . tanh(s W + h U). */
(function () {
  "use strict";

  const { make, signed } = window.courseElements;
  const { makeTable } = window.courseLiving;

  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  /** Make the table of a score. step: the decoder's; place: the key's index; asks, answers: names of query and key. */
  function makeScore(decoder, step, place, { asks, answers }) {
    const key = step.state.keys.row(place);
    const { bent, score, products } = decoder.addends(step.query, key);
    const sum = products.reduce((total, value) => total + value, 0);
    const now = step.weights[place] === step.own[place] ? "" : ` You have set it to ${percent(step.weights[place])}.`;
    return [
      make("p", { class: "living-says" }, `The state before \u201c${asks}\u201d is the query, ${answers} the key: both are made ${key.length} numbers wide, added, bent by tanh, and weighed by v.`),
      makeTable(`The score of ${answers}`, Array.from(key, (_, d) => String(d + 1)), [
        ["s W", step.query], ["h U", key], ["tanh(s W + h U)", bent], ["v", score], ["tanh \u00D7 v", products],
      ]),
      make("p", { class: "living-says", "data-sum": sum },
        `The last row sums to ${signed(sum)}, the score. Among the scores of all places the softmax makes of it a weight of ${percent(step.own[place])}.${now}`),
    ];
  }

  window.courseLooks.makeScore = makeScore;
})();
