"use strict";
(() => {
  const { literal, signed, percent, tell } = Page;
  const { network } = Page.data;
  const { nodes, colors } = network;
  const edges = network.edges.map(([a, b, weight, undecided, hasSign, share = null, low = null, high = null]) => (
    { a, b, weight, undecided, hasSign, size: Math.abs(weight), share, low, high }));
  const most = edges.length ? edges[0].size : 1;
  const BINS = 5;
  const SHADES = [0.1, 0.18, 0.28, 0.42, 0.6, 0.9]; // of edges found in 0%, 20%, ... and in all resamples
  const POSITIVE = "#3b6fb5", NEGATIVE = "#c2410c", UNSIGNED = "#777777", FOUND = "#111111";
  const colorOf = (edge) => (!edge.hasSign ? UNSIGNED : edge.weight > 0 ? POSITIVE : NEGATIVE);
  const classOf = (edge) => (!edge.hasSign ? "" : edge.weight > 0 ? "positive" : "negative");
  const byId = (id) => document.getElementById(id);
  const state = { least: 0, foundIn: 0, found: null, names: byId("show-names").checked, color: byId("color").value };

  // Shares are quotients of whole numbers: one that is as large as asked for may be less by rounding.
  const isFound = (edge) => edge.share === null || 100 * edge.share >= state.foundIn - 1e-9;
  const shown = () => edges.filter((edge) => edge.size >= state.least && isFound(edge));
  const sayShare = (edge) => (edge.share === null ? "" : `, found in ${percent(edge.share)} of resamples`);

  function lineTraces(visible) {
    const groups = new Map();
    for (const edge of visible) {
      const bin = Math.min(BINS - 1, Math.floor((BINS * edge.size) / most));
      const shade = edge.share === null ? 0.25 + 0.12 * bin : SHADES[Math.floor((SHADES.length - 1) * edge.share + 1e-9)];
      const key = `${colorOf(edge)}/${bin}/${shade}`;
      if (!groups.has(key)) groups.set(key, { bin, shade, color: colorOf(edge), x: [], y: [] });
      const own = groups.get(key);
      own.x.push(nodes[edge.a].x, nodes[edge.b].x, null);
      own.y.push(nodes[edge.a].y, nodes[edge.b].y, null);
    }
    return [...groups.values()].map((own) => ({
      type: "scatter", mode: "lines", x: own.x, y: own.y, hoverinfo: "skip", showlegend: false,
      line: { color: own.color, width: 0.6 + 0.9 * own.bin },
      opacity: state.found === null ? own.shade : 0.12,
    }));
  }

  function foundTrace(visible) {
    if (state.found === null) return [];
    const own = visible.filter((edge) => edge.a === state.found || edge.b === state.found);
    const x = [], y = [];
    for (const edge of own) {
      x.push(nodes[edge.a].x, nodes[edge.b].x, null);
      y.push(nodes[edge.a].y, nodes[edge.b].y, null);
    }
    return [{ type: "scatter", mode: "lines", x, y, hoverinfo: "skip", showlegend: false, line: { color: FOUND, width: 1.8 } }];
  }

  // A point in the middle of each edge, to hover over.
  function middleTrace(visible) {
    return {
      type: "scatter", mode: "markers", showlegend: false, hoverinfo: "text",
      x: visible.map((edge) => (nodes[edge.a].x + nodes[edge.b].x) / 2),
      y: visible.map((edge) => (nodes[edge.a].y + nodes[edge.b].y) / 2),
      text: visible.map((edge) => `${literal(nodes[edge.a].name)} – ${literal(nodes[edge.b].name)}: ${signed(edge)}${literal(sayShare(edge))}`),
      marker: { size: 7, opacity: 0 },
    };
  }

  function nodeTraces() {
    const trace = (label, members, marker) => ({
      type: "scatter", mode: state.names ? "markers+text" : "markers", name: literal(label), hoverinfo: "text",
      showlegend: label !== "", customdata: members,
      x: members.map((k) => nodes[k].x), y: members.map((k) => nodes[k].y),
      text: members.map((k) => literal(nodes[k].name)), textposition: "top center", textfont: { size: 10 },
      hovertext: members.map((k) => `<b>${literal(nodes[k].name)}</b>` + (nodes[k].group === null ? "" : ` (${literal(nodes[k].group)})`) +
        `<br>${nodes[k].degree} edges, strength ${nodes[k].strength}`),
      marker: { size: members.map((k) => (k === state.found ? 17 : 10)), line: { color: "#fff", width: 1 }, ...marker },
    });
    const all = nodes.map((_, k) => k);
    if (state.color !== "group") {
      const marker = { color: nodes.map((node) => node.strength), colorscale: "Viridis", reversescale: true, showscale: true,
        colorbar: { title: { text: "strength" }, thickness: 12, len: 0.5 } };
      return [trace("", all, marker)];
    }
    return Object.keys(colors).sort().map((group) => {
      const members = all.filter((k) => nodes[k].group === group);
      return trace(group, members, { color: colors[group] });
    });
  }

  const axis = { visible: false, zeroline: false };
  const layout = {
    margin: { l: 8, r: 8, t: 8, b: 8 }, dragmode: "pan", hovermode: "closest", xaxis: { ...axis },
    yaxis: { ...axis, scaleanchor: "x" }, legend: { orientation: "h", y: 0 }, uirevision: "keep", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
  };
  const config = { scrollZoom: true, displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };

  function draw() {
    const visible = shown();
    byId("edge-count").textContent = visible.length;
    byId("strength-value").textContent = state.least.toPrecision(2).replace(/^0\.0+$/, "0");
    const traces = [...lineTraces(visible), ...foundTrace(visible), middleTrace(visible), ...nodeTraces()];
    return Plotly.react("network", traces, layout, config);
  }

  function find(k) {
    state.found = k;
    const panel = byId("found");
    panel.replaceChildren();
    if (k === null) {
      panel.append(tell("Nothing found", "h3"), tell("Find a variable above, or click on one, to see its edges.", "p"));
    } else {
      panel.append(tell(nodes[k].name, "h3"));
      const own = edges.filter((edge) => edge.a === k || edge.b === k);
      panel.append(tell(own.length ? `${own.length} edges, strongest first:` : "It has no edges.", "p"));
      const list = document.createElement("ul");
      for (const edge of own) {
        const item = tell(`${signed(edge)}  ${nodes[edge.a === k ? edge.b : edge.a].name}${sayShare(edge)}`, "li");
        item.className = classOf(edge);
        list.append(item);
      }
      panel.append(list);
    }
    draw();
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return find(null);
    const names = nodes.map((node) => node.name.toLowerCase());
    let k = names.indexOf(wanted);
    if (k < 0) k = names.findIndex((name) => name.startsWith(wanted));
    if (k < 0) k = names.findIndex((name) => name.includes(wanted));
    find(k < 0 ? null : k);
  }

  // --- The table ---
  const heads = [...document.querySelectorAll("#edges th[data-key]")];
  const rows = edges.map((edge) => ({
    first: nodes[edge.a].name, second: nodes[edge.b].name, weight: edge.weight, size: edge.size, undecided: edge.undecided, hasSign: edge.hasSign,
    share: edge.share, low: edge.low, high: edge.high,
  }));
  const has = (key) => heads.some((head) => head.dataset.key === key);
  let order = { key: "weight", down: true, bySize: true };

  function numberCell(text) {
    const cell = tell(text, "td");
    cell.className = "number";
    return cell;
  }

  function fillTable() {
    const { key, down, bySize } = order;
    const value = (row) => (key === "weight" && bySize ? row.size : row[key]);
    const compare = (p, q) => {
      const [u, v] = [value(p), value(q)];
      const way = typeof u === "string" ? u.localeCompare(v) : Number(u) - Number(v);
      return down ? -way : way;
    };
    const body = document.querySelector("#edges tbody");
    const lines = document.createDocumentFragment();
    for (const row of [...rows].sort(compare)) {
      const line = document.createElement("tr");
      const weight = tell(signed(row), "td");
      weight.className = `number ${classOf(row)}`;
      line.append(tell(row.first, "td"), tell(row.second, "td"), weight);
      if (has("undecided")) line.append(tell(row.undecided ? "yes" : "", "td"));
      if (has("share")) line.append(numberCell(percent(row.share)), numberCell(`${row.low.toPrecision(3)} to ${row.high.toPrecision(3)}`));
      lines.append(line);
    }
    body.replaceChildren(lines);
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  function sortBy(key) {
    const again = order.key === key && !order.bySize;
    order = { key, down: again ? !order.down : key !== "first" && key !== "second", bySize: false };
    fillTable();
  }

  function asCsv() {
    const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
    const extra = [...(has("undecided") ? ["undecided"] : []), ...(has("share") ? ["share", "low", "high"] : [])];
    const lines = rows.map((row) => [quote(row.first), quote(row.second), String(row.weight), ...extra.map((key) => String(row[key]))]);
    const head = ["first", "second", "weight", ...extra].map((key) => (key === "share" ? "selected" : key));
    return [head, ...lines].map((line) => line.join(",")).join("\r\n") + "\r\n";
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([asCsv()], { type: "text/csv;charset=utf-8" }));
    link.download = "edges.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  let waiting = false;
  function drawSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  byId("strength").addEventListener("input", (event) => {
    state.least = (most * Number(event.target.value)) / 1000;
    drawSoon();
  });
  if (has("share")) {
    byId("found-in").addEventListener("input", (event) => {
      state.foundIn = Number(event.target.value);
      byId("found-in-value").textContent = `${state.foundIn}%`;
      drawSoon();
    });
  }
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("show-names").addEventListener("change", (event) => { state.names = event.target.checked; draw(); });
  byId("color").addEventListener("change", (event) => { state.color = event.target.value; draw(); });
  byId("download").addEventListener("click", download);
  for (const head of heads) {
    head.addEventListener("click", () => sortBy(head.dataset.key));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(head.dataset.key); });
  }
  fillTable();
  draw().then(() => {
    byId("network").on("plotly_click", (event) => {
      const point = event.points.find((own) => own.customdata !== undefined);
      if (point) find(point.customdata);
    });
    document.body.dataset.ready = "yes";
  });
})();
