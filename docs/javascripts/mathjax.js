window.MathJax = {
  tex: { inlineMath: [["\\(", "\\)"]], displayMath: [["\\[", "\\]"]], tags: "none" },
  options: { ignoreHtmlClass: ".*|", processHtmlClass: "arithmatex" },
};
