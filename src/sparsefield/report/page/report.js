"use strict";
// The network, its controls, the list of neighbours, and the links between the network, the table and the intervals.
(() => {
  const { data, byId, signed, signOf, percent, sayOdds, sayEstimate, tell, count } = Page;
  const container = byId("network"), state = { least: 0, foundIn: 0, text: "" };
  const view = NetworkView.make(container, data.network, {
    legend: byId("legend"), empty: container.dataset.empty, controls: data.network.edges.length > 0,
    describePair: data.pairs === null ? null : (a, b) => lookup.describe(a, b),
  });
  const { nodes, edges } = view;
  const most = edges.length ? edges[0].size : 1;
  const table = Page.makeTable(nodes, edges);
  const lookup = Page.makeLookup({ nodes, pairs: data.pairs, level: data.network.level }, edges);
  const intervals = [...document.querySelectorAll(".interval[data-edge]")];

  // --- What is shown ---
  // Shares are quotients of whole numbers: one that is as large as asked for may be less by rounding.
  const isFound = (edge) => edge.share === null || 100 * edge.share >= state.foundIn - 1e-9;
  const isShown = (edge) => edge.size >= state.least && isFound(edge);
  const matches = (edge) => [edge.a, edge.b].some((k) => nodes[k].name.toLowerCase().includes(state.text));

  function draw() {
    byId("edge-count").textContent = view.showEdges(isShown);
    byId("strength-value").textContent = state.least === 0 ? "0" : state.least.toPrecision(2);
    table.show((edge) => isShown(edge) && matches(edge));
  }

  let waiting = false;
  function drawSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  // --- What is selected: here, in the table and among the intervals ---
  const isAt = (edge, node) => edge.a === node || edge.b === node;
  const isOf = (edge, { node, edge: index }) => (index === undefined ? isAt(edge, node) : edge.index === index);

  function mark(selection) {
    table.mark((edge) => selection !== null && isOf(edge, selection));
    for (const own of intervals) own.classList.toggle("picked", selection !== null && isOf(edges[own.dataset.edge], selection));
    tellSelection(selection);
    lookup.follow(selection);
  }

  function select(selection) {
    view.select(selection);
    mark(selection);
  }

  // An edge that is picked elsewhere is selected here, and the network is scrolled into sight.
  function show(edge) {
    select({ edge });
    container.scrollIntoView({ block: "center" });
  }

  function listEdge(edge, text) {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.append(tell(text, "span"), tell(signed(edge), "span", `number ${signOf(edge)}`));
    button.addEventListener("click", () => select({ edge: edge.index }));
    item.append(button);
    if (edge.share !== null) item.append(tell(`found in ${percent(edge.share)} of resamples`, "small"));
    return item;
  }

  // On the side of the network where what is selected is not.
  function placePanel(panel, selection) {
    const { positions } = view.state(), edge = edges[selection.edge];
    const ends = edge === undefined ? [selection.node] : [edge.a, edge.b];
    const middle = ends.reduce((sum, k) => sum + positions[k][0], 0) / ends.length;
    panel.classList.toggle("right", middle < container.clientWidth / 2);
  }

  function tellSelection(selection) {
    const panel = byId("found");
    if (selection !== null) placePanel(panel, selection);
    panel.classList.toggle("idle", selection === null && !state.text);
    if (selection === null) {
      const title = state.text ? "Nothing found" : "Nothing selected";
      panel.replaceChildren(tell(title, "h3"), tell("Find a variable above, or click on one, to see its edges.", "p"));
      return;
    }
    if (selection.edge !== undefined) {
      const edge = edges[selection.edge], [a, b] = [nodes[edge.a], nodes[edge.b]], odds = sayOdds(edge, nodes);
      const words = odds === null ? [] : [`${odds[0].toUpperCase()}${odds.slice(1)}.`];
      const estimate = sayEstimate(edge, data.network);
      if (estimate) words.push(`${estimate[0].toUpperCase()}${estimate.slice(1)}.`);
      if (edge.undecided) words.push("Simulation error leaves open whether it is there.");
      if (edge.share !== null) words.push(`Found in ${percent(edge.share)} of resamples.`);
      const weight = tell(`weight ${signed(edge)}`, "p", signOf(edge));
      panel.replaceChildren(tell(`${a.name} – ${b.name}`, "h3"), weight, ...words.map((text) => tell(text, "p")));
      return;
    }
    const list = document.createElement("ul");
    const own = edges.filter((edge) => isOf(edge, selection));
    list.append(...own.map((edge) => listEdge(edge, nodes[edge.a === selection.node ? edge.b : edge.a].name)));
    const said = own.length ? `${count(own.length, "edge")}${own.length > 1 ? ", strongest first" : ""}:` : "It has no edges.";
    panel.replaceChildren(tell(nodes[selection.node].name, "h3"), tell(said, "p"), list);
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    state.text = wanted;
    const names = nodes.map((node) => node.name.toLowerCase());
    let k = wanted ? names.indexOf(wanted) : -1;
    if (wanted && k < 0) k = names.findIndex((name) => name.startsWith(wanted));
    if (wanted && k < 0) k = names.findIndex((name) => name.includes(wanted));
    draw();
    select(k < 0 ? null : { node: k });
  }

  // --- Controls ---
  byId("strength").addEventListener("input", (event) => {
    state.least = (most * Number(event.target.value)) / 1000;
    drawSoon();
  });
  byId("found-in")?.addEventListener("input", (event) => {
    state.foundIn = Number(event.target.value);
    byId("found-in-value").textContent = `${state.foundIn}%`;
    drawSoon();
  });
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("show-names").addEventListener("change", (event) => view.showNames(event.target.checked));
  byId("hide-isolated").addEventListener("change", (event) => view.hideIsolated(event.target.checked));
  byId("color").addEventListener("change", (event) => view.colorNodes(event.target.value));
  byId("relayout").addEventListener("click", () => view.layOut());
  byId("fit").addEventListener("click", () => view.fit());
  byId("picture").addEventListener("click", async () => Page.download(await view.snapshot(), "network.png"));
  view.onSelect(mark);
  table.onPick(show);
  lookup.onPick((a, b) => {
    const edge = edges.find((own) => (own.a === a && own.b === b) || (own.a === b && own.b === a));
    select(edge === undefined ? null : { edge: edge.index });
  });
  for (const own of intervals) own.addEventListener("click", () => show(Number(own.dataset.edge)));

  view.showNames(byId("show-names").checked);
  view.hideIsolated(byId("hide-isolated").checked);
  view.colorNodes(byId("color").value);
  draw();
  Page.view = view;
  document.body.dataset.ready = "yes";
})();
