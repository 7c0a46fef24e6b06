"use strict";
// What is known of every pair, with an edge or without: told of two variables that are chosen below the network, or in it.
Page.makeLookup = ({ nodes, pairs, level }, edges) => {
  const { byId, decimals, sayQ } = Page;
  if (pairs === null) return { describe: null, follow() {}, onPick() {} };
  const sides = [byId("pair-first"), byId("pair-second")];
  const has = (value) => value !== "";
  const listeners = [];

  // Pairs are in the order (0, 1), (0, 2), ..., (1, 2), ... of the nodes.
  function place(a, b) {
    const [i, j] = a < b ? [a, b] : [b, a];
    return i * nodes.length - (i * (i + 1)) / 2 + j - i - 1;
  }

  // The sentences of `Inference.describe`, of numbers that are rounded.
  function describe(a, b) {
    const k = place(a, b), verdict = pairs.verdict[k], [first, second] = [a, b].map((node) => NetworkView.parts.clean(nodes[node].name));
    if (verdict > 1) return `Whether ${first} and ${second} are related cannot be told from these rows: ${pairs.reasons[verdict - 2]}`;
    if (verdict === 1) {
      const form = (value) => decimals(value, pairs.signed === true || pairs.signed[k] === 1);
      const interval = `${level} interval ${form(pairs.low[k])} to ${form(pairs.high[k])}`;
      return `${first} and ${second} have an edge of ${form(pairs.estimate[k])} (${interval}; ${sayQ(pairs.q[k])}).`;
    }
    const interval = `${level} interval ${decimals(pairs.low[k])} to ${decimals(pairs.high[k])}`;
    return `No edge was found between ${first} and ${second} (${sayQ(pairs.q[k])}; ${interval}); one of ${pairs.detectable[k]} would `
      + "have been found four times out of five.";
  }

  function tellPair() {
    const [a, b] = sides.map((side) => side.value);
    const isPair = has(a) && has(b) && a !== b;
    byId("pair-said").textContent = isPair ? describe(Number(a), Number(b)) : "";
    return isPair ? [Number(a), Number(b)] : null;
  }

  for (const side of sides) {
    side.addEventListener("change", () => {
      const chosen = tellPair();
      if (chosen !== null) for (const call of listeners) call(...chosen);
    });
  }
  tellPair(); // browsers keep what was chosen when a page is loaded again

  return {
    describe,
    // The ends of an edge that is selected, or the last two nodes that were.
    follow(selection) {
      if (selection === null) return;
      const { node, edge } = selection, [a, b] = sides.map((side) => side.value);
      const ends = edge === undefined ? [] : [edges[edge].a, edges[edge].b].map(String);
      if (edge !== undefined && a !== b && ends.includes(a) && ends.includes(b)) return; // in the order that was chosen
      if (edge !== undefined) [sides[0].value, sides[1].value] = ends;
      else if (!has(a)) sides[0].value = node;
      else if (!has(b) && Number(a) !== node) sides[1].value = node;
      else if (Number(a) !== node && Number(b) !== node) [sides[0].value, sides[1].value] = [b, node];
      tellPair();
    },
    onPick: (call) => { listeners.push(call); },
  };
};
