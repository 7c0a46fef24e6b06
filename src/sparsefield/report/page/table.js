"use strict";
// The table of edges: sorted by a column, filtered as the network is, and linked with it.
Page.makeTable = (nodes, edges) => {
  const { byId, signed, signOf, percent, tell, count, decimals, sayQ } = Page;
  const heads = [...document.querySelectorAll("#edges th[data-key]")];
  const has = (key) => heads.some((head) => head.dataset.key === key);
  const body = document.querySelector("#edges tbody"), box = byId("edges-scroll");
  if (body === null) return { show() {}, mark() {}, onPick() {} };
  const listeners = [];
  let order = { key: "weight", down: true, bySize: true };

  const sayInterval = ({ estimate, low, high, hasSign }) => (
    estimate === null ? "" : `${decimals(estimate, hasSign)} [${decimals(low)}, ${decimals(high)}]`);
  const sayRate = ({ q }) => (q === null ? "" : sayQ(q).replace(/^q (= )?/, "").replace("< ", "<"));
  const rows = edges.map((edge) => {
    const line = document.createElement("tr");
    line.tabIndex = -1;
    line.append(tell(nodes[edge.a].name, "td"), tell(nodes[edge.b].name, "td"), tell(signed(edge), "td", `number ${signOf(edge)}`));
    if (has("estimate")) line.append(tell(sayInterval(edge), "td", "number"), tell(sayRate(edge), "td", "number"));
    if (has("undecided")) line.append(tell(edge.undecided ? "yes" : "", "td"));
    if (has("share")) line.append(tell(percent(edge.share), "td", "number"));
    const row = { ...edge, first: nodes[edge.a].name, second: nodes[edge.b].name, line };
    line.addEventListener("click", () => pick(row));
    return row;
  });
  const rowOf = new Map(rows.map((row) => [row.line, row]));

  function pick(row) {
    for (const call of listeners) call(row.index);
  }

  function sort() {
    const { key, down, bySize } = order;
    const value = (row) => (key === "weight" && bySize ? row.size : row[key]);
    const compare = (p, q) => {
      const [u, v] = [value(p), value(q)];
      const way = typeof u === "string" ? u.localeCompare(v) : Number(u) - Number(v);
      return down ? -way : way;
    };
    body.append(...[...rows].sort(compare).map((row) => row.line));
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    makeReachable();
  }

  // One row is on the way of the tabulator; arrows lead to the others.
  function makeReachable(wanted = [...body.rows].find((line) => !line.hidden)) {
    for (const line of body.querySelectorAll("[tabindex='0']")) line.tabIndex = -1;
    if (wanted) wanted.tabIndex = 0;
  }

  body.addEventListener("keydown", (event) => {
    const line = event.target.closest("tr"), way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (event.key === "Enter" || event.key === " ") pick(rowOf.get(line));
    else if (!way) return;
    let other = way ? line[way] : null;
    while (other?.hidden) other = other[way];
    if (other) {
      makeReachable(other);
      other.focus();
    }
    event.preventDefault();
  });

  function sortBy(key) {
    const again = order.key === key && !order.bySize;
    order = { key, down: again ? !order.down : !["first", "second", "q"].includes(key), bySize: false };
    sort();
  }
  for (const head of heads) {
    head.addEventListener("click", () => sortBy(head.dataset.key));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(head.dataset.key); });
  }

  function asCsv() {
    const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
    const marks = edges.some((edge) => edge.undecided !== null) ? ["undecided"] : [];
    const extra = [...marks, ...(has("estimate") ? ["estimate", "low", "high", "q"] : []), ...(has("share") ? ["share"] : [])];
    const asText = (value) => (value === null ? "" : String(value));
    const lines = rows.map((row) => [quote(row.first), quote(row.second), String(row.weight), ...extra.map((key) => asText(row[key]))]);
    const head = ["first", "second", "weight", ...extra].map((key) => (key === "share" ? "selected" : key));
    return [head, ...lines].map((line) => line.join(",")).join("\r\n") + "\r\n";
  }
  byId("download").addEventListener("click", () => Page.download(new Blob([asCsv()], { type: "text/csv;charset=utf-8" }), "edges.csv"));
  sort();

  return {
    // Rows of edges that are not shown are hidden.
    show(keep) {
      let n = 0;
      for (const row of rows) {
        const isShown = keep(row);
        if (row.line.hidden === isShown) row.line.hidden = !isShown;
        n += isShown;
      }
      byId("table-count").textContent = n === rows.length ? count(n, "row") : `${n} of ${count(rows.length, "row")}`;
      makeReachable();
    },
    // Marks rows, and scrolls to the first of them inside the box of the table, which leaves the page where it is.
    mark(isPicked) {
      for (const row of rows) {
        row.line.classList.toggle("picked", isPicked(row));
        row.line.ariaCurrent = isPicked(row) ? "true" : null;
      }
      const first = body.querySelector("tr.picked:not([hidden])");
      if (first) box.scrollTop = first.offsetTop - (box.clientHeight - first.offsetHeight) / 2;
    },
    onPick: (call) => { listeners.push(call); },
  };
};
