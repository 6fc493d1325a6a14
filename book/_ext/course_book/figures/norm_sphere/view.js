/* A space of three numbers seen from the side, so that (1, 1, 1) points up: the vectors with mean 0
 * are the floor, and a vector's height over it is its mean times the root of 3.
 */
(function () {
  "use strict";

  const { dot } = window.courseArithmetic;
  const SIZE = [400, 350]; // units of the drawing
  const SCALE = 70; // units to 1
  const MIDDLE = [200, 200];
  const TILT = (24 * Math.PI) / 180; // how far one looks down on the floor
  const UP = [1, 1, 1].map((at) => at / Math.sqrt(3));
  const EAST = [1, -1, 0].map((at) => at / Math.SQRT2);
  const NORTH = [-1, -1, 2].map((at) => at / Math.sqrt(6));

  class View {
    constructor() {
      this.turn = 0; // degrees
    }

    /** A vector's coordinates in the view: to the right, away from the reader, and up. */
    sides(x) {
      const angle = (this.turn * Math.PI) / 180;
      const [east, north] = [dot(x, EAST), dot(x, NORTH)];
      return {
        right: east * Math.cos(angle) - north * Math.sin(angle),
        away: east * Math.sin(angle) + north * Math.cos(angle),
        up: dot(x, UP),
      };
    }

    vector({ right, away, up }) {
      const angle = (this.turn * Math.PI) / 180;
      const east = right * Math.cos(angle) + away * Math.sin(angle);
      const north = -right * Math.sin(angle) + away * Math.cos(angle);
      return UP.map((_, i) => up * UP[i] + east * EAST[i] + north * NORTH[i]);
    }

    place(x) {
      const { right, away, up } = this.sides(x);
      return [MIDDLE[0] + SCALE * right, MIDDLE[1] - SCALE * (up * Math.cos(TILT) + away * Math.sin(TILT))];
    }

    /** The vector as far away as `x` that is seen at these parts of the width and height. */
    lifted(x, across, down) {
      const [right, height] = this.seen(across, down);
      const { away } = this.sides(x);
      return this.vector({ right, away, up: (height - away * Math.sin(TILT)) / Math.cos(TILT) });
    }

    /** The vector as high as `x` whose foot on the floor is seen there. */
    shifted(x, across, down) {
      const [right, height] = this.seen(across, down);
      return this.vector({ right, away: height / Math.sin(TILT), up: this.sides(x).up });
    }

    seen(across, down) {
      return [(across * SIZE[0] - MIDDLE[0]) / SCALE, (MIDDLE[1] - down * SIZE[1]) / SCALE];
    }

    /** A closed line through vectors, as a path. */
    path(vectors) {
      return `M${vectors.map((x) => this.place(x).map((at) => at.toFixed(1)).join(" ")).join("L")}Z`;
    }
  }

  window.courseNormView = { View, SIZE, SCALE, MIDDLE };
})();
