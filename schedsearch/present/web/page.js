"use strict";
// Draws what the page's JSON blocks hold: every figure, and the tree if there is one.

const stored = (name) => JSON.parse(document.getElementById(name).textContent);

// Figures are made for white paper: what is not data takes the page's colours instead.
function coloured(layout) {
  const [paper, ink, line] = ["paper", "ink", "line"].map(tone);
  const axis = {gridcolor: line, zerolinecolor: line, linecolor: line};
  const base = layout.template.layout;
  for (const name of ["xaxis", "yaxis"]) base[name] = {...base[name], ...axis};
  return {...layout, paper_bgcolor: paper, plot_bgcolor: paper, font: {color: ink}};
}

function drawFigures() {
  for (const host of document.querySelectorAll("[data-figure]")) {
    const {data, layout} = stored(host.dataset.figure);
    Plotly.react(host, data, coloured(layout), {displayModeBar: false, responsive: true});
  }
}

drawFigures();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFigures);
for (const host of document.querySelectorAll("[data-tree]")) {
  searchTree(host, stored(host.dataset.tree));
}
