"use strict";
// What the parts of the page have in common: its data, and texts that are only ever set as text.
const Page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const signed = ({ weight, hasSign }) => (hasSign && weight > 0 ? "+" : "") + weight.toPrecision(3);
  const signOf = ({ weight, hasSign }) => (!hasSign ? "unsigned" : weight > 0 ? "positive" : "negative");
  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // Rounded down, so that 100% is all of them; 0.29 * 100 is 28.999999999999996.
  function percent(share) {
    const whole = Math.floor(100 * share + 1e-9);
    return whole === 0 && share > 0 ? "<1%" : `${whole}%`;
  }

  function tell(text, tag, className = "") {
    const element = document.createElement(tag);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  return { data, byId, signed, signOf, count, percent, tell, download };
})();
