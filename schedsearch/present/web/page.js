"use strict";
// Draws what the page's JSON blocks hold: every figure, and the tree if there is one.

for (const host of document.querySelectorAll("[data-figure]")) {
  const {data, layout} = JSON.parse(document.getElementById(host.dataset.figure).textContent);
  Plotly.newPlot(host, data, layout, {displayModeBar: false, responsive: true});
}
for (const host of document.querySelectorAll("[data-tree]")) {
  searchTree(host, JSON.parse(document.getElementById(host.dataset.tree).textContent));
}
