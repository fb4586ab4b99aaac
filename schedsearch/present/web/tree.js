"use strict";
// The search tree as an indented list: one row per node that is open, drawn by Plotly. Whatever
// is collapsed is one node, so that a tree of any size is as quick as what is shown of it.
// `data` is what schedsearch/api/tree_data.py writes: columns, with parents before children.

const INDENT = 22, ROW = 24, EDGE = 6, FIRST = 5, MORE = 50, LONGEST = 110;
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
  const asked = new Set();  // shown wherever they are among their siblings
  let selected = Math.max(best, 0), visible = [];
  const logs = data.speedup.filter((value) => value !== null).map(Math.log2);
  const slowest = logs.reduce((a, b) => Math.min(a, b), 0);
  const fastest = logs.reduce((a, b) => Math.max(a, b), 1);

  const bar = element("div", "", host, "tree-bar");
  const box = element("div", "", host, "tree-box");
  const list = element("div", "", box, "tree-scroll");
  list.tabIndex = 0;
  const plot = element("div", "", list);
  const details = element("div", "", box, "tree-details");

  function collapse() {
    open.clear();
    asked.clear();
    open.set(0, FIRST);
    for (const node of path) if (node !== best) open.set(node, FIRST);
  }

  function reveal(node) {
    for (let each = node; each > 0; each = data.parent[each]) {
      asked.add(each);
      if (!open.has(data.parent[each])) open.set(data.parent[each], FIRST);
    }
    select(node);
  }

  function rows() {
    const shown = [], stack = [[0, 0, 0]];  // node, depth, how many it stands for
    while (stack.length) {
      const [node, depth, hidden] = stack.pop();
      shown.push({node, depth, hidden});
      if (hidden || !open.has(node)) continue;
      const own = children[node].filter((child, n) => n < open.get(node) || asked.has(child));
      const left = children[node].length - own.length;
      if (left) stack.push([node, depth + 1, left]);
      for (const child of own.reverse()) stack.push([child, depth + 1, 0]);
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
    const lines = {x, y, mode: "lines", line: {color: "#c8c8c8", width: 1}};
    const drawn = [true, false].map((measured) => {
      const rows = [...shown.keys()].filter((row) => measured ===
        (!shown[row].hidden && data.speedup[shown[row].node] !== null));
      const own = rows.map((row) => shown[row]);
      return {
        x: own.map(({depth}) => depth), y: rows, text: own.map(label),
        mode: "markers+text", textposition: "middle right", textfont: {size: 12},
        marker: {
          size: own.map(({node, hidden}) => hidden ? 9 : 8 + 1.1 * Math.log2(size[node])),
          symbol: own.map(symbol),
          color: measured ? own.map(({node}) => Math.log2(data.speedup[node])) : "#8a8a8a",
          cmin: slowest, cmax: fastest, colorscale: "Viridis", line: {width: 1, color: "#606060"},
        },
      };
    });
    const row = shown.findIndex(({node, hidden}) => node === selected && !hidden);
    const deepest = Math.max(...shown.map(({depth}) => depth));
    const wide = Math.max(list.clientWidth - 18, deepest * INDENT + 620);
    const layout = {
      width: wide, height: shown.length * ROW + 2 * EDGE, showlegend: false,
      margin: {l: 0, r: 0, t: EDGE, b: EDGE},
      paper_bgcolor: "#fff", plot_bgcolor: "#fff", font: {color: "#1c1c1c"},
      xaxis: {range: [-0.8, wide / INDENT - 0.8], visible: false},
      yaxis: {range: [shown.length - 0.5, -0.5], visible: false},
      shapes: row < 0 ? [] : [{type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1,
        y0: row - 0.5, y1: row + 0.5, fillcolor: "#e4ecfa", line: {width: 0}}],
    };
    Plotly.react(plot, [lines, ...drawn], layout, {staticPlot: true});
    visible = shown;
  }

  function select(node) {
    selected = node;
    draw();
    const top = visible.findIndex((row) => row.node === node && !row.hidden) * ROW;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 2 * ROW) {
      list.scrollTop = top - list.clientHeight / 2;
    }
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
      const share = 100 * data.roof_ns / data.ns[node];
      const roof = data.roof_ns ? `, ${share.toPrecision(2)} % of its roof` : "";
      fact("one call", duration(data.ns[node]) + roof);
    }
    if (data.predicted[node] !== null) {
      fact("predicted", `${times(Math.exp(data.predicted[node]))} by this step`);
    }
    if (data.original[node] >= 0) fact("same as", `candidate ${data.id[data.original[node]]}`);
    fact("below", size[node] > 1 ? `${size[node] - 1} schedules` : "nothing");
    const more = data.details[node];
    if (more) changes(more);
    else if (node) element("p", data.left_out, details, "note");
    reasons(node);
  }

  function changes({measurement, diffs}) {
    element("div", "", details).innerHTML = measurement;  // made by schedsearch, escaped there
    for (const [number, [title, lines]] of diffs.entries()) {
      const folded = element("details", "", details);
      folded.open = number === 0;
      element("summary", title, folded);
      const text = element("pre", "", folded);
      for (const line of lines) {
        const kind = {"+": "added", "-": "removed"}[line[0]];
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
    const causes = element("ul", "", details);
    for (const [cause, {count, messages}] of [...found].sort((a, b) => b[1].count - a[1].count)) {
      const item = element("li", `${count} ${cause}`, causes);
      const inner = messages.size ? element("ul", "", item) : null;
      for (const [message, nodes] of [...messages].slice(0, 12)) {
        const examples = nodes.slice(0, 3).map((child) => said("rewrite", child)).join("; ");
        element("li", `${message}: ${nodes.length}, such as ${shortened(examples)}`, inner);
      }
      if (messages.size > 12) element("li", `${messages.size - 12} other reasons`, inner);
    }
  }

  const button = (title, act) => element("button", title, bar).addEventListener("click", act);
  button("path to the best", () => { collapse(); select(Math.max(best, 0)); });
  const wanted = element("input", "", bar);
  wanted.placeholder = "candidate …";
  wanted.setAttribute("aria-label", "candidate to show");
  wanted.addEventListener("change", () => {
    const node = data.id.indexOf(Number(wanted.value));
    if (node >= 0) reveal(node);
  });
  const legend = "colour: speed, logarithmic; size: schedules below; hollow: not measured; " +
    "crossed: rejected. Click a row, or arrows and Enter, to open or close it.";
  element("span", legend, bar, "note");

  collapse();
  draw();
  describe(selected);
  function toggle({node, hidden}) {
    if (hidden) {
      open.set(node, open.get(node) + MORE);
      draw();
      return;
    }
    if (open.has(node)) open.delete(node);
    else if (children[node].length) open.set(node, FIRST);
    select(node);
  }

  list.addEventListener("click", ({clientY}) => {
    const row = Math.floor((clientY - plot.getBoundingClientRect().top - EDGE) / ROW);
    if (visible[row]) toggle(visible[row]);
  });
  list.addEventListener("keydown", (event) => {
    const row = visible.findIndex(({node, hidden}) => node === selected && !hidden);
    const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (step) {
      let next = row + step;
      while (visible[next] && visible[next].hidden) next += step;
      if (visible[next]) select(visible[next].node);
    } else if (event.key === "Enter" && row >= 0) toggle(visible[row]);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
}
