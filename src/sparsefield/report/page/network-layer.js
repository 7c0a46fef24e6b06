"use strict";
// Lines that do not change while something is dragged or zoomed are painted once, on a canvas of their own, and copied in each frame:
// of 5,000 lines a copy takes a tenth of the time. Around the window it has a margin, so that the plane can be dragged some way, and it
// is stretched a little while one zooms. A sharp picture follows once the gesture ends.
(() => {
  const MARGIN = 0.25; // of the width and height, on each side
  const STRETCH = 1.5; // beyond, lines look blurred
  const SAME = ["edges", "revision", "held", "width", "height", "dense", "colors", "selection", "hovering"];

  // `paint(context, scene, edges)` paints lines; the layer is good as long as only the plane, or the node that is held, moves.
  function makeLayer(paint) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    let made = null;

    // Where the layer lies in the window now.
    function locate(scene) {
      const factor = scene.at.k / made.at.k, wide = factor * (1 + 2 * MARGIN);
      return {
        factor, width: wide * scene.width, height: wide * scene.height,
        x: scene.at.x - factor * (made.at.x + MARGIN * scene.width), y: scene.at.y - factor * (made.at.y + MARGIN * scene.height),
      };
    }

    function isGood(scene) {
      if (made === null || SAME.some((key) => made[key] !== scene[key])) return false;
      const { factor, x, y, width, height } = locate(scene);
      return factor <= STRETCH && factor >= 1 / STRETCH && x <= 0 && y <= 0 && x + width >= scene.width && y + height >= scene.height;
    }

    function make(scene, edges) {
      const [aside, above] = [MARGIN * scene.width, MARGIN * scene.height];
      [canvas.width, canvas.height] = [scene.width + 2 * aside, scene.height + 2 * above].map((length) => Math.round(length * scene.dense));
      context.setTransform(scene.dense, 0, 0, scene.dense, scene.dense * aside, scene.dense * above);
      paint(context, { ...scene, view: { left: -aside, top: -above, right: scene.width + aside, bottom: scene.height + above } }, edges);
      made = { ...scene };
    }

    return {
      // Paint lines by way of the layer; edges of a node that is held are left to the painter.
      paint(into, scene, edges) {
        if (!isGood(scene)) make(scene, edges);
        const { x, y, width, height } = locate(scene);
        into.drawImage(canvas, x, y, width, height);
      },
    };
  }

  Object.assign(NetworkView.parts, { makeLayer });
})();
