"use strict";
// Two penalties side by side: the same variables at the same places, and which edges only one of them has.
(() => {
  const { data, byId, signed, signOf, tell, count } = Page;
  const { network, alternatives } = data;
  if (alternatives === null) return;

  const keyOf = ([a, b]) => `${a},${b}`;
  const keys = alternatives.edges.map((own) => new Set(own.map(keyOf)));
  // A view has the edges of all penalties, one penalty after the other, and shows those of one.
  const all = alternatives.edges.flatMap((own, which) =>
    own.map(([a, b, weight, hasSign]) => ({ which, row: [a, b, weight, null, hasSign] })));
  const sides = { first: byId("alpha-first"), second: byId("alpha-second") };
  const chosen = (side) => Number(sides[side].value);
  const other = { first: "second", second: "first" };
  const isOnly = (row, side) => !keys[chosen(other[side])].has(keyOf(row));

  // Of all penalties, because one bar tells the colours of both views.
  const strengths = alternatives.edges.flatMap((own) => {
    const sums = network.nodes.map(() => 0);
    for (const [a, b, weight] of own) for (const k of [a, b]) sums[k] += Math.abs(weight);
    return sums;
  });
  const range = [Math.min(...strengths), Math.max(...strengths)];

  function makeView(side, legend) {
    const nodes = network.nodes.map((node) => ({ ...node }));
    return NetworkView.make(byId(`network-${side}`), { ...network, nodes, range, edges: all.map((own) => own.row) },
      { legend, none: "At this penalty there is no such edge.", label: `The network at the ${side} of two penalties` });
  }
  const views = { first: makeView("first", byId("compare-legend")), second: makeView("second", null) };
  views.second.follow(views.first);

  function countEdges(view, which) {
    for (const node of view.nodes) [node.degree, node.strength] = [0, 0];
    for (const [a, b, weight] of alternatives.edges[which]) {
      for (const k of [a, b]) {
        view.nodes[k].degree += 1;
        view.nodes[k].strength += Math.abs(weight);
      }
    }
  }

  function fillList(side) {
    const only = alternatives.edges[chosen(side)].filter((row) => isOnly(row, side));
    const items = only.map(([a, b, weight, hasSign]) => {
      const names = `${network.nodes[a].name} – ${network.nodes[b].name}`;
      return tell(`${signed({ weight, hasSign })}  ${names}`, "li", signOf({ weight, hasSign }));
    });
    byId(`only-${side}`).replaceChildren(tell(`Only at ${alternatives.alphas[chosen(side)]}: ${only.length}`, "li"), ...items);
    return only.length;
  }

  function refresh() {
    const isBrief = byId("only-different").checked;
    for (const side of ["first", "second"]) {
      const which = chosen(side);
      countEdges(views[side], which);
      views[side].showEdges((edge) => all[edge.index].which === which && (!isBrief || isOnly(all[edge.index].row, side)));
    }
    const [first, second] = [chosen("first"), chosen("second")];
    const n = alternatives.edges[first].filter((row) => keys[second].has(keyOf(row))).length;
    const only = { first: fillList("first"), second: fillList("second") };
    const said = [`${only.first} only at ${alternatives.alphas[first]}`, `${only.second} only at ${alternatives.alphas[second]}`];
    byId("compare-count").textContent = `${count(n, "edge")} in both, ${said.join(", ")}.`;
  }

  for (const side of ["first", "second"]) {
    sides[side].addEventListener("change", refresh);
    views[side].onSelect((selection) => views[other[side]].select(selection?.node === undefined ? null : selection));
  }
  byId("only-different").addEventListener("change", refresh);
  const colorBoth = () => { for (const view of Object.values(views)) view.colorNodes(byId("color").value); };
  byId("color").addEventListener("change", colorBoth);
  colorBoth();
  refresh();
  Page.compared = views;
})();
