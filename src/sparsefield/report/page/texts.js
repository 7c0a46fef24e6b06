"use strict";
// What the parts of the page have in common: its data, and texts that are only ever set as text.
const Page = (() => {
  const { tell, count, percent, sayOdds, sayWeight, sayEstimate, sayQ, decimals } = NetworkView.parts;
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const signed = (edge) => (edge.hasSign && edge.weight > 0 ? "+" : "") + sayWeight(edge);
  const signOf = ({ weight, hasSign }) => (!hasSign ? "unsigned" : weight > 0 ? "positive" : "negative");

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  return { data, byId, signed, signOf, count, percent, sayOdds, sayEstimate, sayQ, decimals, tell, download };
})();
