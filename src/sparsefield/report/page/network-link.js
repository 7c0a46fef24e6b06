"use strict";
// Two views of the same variables that move as one: whoever is moved, the other goes with it.
(() => {
  // A view is linked by what it tells and takes: where its nodes are, from where it is seen, and when that changes.
  function linkViews(view, other) {
    const places = new Map(other.nodes.map((node, k) => [node.name, k]));
    const pairs = view.nodes.map((node, k) => [k, places.get(node.name)]).filter(([, k]) => k !== undefined);
    const share = (from, into, isBack) => () => {
      const moved = pairs.filter(([own, its]) => into.place(isBack ? its : own, from.where(isBack ? own : its)));
      if (into.look(from.seen()) || moved.length) into.ask();
    };
    other.linked.onMove(share(other.linked, view.linked, false));
    view.linked.onMove(share(view.linked, other.linked, true));
    share(other.linked, view.linked, false)();
  }

  Object.assign(NetworkView.parts, { linkViews });
})();
