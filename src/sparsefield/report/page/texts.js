"use strict";
// What the parts of the page have in common: its data, and texts that are taken literally.
const Page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // Plotly reads a few HTML tags in texts: names are taken literally.
  const literal = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const signed = ({ weight, hasSign }) => (hasSign && weight > 0 ? "+" : "") + weight.toPrecision(3);

  // Rounded down, so that 100% is all of them; 0.29 * 100 is 28.999999999999996.
  function percent(share) {
    const whole = Math.floor(100 * share + 1e-9);
    return whole === 0 && share > 0 ? "<1%" : `${whole}%`;
  }

  function tell(text, tag) {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }

  return { data, literal, signed, percent, tell };
})();
