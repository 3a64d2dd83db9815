"use strict";
// The theme and the copy button; the page works without them.
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));

  const copy = document.getElementById("copy");
  copy.addEventListener("click", () => {
    // Browsers give the clipboard to secure pages only, which a file on disk may not be: select the text too.
    const range = document.createRange();
    range.selectNodeContents(document.getElementById("configuration"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
})();
