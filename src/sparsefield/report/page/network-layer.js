"use strict";
// Lines that do not change while something is dragged are painted once, on a canvas of their own, and copied in each frame: of 5,000
// lines a copy takes a tenth of the time. Around the window it has a margin, so that the plane can be dragged some way.
(() => {
  const MARGIN = 0.25; // of the width and height, on each side

  // `paint(context, scene, edges)` paints lines; the layer is good as long as only the plane, or the node that is held, moves.
  function makeLayer(paint) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    let made = null;

    const isGood = (scene) => made !== null && ["edges", "revision", "held", "width", "height", "dense", "colors", "selection", "zoom"].every((key) => made[key] === scene[key]) &&
      Math.abs(scene.at.x - made.at.x) <= MARGIN * scene.width && Math.abs(scene.at.y - made.at.y) <= MARGIN * scene.height;

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
        const [x, y] = [scene.at.x - made.at.x - MARGIN * scene.width, scene.at.y - made.at.y - MARGIN * scene.height];
        into.drawImage(canvas, x, y, canvas.width / scene.dense, canvas.height / scene.dense);
      },
      drop() { made = null; },
    };
  }

  Object.assign(NetworkView.parts, { makeLayer });
})();
