"use strict";
// What stands around and over the canvas: buttons, the tooltip, hints, what is said of an empty network and to screen readers.
(() => {
  const { tell, FACTOR } = NetworkView.parts;
  const HINTS = {
    wheel: "Click the network to zoom with the wheel, or hold Ctrl.",
    touch: "Tap the network to move it with one finger, or use two.",
  };
  const SHOWN_FOR = 1600; // milliseconds of a hint: ten words are read in that time

  function makeFurniture(container, nodes, edges, options) {
    container.classList.add("network-view");
    container.tabIndex = 0;
    container.setAttribute("role", "application");
    container.setAttribute("aria-label", options.label ?? `A network of ${nodes.length} variables and ${edges.length} edges. ` +
      "Arrow keys move it, plus and minus zoom, zero shows all of it, Escape ends a selection.");
    const canvas = document.createElement("canvas");
    const [tooltip, hint, empty, spoken, buttons] = ["tooltip", "hint", "empty", "spoken", "buttons"].map((name) =>
      tell("", "div", `network-${name}`));
    for (const element of [tooltip, hint, empty]) element.hidden = true;
    tooltip.setAttribute("aria-hidden", "true");
    spoken.setAttribute("role", "status");
    container.replaceChildren(canvas, empty, buttons, hint, tooltip, spoken);
    let hiding = null;

    return {
      canvas,
      onButtons({ zoom, fit }) {
        if (options.controls === false) return;
        const [closer, farther] = [() => zoom(FACTOR), () => zoom(1 / FACTOR)];
        for (const [sign, label, act] of [["+", "Zoom in", closer], ["−", "Zoom out", farther], ["⤢", "Show all of it", fit]]) {
          const button = tell(sign, "button");
          button.type = "button";
          button.title = label;
          button.setAttribute("aria-label", label);
          button.addEventListener("click", act);
          buttons.append(button);
        }
      },
      // Beside the pointer, and inside the container.
      point(lines, x, y) {
        tooltip.hidden = lines === null;
        if (lines === null) return;
        tooltip.replaceChildren(...lines.map((line, k) => tell(line, k ? "span" : "strong")));
        const right = container.clientWidth - tooltip.offsetWidth - 4, below = y + 18;
        const top = below + tooltip.offsetHeight < container.clientHeight ? below : Math.max(4, y - tooltip.offsetHeight - 10);
        Object.assign(tooltip.style, { left: `${Math.max(4, Math.min(right, x + 14))}px`, top: `${top}px` });
      },
      hint(how) {
        hint.textContent = HINTS[how];
        hint.hidden = false;
        clearTimeout(hiding);
        hiding = setTimeout(() => { hint.hidden = true; }, SHOWN_FOR);
      },
      // What names stay off, and how high the sentence about an empty network is.
      taken() {
        const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = buttons;
        return [{ left: left - 4, top, right: left + width, bottom: top + height }];
      },
      said: () => (empty.hidden ? 0 : empty.offsetTop + empty.offsetHeight),
      sayEmpty(text) {
        empty.hidden = !text;
        empty.textContent = text ?? "";
      },
      announce(text) { spoken.textContent = text; },
    };
  }

  Object.assign(NetworkView.parts, { makeFurniture });
})();
