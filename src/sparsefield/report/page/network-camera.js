"use strict";
// Where the picture is seen from, which nodes and edges are under a point, and how a layout is followed.
(() => {
  const { makeLayout, spread } = NetworkView.parts;
  const FARTHEST = 0.4, NEAREST = 24; // of the zoom at which everything fits
  const LONG = 260; // pixels
  const SETTLED = 0.3; // pixels from the place where a node belongs
  const STRETCHED = 4 / 3; // at most: what is round is still seen as a cluster
  const MUCH = 1.3; // times as large: by less, a turn is not worth that page and picture differ
  const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function makeCamera(furniture, ask, findShown, findLines) {
    const { canvas } = furniture;
    let at = { k: 1, x: 0, y: 0 }, whole = 1, longest = 0, moving = null, isTouched = false, size = { width: 0, height: 0 };
    const measure = () => {
      size = { width: Math.max(1, canvas.clientWidth), height: Math.max(1, canvas.clientHeight) };
      const dense = window.devicePixelRatio || 1;
      const [wide, high] = [Math.round(size.width * dense), Math.round(size.height * dense)];
      if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    };
    const project = ([x, y]) => [at.k * x + at.x, at.k * y + at.y];
    // Dots and lines grow with the zoom, more slowly than the distances between them.
    const thickness = () => Math.min(2, Math.max(0.7, Math.sqrt(at.k / whole)));

    // Few nodes are not blown up: half of the lines are no longer than a quarter of a desk.
    function findLargest() {
      const lengths = findLines().map(([[x, y], [u, v]]) => Math.hypot(x - u, y - v)).sort((one, other) => one - other);
      return LONG / Math.max(1e-6, lengths[Math.floor(lengths.length / 2)] ?? LONG / 2);
    }

    // The largest zoom at which all that is shown is inside, with room for names and buttons (52 pixels) at the sides.
    function findFit() {
      const shown = findShown();
      if (!shown.length) return { k: 1, x: size.width / 2, y: size.height / 2 };
      const [xs, ys] = [0, 1].map((axis) => shown.map((point) => point[axis]));
      const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const aside = Math.max(52, Math.min(longest + 24, 0.12 * size.width)), below = Math.min(36, 0.1 * size.height);
      const above = findLines().length ? below : furniture.said() + below;
      const across = (size.width - 2 * aside) / Math.max(1e-6, right - left);
      const along = (size.height - above - below) / Math.max(1e-6, bottom - top);
      const k = Math.min(across, along, findLargest());
      return { k, x: size.width / 2 - (k * (left + right)) / 2, y: (size.height + above - below) / 2 - (k * (top + bottom)) / 2 };
    }

    function go(to, isSoft) {
      cancelAnimationFrame(moving);
      moving = null;
      if (!isSoft || isStill()) {
        at = to;
        return ask();
      }
      const from = at, start = performance.now();
      const step = (now) => {
        const part = Math.min(1, (now - start) / 250), eased = part * (2 - part);
        at = Object.fromEntries(["k", "x", "y"].map((key) => [key, from[key] + eased * (to[key] - from[key])]));
        ask();
        moving = part < 1 ? requestAnimationFrame(step) : null;
      };
      moving = requestAnimationFrame(step);
    }

    measure();
    return {
      project,
      unproject: (x, y) => [(x - at.x) / at.k, (y - at.y) / at.k],
      size: () => size,
      leave(width) { longest = width; },
      zoomed: () => at.k / whole,
      seen: () => at,
      look(other) {
        const isNew = ["k", "x", "y"].some((key) => other[key] !== at[key]);
        if (isNew) at = { ...other };
        return isNew;
      },
      isMoving: () => moving !== null,
      thickness,
      radius: (n) => thickness() * Math.min(8, Math.max(3, 0.08 * Math.sqrt((size.width * size.height) / Math.max(1, n)))),
      prepare(context) {
        measure(); // a window may come to a screen of another density
        const dense = window.devicePixelRatio || 1;
        context.setTransform(dense, 0, 0, dense, 0, 0);
      },
      pan(dx, dy) {
        isTouched = true;
        go({ ...at, x: at.x + dx, y: at.y + dy }, false);
      },
      zoom(factor, x = size.width / 2, y = size.height / 2) {
        isTouched = true;
        const k = Math.min(NEAREST * whole, Math.max(FARTHEST * whole, at.k * factor)), real = k / at.k;
        go({ k, x: x + (at.x - x) * real, y: y + (at.y - y) * real }, false);
      },
      fit(isSoft) {
        isTouched = false;
        const to = findFit();
        whole = to.k;
        go(to, isSoft);
      },
      // A view that nobody moved stays fitted; another keeps its middle.
      onResize(changed) {
        new ResizeObserver(() => {
          const before = size;
          measure();
          changed(isTouched);
          if (!isTouched) this.fit(false);
          else go({ ...at, x: at.x + (size.width - before.width) / 2, y: at.y + (size.height - before.height) / 2 }, false);
        }).observe(canvas);
      },
    };
  }

  // The node or edge at a point; a finger is broader than a pointer.
  function findHit(x, y, isTouch, points, radius, state) {
    let best = null, least = radius + (isTouch ? 14 : 4);
    for (const k of state.visible) {
      const far = Math.hypot(points[k][0] - x, points[k][1] - y);
      if (far <= least) [best, least] = [{ node: k }, far];
    }
    if (best) return best;
    least = isTouch ? 11 : 5;
    for (const edge of state.shown) {
      const [a, b] = [points[edge.a], points[edge.b]], [dx, dy] = [b[0] - a[0], b[1] - a[1]];
      const part = Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
      const far = Math.hypot(a[0] + part * dx - x, a[1] + part * dy - y) - edge.style.width / 2;
      if (far < least) [best, least] = [{ edge: edge.index }, far];
    }
    return best;
  }

  // Let nodes glide to where the layout wants them while it comes to rest; whoever grabs a node stops it.
  function animateLayout(state, positions, camera, ask) {
    const { width, height } = camera.size();
    const layout = makeLayout(positions.length, state.visible, state.shown, positions, width / height);
    const run = { isRunning: true };
    run.done = new Promise((resolve) => {
      run.stop = () => {
        run.isRunning = false;
        resolve();
      };
      const frame = () => {
        if (!run.isRunning) return;
        const until = performance.now() + (isStill() ? 50 : 8); // milliseconds: half a frame is left to the painter
        let goesOn = true;
        do goesOn = layout.tick(); while (goesOn && performance.now() < until);
        let farthest = 0;
        const targets = layout.targets(), part = isStill() ? (goesOn ? 0 : 1) : 0.2;
        for (const [k, x, y] of targets) {
          const [u, v] = positions[k];
          positions[k] = [u + part * (x - u), v + part * (y - v)];
          farthest = Math.max(farthest, Math.hypot(x - u, y - v));
        }
        if (part > 0) camera.fit(false);
        ask();
        if (!goesOn && farthest * camera.seen().k * (1 - part) < SETTLED) return run.stop();
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    return run;
  }

  // A quarter turn, or one back, where the picture then fits a window much better: a phone is high, a desk is wide. Names stay
  // upright. Says whether the picture is turned now.
  function turnToFit(positions, { width, height }, isTurned) {
    const [wide, high] = [0, 1].map((axis) => spread(positions.map((point) => point[axis])));
    const fits = (across, along) => Math.min(width / Math.max(1e-6, across), height / Math.max(1e-6, along));
    if (positions.length < 2 || fits(high, wide) <= MUCH * fits(wide, high)) return isTurned;
    const sign = isTurned ? -1 : 1;
    for (const point of positions) [point[0], point[1]] = [sign * point[1], -sign * point[0]];
    return !isTurned;
  }

  // The height grows or shrinks by up to a third where the picture then fills its window, of which a fifth of the width and
  // 36 pixels above and below are for names. Says by how much.
  function stretchToFit(positions, { width, height }) {
    const [wide, high] = [0, 1].map((axis) => spread(positions.map((point) => point[axis])));
    const wanted = (wide / Math.max(1e-6, high)) * ((height - 72) / (0.8 * width));
    const stretch = Math.min(STRETCHED, Math.max(1 / STRETCHED, wanted));
    for (const point of positions) point[1] *= stretch;
    return stretch;
  }

  // Turn and stretch what a layout placed; `shape` is what was done before, which is undone first.
  function shapeToFit(positions, size, shape) {
    for (const point of positions) point[1] /= shape.stretch;
    shape.isTurned = turnToFit(positions, size, shape.isTurned);
    shape.stretch = stretchToFit(positions, size);
  }

  // Where nothing is joined there is nothing to see settle.
  function setInRows(positions, { width, height }) {
    const all = positions.map((_, k) => k);
    for (const [k, x, y] of makeLayout(all.length, all, [], positions, width / height).targets()) positions[k] = [x, y];
  }

  Object.assign(NetworkView.parts, { setInRows, shapeToFit, makeCamera, findHit, animateLayout });
})();
