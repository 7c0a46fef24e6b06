"use strict";
// One picture of the network on a canvas, from a scene: what is shown, where it is on the screen, and what is picked out.
(() => {
  const { makeLayer, traceShape, dashes, dots, FONT, HEIGHT, PAD } = NetworkView.parts;
  const FADED = 0.15; // what is left of the opacity of what was not picked
  const FADED_NAME = 0.65; // which leaves the text a contrast above 4.5 on either background
  const WIDER = 1.7; // by how much picked edges are wider: they keep the colours of their signs

  // Each line is stroked alone: of 5,000 lines one path takes twice as long (42 ms against 20), because all crossings are found first.
  function paintLines(context, scene, edges, look) {
    const { points, colors, zoomed, view } = scene;
    let last = null;
    context.lineCap = "round";
    for (const edge of edges) {
      const [x, y] = points[edge.a], [u, v] = points[edge.b];
      if (Math.max(x, u) < view.left || Math.max(y, v) < view.top || Math.min(x, u) > view.right || Math.min(y, v) > view.bottom) continue;
      const style = edge.style;
      if (style !== last) {
        context.strokeStyle = colors[style.color];
        context.lineWidth = style.width * zoomed * look.wider;
        context.globalAlpha = look.solid ? Math.max(0.75, style.opacity) : style.opacity * look.fade;
        context.setLineDash(style.dotted ? dots(context.lineWidth) : style.dashed ? dashes(context.lineWidth) : []);
        context.lineCap = style.dashed || style.dotted ? "butt" : "round";
        last = style;
      }
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(u, v);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  function paintNodes(context, scene, nodes, look) {
    const { points, radius, colors, width, height, shapeOf, colorOf } = scene;
    context.lineWidth = 1.25;
    context.strokeStyle = context.fillStyle = colors.background;
    for (const k of nodes) {
      const [x, y] = points[k];
      if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
      traceShape(context, shapeOf(k), x, y, radius);
      context.stroke();
      if (look.fade < 1) context.fill(); // lines do not show through
      context.globalAlpha = look.fade;
      context.fillStyle = colorOf(k);
      context.fill();
      context.fillStyle = colors.background;
      context.globalAlpha = 1;
    }
  }

  function paintRing(context, scene, k) {
    const [x, y] = scene.points[k];
    traceShape(context, scene.shapeOf(k), x, y, scene.radius + 3);
    context.lineWidth = 2;
    context.strokeStyle = scene.colors.text;
    context.stroke();
  }

  // A halo of the colour of the background keeps names legible over lines.
  function paintNames(context, scene) {
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.direction = "ltr";
    context.lineWidth = 3;
    context.strokeStyle = scene.colors.background;
    for (const name of scene.names) {
      context.font = scene.centre.has(name.node) ? `600 ${FONT}` : FONT;
      context.fillStyle = scene.colors.text;
      const x = name.left + PAD, y = name.top + HEIGHT / 2;
      context.strokeText(scene.texts[name.node], x, y);
      context.globalAlpha = scene.picked === null || scene.picked.nodes.has(name.node) ? 1 : FADED_NAME;
      context.fillText(scene.texts[name.node], x, y);
      context.globalAlpha = 1;
    }
  }

  // The edges that were not picked, faint beside a selection. In the middle of a gesture they come from a layer, but for those of the
  // node that is held.
  function paintRest(context, scene, edges, layer) {
    const look = { wider: 1, fade: scene.picked ? FADED : 1 };
    if (!scene.isMoving) return paintLines(context, scene, edges, look);
    const isHeld = (edge) => edge.a === scene.held || edge.b === scene.held;
    layer.paint(context, scene, scene.held === null ? edges : edges.filter((edge) => !isHeld(edge)));
    if (scene.held !== null) paintLines(context, scene, edges.filter(isHeld), look);
  }

  const makePainter = () => {
    const layer = makeLayer((context, scene, edges) => paintLines(context, scene, edges, { wider: 1, fade: scene.picked ? FADED : 1 }));
    return (context, scene) => paintScene(context, scene, layer);
  };

  // What a selection keeps bright: a node with its edges and neighbours, or an edge with its two nodes.
  function reach(selection, edges, shown) {
    if (selection === null) return null;
    const { node, edge: index } = selection, isEdge = node === undefined;
    const own = isEdge ? [edges[index]] : shown.filter((edge) => edge.a === node || edge.b === node);
    const ends = own.flatMap((edge) => [edge.a, edge.b]);
    return { edges: new Set(own), nodes: new Set(isEdge ? ends : [node, ...ends]), centre: isEdge ? ends : [node] };
  }

  // `picked` has the edges and nodes that a selection keeps bright; `hovered` those under the pointer, which only stand out.
  function paintScene(context, scene, layer) {
    const { picked, hovered } = scene;
    context.fillStyle = scene.colors.background;
    context.fillRect(0, 0, scene.width, scene.height);
    const isApart = (edge) => (picked?.edges.has(edge) ?? false) || (hovered?.edges.has(edge) ?? false);
    const rest = picked || hovered ? scene.edges.filter((edge) => !isApart(edge)) : scene.edges;
    paintRest(context, scene, rest, layer);
    const isHovered = (edge) => hovered.edges.has(edge) && !picked?.edges.has(edge);
    if (hovered) paintLines(context, scene, scene.edges.filter(isHovered), { wider: 1.3, solid: true });
    if (picked) paintLines(context, scene, scene.edges.filter((edge) => picked.edges.has(edge)), { wider: WIDER, solid: true });
    const isBright = (k) => picked === null || picked.nodes.has(k);
    if (picked) paintNodes(context, scene, scene.nodes.filter((k) => !isBright(k)), { fade: 0.4 });
    paintNodes(context, scene, picked ? scene.nodes.filter(isBright) : scene.nodes, { fade: 1 });
    for (const k of scene.centre) paintRing(context, scene, k);
    paintNames(context, scene);
  }

  Object.assign(NetworkView.parts, { makePainter, reach });
})();
