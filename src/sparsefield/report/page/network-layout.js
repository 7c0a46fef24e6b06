"use strict";
// Where nodes go when they are laid out again: components side by side, each by springs, nodes without edges in rows below.
(() => {
  const SPRING = 60; // what an edge is long; other lengths are in the same unit
  const ROOM = 46; // between components and rows
  const PULL = 0.06; // to the middle, in a square window: less lets parts that negative edges join drift far apart
  const WEAK = 0.05; // a spring of a negative edge beside that of a positive one: these nodes need not be neighbours

  const spread = (values) => Math.max(...values) - Math.min(...values);
  const isLying = (points) => spread(points.map((point) => point.x)) >= spread(points.map((point) => point.y));

  function findComponents(n, nodes, edges) {
    const root = Array.from({ length: n }, (_, k) => k);
    const find = (k) => {
      while (root[k] !== k) k = root[k] = root[root[k]];
      return k;
    };
    for (const edge of edges) root[find(edge.a)] = find(edge.b);
    const found = new Map();
    for (const k of nodes) (found.get(find(k)) ?? found.set(find(k), []).get(find(k))).push(k);
    const all = [...found.values()];
    return {
      joined: all.filter((own) => own.length > 1).sort((one, other) => other.length - one.length),
      alone: all.filter((own) => own.length === 1).flat(),
    };
  }

  // Springs pull along edges, nodes push each other away, and a weak pull to the middle keeps the rest together.
  // The pull is weaker along the longer side of the window (`shape`: width by height), so that the component fills it.
  function makeSprings(members, edges, positions, shape) {
    const middle = [0, 1].map((axis) => members.reduce((sum, k) => sum + positions[k][axis], 0) / members.length);
    const far = Math.max(1e-9, ...members.map((k) => Math.hypot(positions[k][0] - middle[0], positions[k][1] - middle[1])));
    const start = (SPRING * Math.sqrt(members.length)) / far; // about the size that it will have
    const bodies = members.map((k) => ({ node: k, x: start * (positions[k][0] - middle[0]), y: start * (positions[k][1] - middle[1]) }));
    if (isLying(bodies) !== shape > 1) for (const body of bodies) [body.x, body.y] = [body.y, -body.x];
    const index = new Map(members.map((k, i) => [k, i]));
    const degree = new Array(members.length).fill(0);
    const links = edges.map((edge) => ({ source: index.get(edge.a), target: index.get(edge.b), weight: edge.weight }));
    for (const link of links) degree[link.source]++, degree[link.target]++;
    const isMixed = links.some((link) => link.weight > 0); // where all are negative, these must do
    const pull = d3.forceLink(links).distance(SPRING).strength((link) =>
      (link.weight < 0 && isMixed ? WEAK : 1) / Math.min(degree[link.source.index], degree[link.target.index]));
    return {
      bodies,
      simulation: d3.forceSimulation(bodies).stop()
        .force("link", pull)
        .force("push", d3.forceManyBody().strength(-4 * SPRING).distanceMax(20 * SPRING))
        .force("x", d3.forceX().strength(PULL / Math.sqrt(shape))).force("y", d3.forceY().strength(PULL * Math.sqrt(shape)))
        .force("apart", d3.forceCollide(0.25 * SPRING)),
    };
  }

  const boxOf = (bodies) => ({
    left: Math.min(...bodies.map((body) => body.x)), right: Math.max(...bodies.map((body) => body.x)),
    top: Math.min(...bodies.map((body) => body.y)), bottom: Math.max(...bodies.map((body) => body.y)),
  });

  // Put boxes side by side, as text is set: in lines of about the wanted shape, each as high as its highest box. Gives their corners.
  function shelve(boxes, shape) {
    const area = boxes.reduce((sum, box) => sum + (box.width + ROOM) * (box.height + ROOM), 0);
    const widest = Math.max(Math.sqrt(area * shape), ...boxes.map((box) => box.width));
    const corners = [];
    let x = 0, y = 0, high = 0, right = 0;
    for (const box of boxes) {
      if (x > 0 && x + box.width > widest) [x, y, high] = [0, y + high + ROOM, 0];
      corners.push([x, y]);
      x += box.width + ROOM;
      high = Math.max(high, box.height);
      right = Math.max(right, x - ROOM);
    }
    return { corners, width: right, height: boxes.length ? y + high : 0 };
  }

  // Rows of nodes, from left to right and in the order of their columns, below what has edges.
  function rowsOf(nodes, width, top, step) {
    const each = Math.max(1, Math.min(nodes.length, Math.floor(width / step + 1e-9) + 1)), left = (width - (each - 1) * step) / 2;
    return [...nodes].sort((one, other) => one - other).map((k, i) => [k, left + (i % each) * step, top + Math.floor(i / each) * ROOM]);
  }

  // A layout that comes to rest: tick() moves it on and says whether it goes on; targets() has where nodes should be now.
  function makeLayout(n, nodes, edges, positions, shape) {
    const { joined, alone } = findComponents(n, nodes, edges);
    const home = new Map(joined.flatMap((members, c) => members.map((k) => [k, c])));
    const groups = joined.map(() => []);
    for (const edge of edges) groups[home.get(edge.a)].push(edge);
    const parts = joined.map((members, c) => makeSprings(members, groups[c], positions, Math.min(2, Math.max(0.5, shape))));
    return {
      tick() {
        for (const part of parts) if (part.simulation.alpha() > part.simulation.alphaMin()) part.simulation.tick();
        return parts.some((part) => part.simulation.alpha() > part.simulation.alphaMin());
      },
      targets() {
        const boxes = parts.map((part) => boxOf(part.bodies));
        const shelf = shelve(boxes.map((box) => ({ width: box.right - box.left, height: box.bottom - box.top })), shape);
        const found = parts.flatMap((part, c) => part.bodies.map((body) => [
          body.node, shelf.corners[c][0] + body.x - boxes[c].left, shelf.corners[c][1] + body.y - boxes[c].top]));
        const step = parts.length ? ROOM : 3 * ROOM; // alone, they have room for their names
        const width = parts.length ? shelf.width : step * (Math.ceil(Math.sqrt((shape * alone.length) / 3)) - 1);
        return [...found, ...rowsOf(alone, Math.max(width, 0), parts.length ? shelf.height + 1.5 * ROOM : 0, step)];
      },
    };
  }

  Object.assign(NetworkView.parts, { makeLayout, spread });
})();
