"use strict";
// The network as people see it. The files network-*.js are joined in a fixed order (report/_view.py names it) into one plain script
// with one global, NetworkView; network.js, which comes last, makes views of the parts that the others add.
const NetworkView = { parts: {} };

// What marks look like: shapes and colours of nodes, styles of edges, and the theme. Colours come from Python, so that page and PNG
// have one code.
(() => {
  const corners = (n, turn) => Array.from({ length: n }, (_, k) => {
    const angle = turn + (2 * Math.PI * k) / n;
    return [Math.sin(angle), -Math.cos(angle)];
  });
  // Outlines within a circle of radius one, and by how much each is enlarged: all cover the same area as the circle does.
  const OUTLINES = { square: corners(4, Math.PI / 4), diamond: corners(4, 0), triangle: corners(3, 0) };
  const area = (points) => Math.abs(points.reduce((sum, [x, y], k) => {
    const [u, v] = points[(k + 1) % points.length];
    return sum + (x * v - u * y) / 2;
  }, 0));
  const SCALED = Object.fromEntries(Object.entries(OUTLINES).map(([name, points]) => {
    const factor = Math.sqrt(Math.PI / area(points));
    return [name, points.map(([x, y]) => [factor * x, factor * y])];
  }));

  function traceShape(context, shape, x, y, radius) {
    context.beginPath();
    if (!(shape in SCALED)) return context.arc(x, y, radius, 0, 2 * Math.PI);
    SCALED[shape].forEach(([u, v], k) => context[k ? "lineTo" : "moveTo"](x + radius * u, y + radius * v));
    context.closePath();
  }

  const LEVELS = 16; // of widths and of shares: lines that follow each other mostly have one style, which is set once
  const stepped = (part) => Math.round(LEVELS * part) / LEVELS;

  // Few lines are drawn boldly; of many each gets fainter, and on a small screen sooner, because where they lie on each other they add
  // up. A fifth, which 5,000 lines get on a desk, still shows alone.
  const DESK = 700_000; // pixels of the network of a page that is 1280 wide
  const opacityFor = (n, area) => Math.min(0.85, Math.max(0.2, Math.sqrt(((200 / Math.max(1, n)) * Math.min(DESK, area)) / DESK)));

  // Width tells the weight, colour the sign, dots that other rows may not show it, dashes that the draws do not decide, opacity the
  // share of resamples. No code is used twice.
  function styleOf(edge, most, opacity) {
    return {
      color: !edge.hasSign ? "unsigned" : edge.weight > 0 ? "positive" : "negative",
      width: 0.6 + 3.4 * stepped(edge.size / most),
      opacity: opacity * (edge.share === null ? 1 : 0.15 + 0.85 * stepped(edge.share)),
      dashed: edge.undecided === true && edge.isSure !== false,
      dotted: edge.isSure === false,
    };
  }

  const dashes = (width) => [3 + 2 * width, 3 + 1.5 * width];
  const dots = (width) => [Math.max(1.5, width), 2 + width];

  // A page may set its theme (`data-theme` of the document); without, the system's holds.
  function makeTheme(palette, changed, paint) {
    const dark = matchMedia("(prefers-color-scheme: dark)"), print = matchMedia("print");
    const root = document.documentElement;
    let isPrinting = false; // paper is white
    const find = () => {
      if (isPrinting || print.matches) return "light";
      return ["light", "dark"].includes(root.dataset.theme) ? root.dataset.theme : dark.matches ? "dark" : "light";
    };
    const theme = { name: find(), colors: palette[find()] };
    const follow = () => {
      if (find() === theme.name) return;
      theme.name = find();
      theme.colors = palette[theme.name];
      changed();
    };
    for (const media of [dark, print]) media.addEventListener("change", follow);
    for (const [event, is] of [["beforeprint", true], ["afterprint", false]]) {
      addEventListener(event, () => {
        isPrinting = is;
        follow();
        if (is) paint(); // no frame comes before the paper
      });
    }
    const observer = new MutationObserver(follow);
    observer.observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    return theme;
  }

  // A colour of a scale that has a few: linear between its neighbours.
  function mix(scale, part) {
    const at = Math.min(1, Math.max(0, part)) * (scale.length - 1);
    const k = Math.min(scale.length - 2, Math.floor(at));
    const read = (color) => [1, 3, 5].map((from) => parseInt(color.slice(from, from + 2), 16));
    const [low, high] = [read(scale[k]), read(scale[k + 1])];
    return `rgb(${low.map((value, i) => Math.round(value + (at - k) * (high[i] - value))).join(" ")})`;
  }

  // Colour and shape of nodes by one of their properties.
  function makeColoring(data, theme) {
    const { nodes } = data, strengths = nodes.map((node) => node.strength);
    const range = data.range ?? [Math.min(...strengths), Math.max(...strengths)];
    const found = nodes.map((node) => node.cluster).filter((cluster) => cluster !== null);
    const clusters = [...new Set(found)].sort((one, other) => one - other);
    const ways = {
      group: {
        keys: Object.keys(data.groups), keyOf: (node) => node.group, nameOf: (key) => key,
        colorOfKey: (key) => data.groups[key][theme.name], shapeOfKey: (key) => data.groups[key].shape,
      },
      cluster: {
        keys: clusters, keyOf: (node) => node.cluster, nameOf: (key) => `cluster ${key + 1}`,
        colorOfKey: (key) => data.clusters[key][theme.name], shapeOfKey: (key) => data.clusters[key].shape,
      },
      none: { keys: [], keyOf: () => null, nameOf: () => "", colorOfKey: () => theme.colors.node, shapeOfKey: () => "circle" },
    };
    const coloring = {
      range,
      set(by) {
        coloring.by = by;
        Object.assign(coloring, ways[by] ?? ways.none);
      },
      shapeOf(k) {
        const key = coloring.keyOf(nodes[k]);
        return coloring.keys.includes(key) ? coloring.shapeOfKey(key) : "circle";
      },
      colorOf(k) {
        if (coloring.by === "strength" && range[1] > range[0]) {
          return mix(theme.colors.sequence, (nodes[k].strength - range[0]) / (range[1] - range[0]));
        }
        const key = coloring.keyOf(nodes[k]);
        return coloring.keys.includes(key) ? coloring.colorOfKey(key) : theme.colors.node;
      },
    };
    coloring.set(Object.keys(data.groups).length ? "group" : "none");
    return coloring;
  }

  Object.assign(NetworkView.parts, { traceShape, styleOf, opacityFor, dashes, dots, makeTheme, makeColoring, mix });
})();
