/* The steps of a beam search as a tree, from left to right: the kept nodes, and the dropped ones of the
 * newest step. Each node gets a row of its own or the middle of its children's.
 */
(function () {
  "use strict";

  /** Nodes { candidate, chance, column, parent, children, row } of the first `count` steps. */
  function makeTree(steps, count, isOver) {
    const root = { candidate: { word: "", words: [], total: 0 }, column: 0, children: [] };
    const nodes = [];
    let parents = [root];
    steps.slice(0, count).forEach((step, number) => {
      const isNewest = number === count - 1 && !isOver;
      const added = step.map((candidate) => {
        const parent = parents[candidate.row];
        const chance = Math.exp(candidate.total - parent.candidate.total);
        return { candidate, chance, column: number + 1, parent, children: [] };
      });
      added.filter(({ candidate }) => isNewest || candidate.fate !== "dropped").forEach((node) => {
        node.parent.children.push(node);
        nodes.push(node);
      });
      parents = added.filter(({ candidate }) => candidate.fate === "kept");
    });
    return { root, nodes, rows: layRows(root, 0) };
  }

  /** Give each node its row; returns the first row that is free. */
  function layRows(node, free) {
    if (!node.children.length) {
      node.row = free;
      return free + 1;
    }
    const next = node.children.reduce((row, child) => layRows(child, row), free);
    node.row = (node.children[0].row + node.children[node.children.length - 1].row) / 2;
    return next;
  }

  /** Whether the node's words are the beginning of `words`. */
  const leadsTo = (node, words) => node.candidate.words.every((word, i) => word === words[i]);

  /** Whether a kept node has no children although the search went on. */
  const isDead = (node, newest) => node.column < newest && !node.children.length && node.candidate.fate === "kept";

  window.courseBeamTree = { makeTree, leadsTo, isDead };
})();
