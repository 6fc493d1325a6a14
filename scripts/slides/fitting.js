/* Return how each topic of a draft is divided into slides, and the scale of its parts there.
 *
 * A draft shows every topic as a section of a slide's size, with all of its parts. Parts keep their
 * order. Pictures take the free room, text keeps its size; only a part that is too large for a slide
 * by itself is drawn smaller.
 */
() => {
  "use strict";

  const LARGEST = { picture: 2, live: 1.2 };
  const FINE = { picture: 1.25, live: 0.75, text: 1 }; // so large at least, beside something else
  const LONELY = { picture: 0.9, live: 0.65, text: 0.85 }; // or so, where words alone would leave the slide empty
  const EMPTY = 0.3; // of the room is filled by those
  const SMALLEST = 0.3;
  const STEP = 0.05;

  const kindOf = (part) => part.dataset.kind;
  const isLive = (part) => kindOf(part) === "live"; // which scrolls by itself, if need be
  const isText = (part) => kindOf(part) === "text";

  function overflows(body) {
    const box = body.getBoundingClientRect();
    return [...body.children].some((part) => {
      if (part.hidden) return false;
      const { bottom, right } = part.getBoundingClientRect();
      const within = isLive(part) ? [] : part.querySelectorAll("pre, table, .katex-display");
      const wide = [part, ...within].some((one) => one.scrollWidth > one.clientWidth + 1);
      return wide || bottom > box.bottom + 0.5 || right > box.right + 0.5;
    });
  }

  function show(body, group, scaleOf) {
    for (const part of body.children) {
      part.hidden = !group.includes(part);
      part.style.zoom = part.hidden ? "" : scaleOf(part);
      part.style.setProperty("--zoom", part.style.zoom || 1);
    }
  }

  const fits = (body, group, scaleOf) => (show(body, group, scaleOf), !overflows(body));

  /* The filled fraction of a slide with these parts; above 1 they are too large. */
  function filled(body, group) {
    show(body, group, () => 1);
    const heights = group.map((part) => part.getBoundingClientRect().height);
    return heights.reduce((sum, height) => sum + height, 0) / body.getBoundingClientRect().height;
  }

  function join(body, group, part) {
    const lonely = group.every(isText) && filled(body, group) < EMPTY;
    const least = lonely ? LONELY : FINE;
    return fits(body, [...group, part], (one) => least[kindOf(one)]);
  }

  function groupsOf(body) {
    const groups = [];
    let group = [];
    for (const part of body.children) {
      if (!group.length || join(body, group, part)) {
        group.push(part);
        continue;
      }
      // parts that lead to this one come along, if any remain and they fit
      let last = group.length;
      while (last > 1 && "leads" in group[last - 1].dataset) last -= 1;
      let leading = group.slice(last);
      while (leading.length && !join(body, leading, part)) leading = leading.slice(1);
      groups.push(group.slice(0, group.length - leading.length));
      group = [...leading, part];
    }
    return [...groups, group];
  }

  /* The largest scale for all pictures of a slide, or for all its parts if its text is too long. */
  function scalesOf(body, group) {
    const most = Math.max(1, ...group.map((part) => LARGEST[kindOf(part)] ?? 1));
    for (let scale = most; scale > SMALLEST; scale -= STEP) {
      const own = (part) => (isText(part) ? 1 : Math.min(scale, LARGEST[kindOf(part)]));
      if (fits(body, group, own)) return group.map(own);
      if (group.every(isText) || scale < LONELY.live) {
        if (fits(body, group, (part) => Math.min(1, scale))) return group.map(() => Math.min(1, scale));
      }
    }
    return group.map(() => SMALLEST);
  }

  return [...document.querySelectorAll(".draft > section")].map((section) => {
    const body = section.querySelector(".slide-body");
    const parts = [...body.children];
    return groupsOf(body).map((group) => {
      const scales = scalesOf(body, group);
      return group.map((part, at) => ({
        part: parts.indexOf(part),
        scale: Math.round(scales[at] * 100) / 100,
      }));
    });
  });
}
