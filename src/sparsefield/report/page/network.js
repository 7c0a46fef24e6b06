"use strict";
// The view: NetworkView.make(container, data, options) draws a network that people can drag, zoom, filter and lay out again.
//
//   data      what describe_network of report/_view.py returns
//   options   legend: the element that explains the codes, or null; names: whether names are written (true);
//             empty, none: what is said where there is no edge, or none is shown; label: what screen readers hear;
//             controls: buttons for zooming (true); describePair(k, l): what is said of a node that is pointed to while another is selected
//   edges, nodes          the objects; an edge is {index, a, b, weight, nDecimals, size, undecided, hasSign, share, estimate, low, high, q, isSure}
//   showEdges(keep)       which edges are shown; returns how many
//   hideIsolated(is)      whether nodes without a shown edge are hidden
//   layOut()              lay what is shown out again; a promise of the end
//   colorNodes(by)        "group", "cluster", "strength" or "none"
//   select(what)          null, {node: k} or {edge: k}; onSelect(call) is told when a person does it
//   showNames(is), fit(), follow(other), snapshot(), state()
(() => {
  const {
    makePainter, reach, placeNames, cut, styleOf, opacityFor, makeTheme, makeColoring, makeCamera, makeFurniture,
    writeLegend, layLegend, paintLegend, describeNode, describeEdge, animateLayout, setInRows, shapeToFit, listen, findHit, linkViews, FONT,
  } = NetworkView.parts;
  const MANY = 1000; // lines, which take 5 ms to paint: with more, a stretched layer stands in for them while one zooms
  const SHARP_AFTER = 150; // milliseconds after the last turn of a wheel
  const UNIT = 500; // positions come as numbers about one; here they are about the pixels of a screen

  function readEdge([a, b, weight, undecided, hasSign, share = null, ...sureness], index, nDecimals) {
    const [estimate = null, low = null, high = null, q = null, isSure = null] = sureness;
    return { index, a, b, weight, nDecimals, size: Math.abs(weight), undecided, hasSign, share, estimate, low, high, q, isSure };
  }

  NetworkView.make = (container, data, options = {}) => {
    const nodes = data.nodes, edges = data.edges.map((row, k) => readEdge(row, k, data.decimals));
    const most = edges.reduce((largest, edge) => Math.max(largest, edge.size), 0) || 1;
    const positions = nodes.map((node) => [UNIT * node.x, -UNIT * node.y]); // up is up in Python, and down on screens
    const texts = nodes.map((node) => cut(node.name));
    // As in pictures: those with most edges first, and the strongest of those with as many.
    const compare = (one, other) => other.degree - one.degree || other.strength - one.strength;
    const importance = nodes.map((_, k) => k).sort((one, other) => compare(nodes[one], nodes[other]) || one - other);
    const state = {
      keep: () => true, hidesIsolated: false, names: options.names ?? true, shown: [], visible: [], placed: [], // what is shown
      shape: { isTurned: false, stretch: 1 }, isArranged: false, // where it is
      selection: null, hovered: null, held: null, isMoving: false, isMoved: false, frames: 0, revision: 0, // what happens
    };
    const listeners = { select: [], move: [] };
    const theme = makeTheme(data.palette, () => restyle(), () => paint());
    const coloring = makeColoring(data, theme);
    const furniture = makeFurniture(container, nodes, edges, options);
    const findLines = () => state.shown.map((edge) => [positions[edge.a], positions[edge.b]]);
    const camera = makeCamera(furniture, move, () => state.visible.map((k) => positions[k]), findLines);
    const context = furniture.canvas.getContext("2d"), paintScene = makePainter();
    const widths = ["", "600 "].map((weight) => {
      context.font = `${weight}${FONT}`;
      return texts.map((text) => context.measureText(text).width);
    });
    camera.leave(Math.max(...widths[0], 0));

    // --- What is shown ---
    function refresh() {
      state.shown = edges.filter(state.keep);
      const { width, height } = camera.size(), opacity = opacityFor(state.shown.length, width * height), styles = new Map();
      for (const edge of state.shown) {
        const style = styleOf(edge, most, opacity), key = JSON.stringify(style);
        edge.style = styles.get(key) ?? styles.set(key, style).get(key); // one object for one style: the painter compares objects
      }
      state.lines = state.shown.toReversed(); // strongest last, on top
      state.neighbours = nodes.map(() => []);
      for (const { a, b } of state.shown) state.neighbours[a].push(b), state.neighbours[b].push(a);
      state.visible = importance.filter((k) => !state.hidesIsolated || state.neighbours[k].length);
      const absence = edges.length === 0 ? options.empty : options.none ?? "No edge is that strong: none is shown.";
      furniture.sayEmpty(state.shown.length === 0 ? absence : null);
      restyle();
    }

    function restyle() {
      if (options.legend) writeLegend(options.legend, state.visible.map((k) => nodes[k]), state.shown, coloring, theme.colors, data.fdr);
      ask();
    }

    // Nodes that no person placed follow the shape of the window.
    function arrange() {
      if (state.isArranged) return;
      if (edges.length === 0) setInRows(positions, camera.size());
      else shapeToFit(positions, camera.size(), state.shape);
      state.revision += 1;
    }

    // --- Painting: at most once a frame, and only where something changed ---
    let asked = null;
    function ask() {
      asked ??= requestAnimationFrame(() => {
        asked = null;
        paint();
      });
    }

    // Views that follow this one are told of its own moves, and not of those that it was told itself.
    function move() {
      state.isMoved = true;
      ask();
    }

    function makeScene() {
      const { width, height } = camera.size();
      const [picked, hovered] = [state.selection, state.hovered].map((selection) => reach(selection, edges, state.shown));
      const points = positions.map(camera.project), radius = camera.radius(state.visible.length);
      const centre = new Set([...(picked?.centre ?? []), ...(hovered?.centre ?? [])]);
      const wanted = new Set([...(picked?.nodes ?? []), ...centre]);
      const order = [...state.visible.filter((k) => wanted.has(k)), ...state.visible.filter((k) => !wanted.has(k))];
      const named = state.names ? order : order.filter((k) => wanted.has(k));
      const widthOf = (k) => widths[centre.has(k) ? 1 : 0][k]; // names of what is picked are bold
      const names = placeNames({
        order: named, visible: state.visible, points, radius, widthOf, size: { width, height }, wanted, taken: furniture.taken(),
        neighbours: state.neighbours,
      });
      return {
        width, height, points, radius, picked, hovered, texts, names, centre, zoomed: camera.thickness(), at: camera.seen(),
        edges: state.lines, nodes: state.visible.toReversed(),
        colors: theme.colors, colorOf: coloring.colorOf, shapeOf: coloring.shapeOf,
        view: { left: 0, top: 0, right: width, bottom: height }, dense: window.devicePixelRatio || 1,
        selection: state.selection, hovering: JSON.stringify(state.hovered), held: state.held,
        isMoving: state.isMoving, revision: state.revision,
      };
    }

    function paint() {
      const scene = makeScene();
      state.placed = scene.names;
      camera.prepare(context);
      paintScene(context, scene);
      state.frames += 1;
      if (state.isMoved) for (const call of listeners.move) call();
      state.isMoved = false;
    }

    // --- What people do ---
    const isSame = (one, other) => one?.node === other?.node && one?.edge === other?.edge;
    function select(selection, byPerson = false) {
      state.selection = selection;
      furniture.announce(selection === null ? "" : describe(selection).join(", "));
      ask();
      if (byPerson) for (const call of listeners.select) call(selection);
    }
    const describe = (hit) => (hit.edge === undefined ? describeNode(nodes[hit.node]) : describeEdge(edges[hit.edge], nodes, data));
    // Beside a selected node another one is told with what is known of the two.
    function describeBoth(hit) {
      const one = state.selection?.node, isPair = options.describePair && one !== undefined && hit.node !== undefined && hit.node !== one;
      return isPair ? [...describe(hit), options.describePair(one, hit.node)] : describe(hit);
    }
    let layout = null, sharpening = null;
    function zoom(factor, x, y) {
      if (state.shown.length > MANY) {
        state.isMoving = true;
        clearTimeout(sharpening);
        sharpening = setTimeout(() => {
          sharpening = null;
          state.isMoving = false;
          ask();
        }, SHARP_AFTER);
      }
      camera.zoom(factor, x, y);
    }

    listen(container, furniture.canvas, {
      hit: (x, y, isTouch) => findHit(x, y, isTouch, positions.map(camera.project), camera.radius(state.visible.length), state),
      hold(k) { // null: the plane
        if (k !== null) layout?.stop();
        Object.assign(state, { held: k, isMoving: true, revision: state.revision + 1 });
      },
      drag: (k, x, y) => {
        positions[k] = camera.unproject(x, y);
        state.isArranged = true;
        move();
      },
      release() {
        Object.assign(state, { held: null, isMoving: false });
        ask();
      },
      pan: camera.pan, zoom, fit: () => camera.fit(true),
      tap: (hit) => select(isSame(hit, state.selection) ? null : hit, true),
      hover: (hit, x, y) => {
        furniture.canvas.style.cursor = hit === null ? "grab" : "pointer";
        furniture.point(hit === null ? null : describeBoth(hit), x, y);
        if (!isSame(hit, state.hovered)) ask();
        state.hovered = hit;
      },
      escape: () => (state.selection === null ? container.blur() : select(null, true)),
      hint: furniture.hint,
    });
    furniture.onButtons({ zoom, fit: () => camera.fit(true) });
    camera.onResize((isTouched) => {
      if (!isTouched) arrange();
      refresh();
    });

    const view = {
      nodes, edges,
      showEdges(keep) {
        state.keep = keep;
        refresh();
        return state.shown.length;
      },
      hideIsolated(is) {
        state.hidesIsolated = is;
        refresh();
      },
      layOut() {
        layout?.stop();
        state.isArranged = true;
        layout = animateLayout(state, positions, camera, () => { state.revision += 1, move(); });
        return layout.done;
      },
      colorNodes(by) {
        coloring.set(by);
        restyle();
      },
      select: (selection) => select(selection),
      onSelect: (call) => { listeners.select.push(call); },
      showNames(is) {
        state.names = is;
        ask();
      },
      fit: () => camera.fit(true),
      follow: (other) => linkViews(view, other),
      linked: {
        ask, where: (k) => positions[k], seen: camera.seen, look: camera.look, onMove: (call) => { listeners.move.push(call); },
        place(k, position) {
          const isNew = positions[k][0] !== position[0] || positions[k][1] !== position[1];
          positions[k] = position;
          if (isNew) state.revision += 1;
          return isNew;
        },
      },
      snapshot() {
        const picture = document.createElement("canvas"), sharp = 2, { width, height } = camera.size();
        context.font = FONT;
        const legend = options.legend ? layLegend(context, options.legend, width) : { placed: [], height: 0 };
        [picture.width, picture.height] = [sharp * width, sharp * (height + legend.height)];
        const paper = picture.getContext("2d");
        paper.scale(sharp, sharp);
        paper.fillStyle = theme.colors.background;
        paper.fillRect(0, height, width, legend.height);
        paintScene(paper, { ...makeScene(), isMoving: false });
        Object.assign(paper, { font: FONT, fillStyle: theme.colors.text, globalAlpha: 1 });
        paintLegend(paper, legend, height);
        return new Promise((resolve) => picture.toBlob(resolve, "image/png"));
      },
      state: () => ({
        zoom: camera.zoomed(), theme: theme.name, frames: state.frames,
        isResting: asked === null && sharpening === null && !camera.isMoving() && !(layout?.isRunning ?? false),
        names: state.placed.map((box) => box.node), boxes: state.placed, visible: [...state.visible].sort((one, other) => one - other),
        shown: state.shown.map((edge) => edge.index), positions: positions.map(camera.project), radius: camera.radius(state.visible.length),
        styles: state.shown.map((edge) => edge.style), selection: state.selection, colors: theme.colors,
      }),
    };
    refresh();
    arrange();
    camera.fit(false);
    return view;
  };
})();
