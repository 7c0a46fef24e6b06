"use strict";
// Which names are written, and where: the important ones first, and none over another.
(() => {
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';
  const HEIGHT = 15, PAD = 2; // of a line of 12 px, and the halo around it
  const LONGEST = 22; // characters; whole names are in the tooltip
  const FEW = 6; // neighbours, around which a free side can be hoped for
  const CELL = 48; // of the grid in which names are looked up: about as wide as a short name

  // Line breaks and marks that turn the direction of text would move what stands beside them.
  const BREAKS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, TURNS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  const clean = (name) => name.replace(BREAKS, " ").replace(TURNS, "");

  function cut(name) {
    const letters = [...clean(name)];
    return letters.length <= LONGEST ? letters.join("") : letters.slice(0, LONGEST - 1).join("").trimEnd() + "…";
  }

  const overlap = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

  // Boxes in a grid of cells, so that a new one is compared with its neighbours only.
  function makeGrid() {
    const cells = new Map();
    const around = (box, visit) => {
      for (let i = Math.floor(box.left / CELL); i <= Math.floor(box.right / CELL); i++) {
        for (let j = Math.floor(box.top / CELL); j <= Math.floor(box.bottom / CELL); j++) {
          if (visit(`${i},${j}`) === false) return false;
        }
      }
      return true;
    };
    return {
      add: (box) => around(box, (key) => { (cells.get(key) ?? cells.set(key, []).get(key)).push(box); }),
      isFree: (box) => around(box, (key) => !(cells.get(key) ?? []).some((other) => overlap(box, other))),
      count: (box) => {
        const found = new Set();
        around(box, (key) => {
          for (const other of cells.get(key) ?? []) if (overlap(box, other)) found.add(other);
        });
        return found.size;
      },
    };
  }

  // Right, left, above, below, and the corners, at a distance from the dot.
  function sidesOf(x, y, width, gap) {
    const wide = width + 2 * PAD, high = HEIGHT, near = 0.7 * gap;
    const at = (left, top) => ({ left, top, right: left + wide, bottom: top + high });
    return [
      at(x + gap, y - high / 2), at(x - gap - wide, y - high / 2), at(x - wide / 2, y - gap - high), at(x - wide / 2, y + gap),
      at(x + near, y - near - high), at(x + near, y + near), at(x - near - wide, y - near - high), at(x - near - wide, y + near),
    ];
  }

  // How many lines to neighbours, which start in the middle of a dot, run through a box beside it.
  function countLines(box, [x, y], ends) {
    const [left, right, top, bottom] = [box.left - x, box.right - x, box.top - y, box.bottom - y];
    return ends.filter(([u, v]) => {
      const [dx, dy] = [u - x, v - y];
      const across = [left, right].map((edge) => edge / (dx || 1e-9)), along = [top, bottom].map((edge) => edge / (dy || 1e-9));
      return Math.max(Math.min(...across), Math.min(...along), 0) < Math.min(Math.max(...across), Math.max(...along), 1);
    }).length;
  }

  // Give the names that have room. `order` has nodes, the most important first; only names of `wanted` ones may cover dots. Names
  // stay off what is `taken` by buttons.
  function placeNames({ order, visible, points, radius, widthOf, size, wanted, taken, neighbours }) {
    const dots = makeGrid(), names = makeGrid(), placed = [];
    for (const box of taken) names.add(box);
    for (const k of visible) {
      const [x, y] = points[k];
      dots.add({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    }
    for (const k of order) {
      const [x, y] = points[k];
      if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
      let best = null;
      for (const box of sidesOf(x, y, widthOf(k), radius + 3)) {
        if (box.left < 0 || box.top < 0 || box.right > size.width || box.bottom > size.height || !names.isFree(box)) continue;
        const covered = dots.count(box);
        // Lines run everywhere around a node with many neighbours: there the first free side is as good as another.
        const crossed = neighbours[k].length <= FEW ? countLines(box, points[k], neighbours[k].map((other) => points[other])) : 0;
        const isBetter = best === null || covered < best.covered || (covered === best.covered && crossed < best.crossed);
        if (isBetter) best = { node: k, covered, crossed, ...box };
        if (covered === 0 && crossed === 0) break;
      }
      if (best === null || (best.covered > 0 && !wanted.has(k))) continue;
      names.add(best);
      placed.push(best);
    }
    return placed;
  }

  Object.assign(NetworkView.parts, { clean, cut, placeNames, FONT, HEIGHT, PAD });
})();
