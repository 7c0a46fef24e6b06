"use strict";
// What people do with pointers, wheel and keys, told to a view as a few moves.
//
// A page must stay scrollable, as around good maps: the wheel zooms with Ctrl, or once the network was clicked (until something else
// is); one finger scrolls the page until the network was tapped, then it moves nodes and the plane. Two fingers always zoom, a mouse
// always drags.
(() => {
  const STILL = 4, STILL_FINGER = 10; // pixels that a click or a tap may move
  const STEP = 60, FACTOR = 1.3; // of an arrow key, and of + and -

  // `moves`: hit(x, y, isTouch), hold(k or null), drag(k, x, y), release(), pan(dx, dy), zoom(factor, x, y), tap(hit), fit(),
  // hover(hit, x, y), escape(), hint(how)
  function listen(container, canvas, moves) {
    const pointers = new Map();
    let held = null; // what the pointers that are down do: {hit, start, moved}
    const isActive = () => container.contains(document.activeElement);
    const locate = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const follow = () => { canvas.style.touchAction = isActive() ? "none" : "pan-x pan-y"; };
    container.addEventListener("focusin", follow);
    container.addEventListener("focusout", () => setTimeout(follow));
    document.addEventListener("pointerdown", (event) => {
      if (!container.contains(event.target) && isActive()) document.activeElement.blur();
    });
    follow();

    const middle = () => {
      const [[x, y], [u, v]] = [...pointers.values()];
      return { x: (x + u) / 2, y: (y + v) / 2, apart: Math.max(1, Math.hypot(x - u, y - v)) };
    };

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const isTouch = event.pointerType === "touch";
      const [x, y] = locate(event);
      pointers.set(event.pointerId, [x, y]);
      moves.hover(null, x, y);
      if (pointers.size === 1) {
        const hit = moves.hit(x, y, isTouch);
        held = { hit, start: [x, y], isTouch, moved: false, mayMove: !isTouch || isActive() };
        if (held.mayMove) canvas.setPointerCapture(event.pointerId);
      } else if (held) {
        moves.release();
        held = { hit: null, moved: true, mayMove: false };
      }
      if (!isTouch) container.focus({ preventScroll: true });
    });

    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = locate(event);
      if (!pointers.has(event.pointerId)) {
        if (event.pointerType !== "touch") moves.hover(moves.hit(x, y, false), x, y);
        return;
      }
      if (pointers.size === 2) {
        const before = middle();
        pointers.set(event.pointerId, [x, y]);
        const after = middle();
        moves.pan(after.x - before.x, after.y - before.y);
        return moves.zoom(after.apart / before.apart, after.x, after.y);
      }
      const [u, v] = pointers.get(event.pointerId);
      if (!held || (!held.moved && Math.hypot(x - held.start[0], y - held.start[1]) < (held.isTouch ? STILL_FINGER : STILL))) return;
      pointers.set(event.pointerId, [x, y]);
      if (!held.mayMove) return;
      if (!held.moved) moves.hold(held.hit?.node ?? null);
      held.moved = true;
      if (held.hit?.node !== undefined) moves.drag(held.hit.node, x, y);
      else moves.pan(x - u, y - v);
    });

    const release = (event, isCancelled) => {
      if (!pointers.delete(event.pointerId) || !held) return;
      moves.release();
      if (!held.moved && !isCancelled) {
        container.focus({ preventScroll: true });
        moves.tap(held.hit);
      }
      // A finger that is left of two goes on moving the plane.
      held = pointers.size ? { hit: null, start: [...pointers.values()][0], moved: true, mayMove: true } : null;
    };
    canvas.addEventListener("pointerup", (event) => release(event, false));
    canvas.addEventListener("pointercancel", (event) => {
      if (event.pointerType === "touch" && held && !held.mayMove && pointers.size === 1) moves.hint("touch");
      release(event, true);
    });
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") moves.hover(null, 0, 0); });
    // Two fingers are for the network, whatever the page would do with them.
    canvas.addEventListener("touchmove", (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });

    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !isActive()) return moves.hint("wheel");
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1; // lines and pages, in pixels
      const turned = Math.max(-100, Math.min(100, event.deltaY * unit)) * (event.ctrlKey ? 3 : 1); // pinches on a touchpad are small
      moves.zoom(Math.exp(-turned / 400), ...locate(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => {
      event.preventDefault();
      moves.fit();
    });

    const keys = {
      ArrowLeft: () => moves.pan(STEP, 0), ArrowRight: () => moves.pan(-STEP, 0),
      ArrowUp: () => moves.pan(0, STEP), ArrowDown: () => moves.pan(0, -STEP),
      "+": () => moves.zoom(FACTOR), "=": () => moves.zoom(FACTOR), "-": () => moves.zoom(1 / FACTOR),
      0: () => moves.fit(), Home: () => moves.fit(),
      Escape: () => moves.escape(),
    };
    container.addEventListener("keydown", (event) => {
      if (event.target !== container || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  Object.assign(NetworkView.parts, { listen, FACTOR });
})();
