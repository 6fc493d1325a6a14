/* The words that a decoder writes by itself, and those after a reader has moved its look.
 *
 * new Writing(decoder, encoded, { start, end, most }): `own` are the steps by itself, `steps` those that are
 * shown. turn(step, weights) moves the look of a step; null gives it back. Moves of later steps are
 * forgotten: their words may be others now.
 */
(function () {
  "use strict";

  const { write } = window.courseEngine;
  const NOTHING = 1e-6;

  /** Weights with the one at `place` set to `share`; the others keep their proportions, and all sum to 1. */
  function reweigh(weights, place, share) {
    if (weights.length === 1) return [1];
    const rest = 1 - weights[place];
    const others = (weight) => (rest > NOTHING ? weight / rest : 1 / (weights.length - 1));
    return weights.map((weight, i) => (i === place ? share : others(weight) * (1 - share)));
  }

  class Writing {
    constructor(decoder, encoded, marks) {
      Object.assign(this, { decoder, encoded, marks, turned: new Map() });
      this.own = this.steps = write(decoder, encoded, marks);
    }

    turn(step, weights) {
      this.turned = new Map([...this.turned].filter(([other]) => other < step));
      if (weights) this.turned.set(step, weights);
      this.steps = this.turned.size ? write(this.decoder, this.encoded, this.marks, this.turned) : this.own;
    }

    /** The step that the decoder takes with its own weights after the words shown. */
    byItself(step) {
      const { token, before, state } = this.steps[step];
      return this.decoder.step(token, { ...state, hidden: before });
    }
  }

  window.courseLooks = { Writing, reweigh };
})();
