"use strict";
// The theme of the page: that of the system, until a person chooses light or dark.
(() => {
  const button = Page.byId("theme"), root = document.documentElement;
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  button.addEventListener("click", () => {
    const theme = NEXT[root.dataset.theme ?? "auto"];
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  });
})();
