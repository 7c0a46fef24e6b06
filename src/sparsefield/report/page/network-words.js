"use strict";
// What is said beside the picture: the legend, with each code that is in use and no other, and the words of tooltips. All of it is set
// as text.
(() => {
  const { traceShape, dashes, dots, mix, clean } = NetworkView.parts;

  function tell(text, tag, className = "") {
    const element = document.createElement(tag);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  // A small canvas, sharp on any screen, with a mark as it is in the picture.
  function sample(width, paint) {
    const canvas = document.createElement("canvas"), dense = window.devicePixelRatio || 1, height = 16;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    canvas.setAttribute("aria-hidden", "true");
    const context = canvas.getContext("2d");
    context.scale(dense, dense);
    paint(context, height / 2);
    return canvas;
  }

  const line = (color, { width = 2.5, pattern = [], opacity = 1 } = {}) => sample(26, (context, y) => {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.globalAlpha = opacity;
    context.setLineDash(pattern);
    context.beginPath();
    context.moveTo(1, y);
    context.lineTo(25, y);
    context.stroke();
  });
  const dot = (color, shape) => sample(16, (context, y) => {
    traceShape(context, shape, 8, y, 5);
    context.fillStyle = color;
    context.fill();
  });

  const short = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");

  function edgeEntries(edges, colors, fdr) {
    const entries = [];
    const has = (wanted) => edges.some(wanted);
    const anySign = has((edge) => edge.hasSign);
    if (has((edge) => edge.hasSign && edge.weight > 0)) entries.push([line(colors.positive), "positive edge"]);
    if (has((edge) => edge.hasSign && edge.weight < 0)) entries.push([line(colors.negative), "negative edge"]);
    if (has((edge) => !edge.hasSign)) entries.push([line(colors.unsigned), anySign ? "edge without a sign" : "edge"]);
    const plain = anySign ? colors.text : colors.unsigned, opacity = 0.65;
    const least = edges.reduce((size, edge) => Math.min(size, edge.size), Infinity); // a call cannot take a million arguments
    if (has((edge) => edge.size > 1.05 * least)) entries.push([line(plain, { width: 5, opacity }), "wider: stronger"]);
    if (has((edge) => edge.isSure === false)) entries.push([line(plain, { pattern: dots(2.5), opacity }), `dotted: q above ${fdr}`]);
    if (has((edge) => edge.undecided === true && edge.isSure !== false)) {
      entries.push([line(plain, { pattern: dashes(1), opacity }), "dashed: undecided (simulation error)"]);
    }
    if (has((edge) => edge.share !== null && edge.share < 1)) entries.push([line(plain, { opacity: 0.25 }), "fainter: in fewer resamples"]);
    return entries;
  }

  function nodeEntries(nodes, coloring) {
    if (coloring.by === "strength") return [];
    return coloring.keys.filter((key) => nodes.some((node) => coloring.keyOf(node) === key))
      .map((key) => [dot(coloring.colorOfKey(key), coloring.shapeOfKey(key)), clean(coloring.nameOf(key))]);
  }

  function strengthBar(coloring, colors) {
    const bar = sample(90, (context) => {
      for (let x = 0; x < 90; x++) {
        context.fillStyle = mix(colors.sequence, x / 89);
        context.fillRect(x, 2, 1, 12);
      }
    });
    const entry = document.createElement("span");
    entry.className = "network-entry";
    entry.setAttribute("aria-label", `strength from ${short(coloring.range[0])} to ${short(coloring.range[1])}`);
    entry.append(tell(`strength ${short(coloring.range[0])}`, "span"), bar, tell(short(coloring.range[1]), "span"));
    return entry;
  }

  function writeLegend(element, nodes, edges, coloring, colors, fdr) {
    const entries = [...nodeEntries(nodes, coloring), ...edgeEntries(edges, colors, fdr)].map(([mark, text]) => {
      const entry = document.createElement("span");
      entry.className = "network-entry";
      entry.append(mark, tell(text, "span"));
      return entry;
    });
    if (coloring.by === "strength" && coloring.range[1] > coloring.range[0]) entries.unshift(strengthBar(coloring, colors));
    element.classList.add("network-legend");
    element.replaceChildren(...entries);
  }

  // The marks and words of a legend, in rows below a picture that is as wide, for pictures that leave the page.
  const ROW = 24, RIM = 12, GAP = 6, APART = 18; // pixels: the height of a row, and between its parts and entries
  function layLegend(context, element, width) {
    const placed = [];
    let x = RIM, y = 0;
    for (const entry of element.children) {
      const parts = [...entry.children].map((part) => (
        { part, x: 0, y: 0, width: parseFloat(part.style.width) || context.measureText(part.textContent).width }));
      const whole = parts.reduce((sum, own) => sum + own.width + GAP, -GAP);
      if (x > RIM && x + whole > width - RIM) [x, y] = [RIM, y + ROW];
      for (const own of parts) {
        placed.push(Object.assign(own, { x, y }));
        x += own.width + GAP;
      }
      x += APART - GAP;
    }
    return { placed, height: placed.length ? y + ROW : 0 };
  }

  function paintLegend(context, { placed }, top) {
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const { part, x, y, width } of placed) {
      if (part.tagName === "CANVAS") context.drawImage(part, x, top + y + 4, width, 16);
      else context.fillText(part.textContent, x, top + y + ROW / 2);
    }
  }

  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // Rounded down, so that 100% is all of them; 0.29 * 100 is 28.999999999999996.
  function percent(share) {
    const whole = Math.floor(100 * share + 1e-9);
    return whole === 0 && share > 0 ? "<1%" : `${whole}%`;
  }

  function describeNode(node) {
    const lines = [clean(node.name)];
    if (node.group !== null) lines.push(clean(node.group));
    lines.push(node.degree ? `${count(node.degree, "edge")}, strength ${short(node.strength)}` : "no edges");
    return lines;
  }

  // Of two levels each, the exponential of the weight is the ratio of the odds; else it has another meaning.
  function sayOdds(edge, nodes) {
    if (!nodes[edge.a].isBinary || !nodes[edge.b].isBinary) return null;
    const ratio = Math.exp(edge.weight).toPrecision(Math.min(3, (edge.nDecimals ?? 2) + 1));
    return `odds ratio ${short(Number(ratio))}, all other variables fixed`;
  }

  // Without decimals that another seed would change, but for the last; three digits where no seed has a part in the weight.
  const sayWeight = ({ weight, nDecimals = null }) =>
    (nDecimals === null ? weight.toPrecision(3) : weight.toFixed(nDecimals)).replace("-", "−");

  // Numbers as they are read: two decimals of a weight, two digits of a q-value, of which tiny ones have none.
  const decimals = (value, hasSign = false) => (hasSign && value > 0 ? "+" : "") + value.toFixed(2).replace("-", "−");
  const sayQ = (q) => (q < 0.001 ? "q < 0.001" : `q = ${Number(q.toPrecision(2))}`);

  // What other rows would show of an edge: an empty string where that is not known.
  function sayEstimate(edge, { level, fdr }) {
    if (edge.estimate === null) return "";
    const interval = `${level} interval ${decimals(edge.low)} to ${decimals(edge.high)}`;
    const weak = edge.isSure ? "" : `, above ${fdr}: it may be due to sampling error`;
    return `estimate ${decimals(edge.estimate, edge.hasSign)} (${interval}), ${sayQ(edge.q)}${weak}`;
  }

  function describeEdge(edge, nodes, data = {}) {
    const written = sayWeight(edge), signed = `${edge.weight > 0 ? "positive, +" : "negative, "}${written}`;
    const weight = edge.hasSign ? signed : `${written}, without a sign`;
    const lines = [`${clean(nodes[edge.a].name)} – ${clean(nodes[edge.b].name)}`, weight, sayOdds(edge, nodes) ?? []].flat();
    if (edge.estimate !== null) lines.push(sayEstimate(edge, data));
    if (edge.share !== null) lines.push(`found in ${percent(edge.share)} of the resamples`);
    if (edge.undecided === true) lines.push("undecided: the simulation error leaves open whether the optimum has it");
    return lines;
  }

  Object.assign(NetworkView.parts, {
    tell, count, percent, writeLegend, layLegend, paintLegend, sayOdds, sayWeight, sayEstimate, sayQ, decimals, describeNode, describeEdge,
  });
})();
