"use strict";
// The search tree as an indented list: one row per node that is open, drawn by Plotly. Whatever
// is collapsed is one node, so that a tree of any size is as quick as what is shown of it.
// `data` is what schedsearch/api/tree.py writes: columns, with parents before children.

const INDENT = 22, ROW = 24, EDGE = 6, FIRST = 5, MORE = 50;
// Labels: pixels of a letter, of a bold one, of the speed, and of what lies below; in letters.
const LETTER = 6.1, BOLD = 6.7, SPEED = 110, BELOW = 190, SHORTEST = 48, LONGEST = 110;
const REJECTED = new Set(["illegal", "codegen error", "compile error", "timeout", "crash",
  "refused", "incorrect", "unverified"]);

const MOVES = {ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity};

const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
const escaped = (text) =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const times = (value) => Number(value.toPrecision(3)) + "x";
const shortened = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

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
  const folded = new Set();  // kinds of differences that were closed by hand
  let selected = Math.max(best, 0), onMore = false, visible = [];  // `onMore`: on its "… more" row
  const logs = data.speedup.filter((value) => value !== null).map(Math.log2);
  const slowest = logs.reduce((a, b) => Math.min(a, b), 0);
  const fastest = logs.reduce((a, b) => Math.max(a, b), 1);

  const bar = element("div", "", host, "tree-bar");
  const box = element("div", "", host, "tree-box");
  const list = element("div", "", box, "tree-scroll");
  list.tabIndex = 0;
  list.setAttribute("aria-label", "search tree: arrows move and open, Enter opens or closes");
  const plot = element("div", "", list);
  const details = element("div", "", box, "tree-details");
  const code = element("div", "", host, "tree-code");
  const spoken = element("div", "", host, "spoken");
  spoken.setAttribute("aria-live", "polite");

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

  function label({node, depth, hidden}, wide, dim) {
    if (hidden) return `<i>${hidden} more …</i>`;
    const name = node ? said("rewrite", node) : "as written";
    const below = open.has(node) ? 0 : size[node] - 1;
    const left = wide - (depth + 2) * INDENT - SPEED - (below && BELOW);
    const room = Math.round(left / (path.has(node) ? BOLD : LETTER));
    let text = escaped(shortened(name, Math.min(Math.max(room, SHORTEST), LONGEST)));
    if (data.speedup[node] !== null) text += `  <b>${times(data.speedup[node])}</b>`;
    else text += `  <span style="color:${dim}">${escaped(said("outcome", node))}</span>`;
    if (below) {
      const fastest = bestBelow[node] !== null ? `, best ${times(bestBelow[node])}` : "";
      text += `  <span style="color:${dim}">(+ ${below} below${fastest})</span>`;
    }
    return path.has(node) ? `<b>${text}</b>` : text;
  }

  function symbol({node, hidden}) {
    if (hidden) return "triangle-down-open";
    if (data.speedup[node] !== null) return "circle";
    return REJECTED.has(said("outcome", node)) ? "x-thin-open" : "circle-open";
  }

  function draw() {
    const shown = rows(), dim = tone("dim"), paper = tone("paper");
    const last = [], x = [], y = [];
    shown.forEach(({depth}, row) => {
      if (depth) {
        x.push(depth - 1, depth - 1, depth, null);
        y.push(last[depth - 1], row, row, null);
      }
      last[depth] = row;
    });
    const deepest = shown.reduce((most, {depth}) => Math.max(most, depth), 0);
    const least = deepest * INDENT + SHORTEST * BOLD + SPEED + BELOW;
    const wide = Math.max(list.clientWidth - 18, least);
    const lines = {x, y, mode: "lines", line: {color: tone("line"), width: 1}};
    const drawn = [true, false].map((measured) => {
      const rows = [...shown.keys()].filter((row) => measured ===
        (!shown[row].hidden && data.speedup[shown[row].node] !== null));
      const own = rows.map((row) => shown[row]);
      return {
        x: own.map(({depth}) => depth), y: rows, text: own.map((row) => label(row, wide, dim)),
        mode: "markers+text", textposition: "middle right", textfont: {size: 12},
        marker: {
          size: own.map(({node, hidden}) => hidden ? 9 : 8 + 1.1 * Math.log2(size[node])),
          symbol: own.map(symbol),
          color: measured ? own.map(({node}) => Math.log2(data.speedup[node])) : dim,
          cmin: slowest, cmax: fastest, colorscale: "Viridis", line: {width: 1, color: dim},
        },
      };
    });
    visible = shown;
    const row = current();
    const layout = {
      width: wide, height: shown.length * ROW + 2 * EDGE, showlegend: false,
      margin: {l: 0, r: 0, t: EDGE, b: EDGE},
      paper_bgcolor: paper, plot_bgcolor: paper, font: {color: tone("ink")},
      xaxis: {range: [-0.8, wide / INDENT - 0.8], visible: false},
      yaxis: {range: [shown.length - 0.5, -0.5], visible: false},
      shapes: row < 0 ? [] : [{type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1,
        y0: row - 0.5, y1: row + 0.5, fillcolor: tone("pick"), line: {width: 0}}],
    };
    Plotly.react(plot, [lines, ...drawn], layout, {staticPlot: true});
  }

  function current() {
    return visible.findIndex(({node, hidden}) => node === selected && !hidden === !onMore);
  }

  function select(node, more = false) {
    const before = selected;
    [selected, onMore] = [node, more];
    draw();
    const top = current() * ROW;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 2 * ROW) {
      list.scrollTop = top - list.clientHeight / 2;
    }
    const {depth, hidden} = visible[current()];
    const name = node ? said("rewrite", node) : "as written";
    const speed = data.speedup[node] !== null ? times(data.speedup[node]) : said("outcome", node);
    const state = open.has(node) ? "open" : children[node].length ? "closed" : "nothing below";
    spoken.textContent = hidden ? `${hidden} more` : `level ${depth}: ${name}, ${speed}, ${state}`;
    if (node !== before) describe(node);
  }

  function describe(node) {
    details.replaceChildren();
    details.scrollTop = 0;
    code.replaceChildren();
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
      // There is no interval where no chain of timings reaches the baseline.
      const interval = data.low[node] === null ? "" :
        ` [${times(data.low[node])}, ${times(data.high[node])}]`;
      fact("speed", `${times(data.speedup[node])}${interval} the speed as written ` +
        `(${said("kind", node)})`);
      const share = 100 * data.roof_ns / data.ns[node];
      const roof = data.roof_ns ? `, ${share.toPrecision(2)} % of its roofline` : "";
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
    for (const [title, lines] of diffs) {
      // The outline is read beside the facts; code needs room.
      const kind = title.split(",")[0];
      const change = element("details", "", kind === "loop nest" ? details : code);
      change.open = !folded.has(kind);
      change.addEventListener("toggle", () => folded[change.open ? "delete" : "add"](kind));
      element("summary", title, change);
      const text = element("pre", "", change);
      for (const line of lines) {
        element("span", line + "\n", text, {"+": "added", "-": "removed"}[line[0]]);
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
        element("li", `${message}: ${nodes.length}, such as ${shortened(examples, LONGEST)}`, inner);
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
    "crossed: rejected. A click, or Enter, opens and closes a row; arrows move.";
  element("span", legend, bar, "note");

  collapse();
  draw();
  describe(selected);
  function toggle({node, hidden}) {
    if (hidden) {
      const known = new Set(visible.map((row) => row.node));
      open.set(node, open.get(node) + MORE);
      select(rows().find((row) => !row.hidden && !known.has(row.node)).node);
      return;
    }
    if (open.has(node)) open.delete(node);
    else if (children[node].length) open.set(node, FIRST);
    select(node);
  }

  function move(row, step) {
    const {node, hidden} = visible[Math.min(Math.max(row + step, 0), visible.length - 1)];
    select(node, hidden > 0);
  }

  // As in lists of folders: right opens, then goes in; left closes, then goes out.
  function enter(row) {
    const {node, hidden} = visible[row];
    if (hidden || (children[node].length && !open.has(node))) toggle(visible[row]);
    else if (children[node].length) move(row, 1);
  }

  function leave({node, hidden}) {
    if (hidden) select(node);
    else if (open.has(node)) toggle({node, hidden});
    else if (node) select(data.parent[node]);
  }

  list.addEventListener("click", ({clientY}) => {
    const row = Math.floor((clientY - plot.getBoundingClientRect().top - EDGE) / ROW);
    if (visible[row]) toggle(visible[row]);
  });
  list.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const row = Math.max(current(), 0);
    if (event.key in MOVES) move(row, MOVES[event.key]);
    else if (event.key === "ArrowRight") enter(row);
    else if (event.key === "ArrowLeft") leave(visible[row]);
    else if (event.key === "Enter" || event.key === " ") toggle(visible[row]);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
