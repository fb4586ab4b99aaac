"use strict";
// The search tree as an indented list: one row per node that is open, drawn by Plotly. Whatever
// is collapsed is one node, so that a tree of any size is as quick as what is shown of it.
// `data` is what schedsearch/api/tree_data.py writes: columns, with parents before children.

const INDENT = 22, ROW = 24, FIRST = 5, MORE = 50, LONGEST = 110;
const REJECTED = new Set(["illegal", "codegen error", "compile error", "timeout", "crash",
  "refused", "incorrect"]);

const escaped = (text) =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const times = (value) => value.toPrecision(3).replace(/\.?0+$/, "") + "x";
const shortened = (text) => text.length > LONGEST ? text.slice(0, LONGEST - 1) + "…" : text;

function duration(ns) {
  for (const [limit, unit] of [[1e3, "ns"], [1e6, "us"], [1e9, "ms"]]) {
    if (ns < limit) return (ns / (limit / 1e3)).toPrecision(3) + " " + unit;
  }
  return (ns / 1e9).toPrecision(3) + " s";
}

function element(name, text, parent, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;  // never as HTML: it comes from a store
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

function searchTree(host, data) {
  const count = data.parent.length;
  const said = (column, node) => data.strings[data[column][node]];
  const children = Array.from({length: count}, () => []);
  const size = new Array(count).fill(1);
  const bestBelow = data.speedup.slice();
  for (let node = count - 1; node > 0; node--) {
    const parent = data.parent[node];
    children[parent].push(node);
    size[parent] += size[node];
    if (bestBelow[node] !== null && !(bestBelow[parent] >= bestBelow[node])) {
      bestBelow[parent] = bestBelow[node];
    }
  }
  for (const each of children) {
    each.sort((a, b) => (bestBelow[b] || 0) - (bestBelow[a] || 0) || size[b] - size[a] || a - b);
  }
  const best = data.best, path = new Set();
  for (let node = best; node >= 0; node = data.parent[node]) path.add(node);
  const open = new Map();  // node -> how many of its children are shown
  let selected = best;

  const bar = element("div", "", host, "tree-bar");
  const box = element("div", "", host, "tree-box");
  const plot = element("div", "", element("div", "", box, "tree-scroll"));
  const details = element("div", "", box, "tree-details");

  function collapse() {
    open.clear();
    for (const node of path) if (node !== best || !path.size) open.set(node, FIRST);
    if (!open.size) open.set(0, FIRST);
  }

  function reveal(node) {
    for (let child = node; data.parent[child] >= 0; child = data.parent[child]) {
      const parent = data.parent[child];
      const needed = children[parent].indexOf(child) + 1;
      open.set(parent, Math.max(open.get(parent) || FIRST, needed));
    }
    select(node);
  }

  function rows() {
    const shown = [], stack = [[0, 0, 0]];  // node, depth, how many it stands for
    while (stack.length) {
      const [node, depth, hidden] = stack.pop();
      shown.push({node, depth, hidden});
      if (hidden || !open.has(node)) continue;
      const visible = children[node].slice(0, open.get(node));
      const left = children[node].length - visible.length;
      if (left) stack.push([node, depth + 1, left]);
      for (const child of visible.reverse()) stack.push([child, depth + 1, 0]);
    }
    return shown;
  }

  function label({node, hidden}) {
    if (hidden) return `<i>${hidden} more …</i>`;
    const name = node ? said("rewrite", node) : "as written";
    let text = escaped(shortened(name));
    if (data.speedup[node] !== null) text += `  <b>${times(data.speedup[node])}</b>`;
    else text += `  <span style="color:#767676">${escaped(said("outcome", node))}</span>`;
    const below = size[node] - 1;
    if (below && !open.has(node)) {
      const fastest = bestBelow[node] !== null ? `, best ${times(bestBelow[node])}` : "";
      text += `  <span style="color:#767676">(+ ${below} below${fastest})</span>`;
    }
    return path.has(node) ? `<b>${text}</b>` : text;
  }

  function symbol({node, hidden}) {
    if (hidden) return "triangle-down-open";
    if (data.speedup[node] !== null) return "circle";
    return REJECTED.has(said("outcome", node)) ? "x-thin-open" : "circle-open";
  }

  function draw() {
    const shown = rows();
    const last = [], x = [], y = [];
    shown.forEach(({depth}, row) => {
      if (depth) {
        x.push(depth - 1, depth - 1, depth, null);
        y.push(last[depth - 1], row, row, null);
      }
      last[depth] = row;
    });
    const known = data.speedup.filter((value) => value !== null).map(Math.log2);
    const low = known.reduce((a, b) => Math.min(a, b), 0);
    const high = known.reduce((a, b) => Math.max(a, b), 1);
    const lines = {x, y, mode: "lines", hoverinfo: "skip", line: {color: "#c8c8c8", width: 1}};
    const nodes = {
      x: shown.map(({depth}) => depth), y: shown.map((_, row) => row),
      text: shown.map(label), mode: "markers+text", textposition: "middle right",
      textfont: {size: 12}, hoverinfo: "none", cliponaxis: false,
      marker: {
        size: shown.map(({node, hidden}) => hidden ? 9 : 8 + 1.1 * Math.log2(size[node])),
        symbol: shown.map(symbol),
        color: shown.map(({node, hidden}) =>
          hidden || data.speedup[node] === null ? "#9a9a9a" : Math.log2(data.speedup[node])),
        line: {width: 1, color: "#606060"},
      },
    };
    // Plotly wants one kind of colour: greys are put below the scale.
    const grey = low - 1 - 0.02 * (high - low);
    nodes.marker.color = nodes.marker.color.map((c) => c === "#9a9a9a" ? grey : c);
    Object.assign(nodes.marker, {
      cmin: low, cmax: high, colorscale: "Viridis", reversescale: false,
    });
    const row = shown.findIndex(({node, hidden}) => node === selected && !hidden);
    const deepest = Math.max(...shown.map(({depth}) => depth));
    const wide = Math.max(plot.parentNode.clientWidth - 18, deepest * INDENT + 620);
    const layout = {
      width: wide, height: shown.length * ROW + 12, showlegend: false, hovermode: "y",
      hoverdistance: -1, dragmode: false, margin: {l: 0, r: 0, t: 6, b: 6},
      paper_bgcolor: "#fff", plot_bgcolor: "#fff", font: {color: "#1c1c1c"},
      xaxis: {range: [-0.8, wide / INDENT - 0.8], visible: false, fixedrange: true},
      yaxis: {range: [shown.length - 0.5, -0.5], visible: false, fixedrange: true},
      shapes: row < 0 ? [] : [{type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1,
        y0: row - 0.5, y1: row + 0.5, fillcolor: "#e4ecfa", line: {width: 0}}],
    };
    Plotly.react(plot, [lines, nodes], layout, {displayModeBar: false});
    plot.shown = shown;
  }

  function select(node) {
    selected = node;
    draw();
    describe(node);
  }

  function describe(node) {
    details.replaceChildren();
    const rejected = said("outcome", node);
    element("h3", `candidate ${data.id[node]}`, details);
    element("p", node ? said("rewrite", node) : "the procedure as written", details, "code");
    const facts = element("table", "", details);
    const fact = (name, value) => {
      const tr = element("tr", "", facts);
      element("th", name, tr);
      element("td", value, tr);
    };
    fact("outcome", rejected);
    if (said("message", node)) fact("because", said("message", node));
    if (data.speedup[node] !== null) {
      fact("speed", `${times(data.speedup[node])} [${times(data.low[node])}, ` +
        `${times(data.high[node])}] the speed as written (${said("kind", node)})`);
      fact("one call", duration(data.ns[node]));
    }
    if (data.predicted[node] !== null) {
      fact("predicted", `${times(Math.exp(data.predicted[node]))} by this step`);
    }
    if (data.original[node] >= 0) fact("same as", `candidate ${data.id[data.original[node]]}`);
    fact("below", size[node] > 1 ? `${size[node] - 1} schedules` : "nothing");
    reasons(node);
    const more = data.details[node];
    if (!more) {
      if (node) element("p", data.left_out, details, "note");
      return;
    }
    if (more.measurement) element("div", "", details).innerHTML = more.measurement;
    for (const [title, lines] of more.diffs) {
      const folded = element("details", "", details);
      folded.open = title === more.diffs[0][0];
      element("summary", title, folded);
      const text = element("pre", "", folded);
      for (const line of lines) {
        const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
        element("span", line + "\n", text, kind);
      }
    }
  }

  function reasons(node) {
    const found = new Map();
    for (const child of children[node]) {
      const outcome = said("outcome", child), message = said("message", child);
      const cause = data.speedup[child] !== null ? "measured" : outcome;
      const kept = found.get(cause) || {count: 0, messages: new Map()};
      kept.count += 1;
      if (message) kept.messages.set(message, [...(kept.messages.get(message) || []), child]);
      found.set(cause, kept);
    }
    if (!found.size) return;
    element("h4", `its ${children[node].length} children`, details);
    const list = element("ul", "", details);
    for (const [cause, {count, messages}] of [...found].sort((a, b) => b[1].count - a[1].count)) {
      const item = element("li", `${count} ${cause}`, list);
      const inner = messages.size ? element("ul", "", item) : null;
      for (const [message, nodes] of [...messages].slice(0, 12)) {
        const examples = nodes.slice(0, 3).map((child) => said("rewrite", child)).join("; ");
        element("li", `${nodes.length} ${message} (${shortened(examples)})`, inner);
      }
      if (messages.size > 12) element("li", `${messages.size - 12} other reasons`, inner);
    }
  }

  const button = (title, act) => element("button", title, bar).addEventListener("click", act);
  button("path to the best", () => { collapse(); select(best); });
  const wanted = element("input", "", bar);
  wanted.placeholder = "candidate …";
  wanted.setAttribute("aria-label", "candidate to show");
  wanted.addEventListener("change", () => {
    const node = data.id.indexOf(Number(wanted.value));
    if (node >= 0) reveal(node);
  });
  const legend = "colour: speed, logarithmic; size: schedules below; hollow: not measured; " +
    "crossed: rejected. Click a row to open or close it.";
  element("span", legend, bar, "note");

  collapse();
  draw();
  describe(selected);
  plot.on("plotly_click", ({points}) => {
    const point = points.find(({curveNumber}) => curveNumber === 1);
    if (!point) return;
    const {node, hidden} = plot.shown[point.pointIndex];
    if (hidden) {
      open.set(node, open.get(node) + MORE);
      draw();
    } else {
      if (open.has(node)) open.delete(node);
      else if (children[node].length) open.set(node, FIRST);
      select(node);
    }
  });
  window.addEventListener("resize", draw);
}
