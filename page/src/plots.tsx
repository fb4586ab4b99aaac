// Pictures of a search, each with a sentence that says what it shows.
import * as Plot from "@observablehq/plot";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { AS_WRITTEN, type Page, type Row, type Samples, digits, duration, times } from "./data";

type Made = (width: number) => Element;

/** Draws what `make` makes, again when the room for it changes. */
export function Drawn({ make, label }: { make: Made; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    seen.observe(place.current!);
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) place.current!.replaceChildren(make(width));
  }, [make, width]);
  // The label says it all: what is inside has names of its own that are none to hear.
  return (
    <div className="drawn" role="img" aria-label={label}>
      <div aria-hidden="true" ref={place} />
    </div>
  );
}

function Figure({ title, says, make }: { title: string; says: string; make: Made }) {
  return (
    <figure>
      <h3>{title}</h3>
      <figcaption>{says}</figcaption>
      <Drawn make={make} label={`${title}. ${says}`} />
    </figure>
  );
}

const tickFormat = (value: number) => digits(value);
const SPEED = "times as fast as written";
const MOST = 12;

/** Room for labels of this many characters, on a narrow screen less. */
const room = (labels: string[], width: number) =>
  Math.min(16 + 6.6 * Math.max(0, ...labels.map((each) => each.length)), width / 2.6);

interface Timed {
  run: string;
  seconds: number;
  candidate: number;
  speedup: number;
  best: number;
}

function Curve({ page }: { page: Page }) {
  const timed = useMemo(() => {
    const { run, seconds, candidate, speedup } = page.curve;
    const best = new Map<number, number>();
    return run.map((each, n): Timed => {
      best.set(each, Math.max(best.get(each) ?? 0, speedup[n]!));
      const now = { run: `run ${each}`, seconds: seconds[n]!, candidate: candidate[n]! };
      return { ...now, speedup: speedup[n]!, best: best.get(each)! };
    });
  }, [page.curve]);
  const make = useMemo<Made>(
    () => (width) => {
      const runs = new Set(timed.map((each) => each.run)).size;
      const speeds = timed.map((each) => each.speedup);
      const wide = Math.max(...speeds) > 8 * Math.min(...speeds);
      return Plot.plot({
        width,
        height: 300,
        marginLeft: 44,
        x: { label: "seconds since the run began", nice: true },
        y: { type: wide ? "log" : "linear", label: SPEED, grid: true, ticks: 6, tickFormat },
        color: { legend: runs > 1, scheme: "observable10" },
        marks: [
          Plot.dot(timed, { x: "seconds", y: "speedup", r: 2, fill: "currentColor", fillOpacity: 0.35 }),
          Plot.line(timed, { x: "seconds", y: "best", stroke: "run", curve: "step-after", strokeWidth: 2 }),
          Plot.tip(
            timed,
            Plot.pointer({
              x: "seconds",
              y: "speedup",
              title: (each: Timed) =>
                `candidate ${each.candidate}\n${times(each.speedup)} after ${digits(each.seconds)} s`,
            }),
          ),
        ],
      });
    },
    [timed],
  );
  if (timed.length < 2) return null;
  const own = timed.filter((each) => each.run === `run ${page.run}`);
  const shown = own.length ? own : timed;
  const top = shown[shown.length - 1]!.best;
  const near = shown.find((each) => each.best >= 0.9 * top)!;
  const says =
    `The line is the fastest schedule so far, each dot one timing. This run was within 10 % of ` +
    `its fastest timing (${times(top)}) after ${digits(near.seconds)} s.`;
  return <Figure title="Best so far" says={says} make={make} />;
}

function Roofline({ page, rows }: { page: Page; rows: Row[] }) {
  const { roof } = page;
  const shown = useMemo(() => {
    if (!roof?.intensity) return null;
    const rate = (row: Row) => roof.giga_operations / (row.ns! * 1e-9);
    const timed = rows.filter((row) => row.speedup !== null && row.ns);
    const points = timed.map((row) => ({ row, x: roof.intensity!, y: rate(row) }));
    const ridge = roof.peak / roof.bandwidth;
    const slopes: [string, number][] = [...roof.ceilings, [roof.level, roof.bandwidth]];
    const first = roof.peak / Math.max(...slopes.map(([, rate]) => rate));
    const left = Math.min(roof.intensity, first) / 8;
    const ends = [left, ridge, Math.max(roof.intensity, ridge) * 8];
    const line = ends.map((x) => ({ x, y: Math.min(x * roof.bandwidth, roof.peak) }));
    const others = [
      ...roof.ceilings.flatMap(([name, rate]) =>
        [left, roof.peak / rate].map((x) => ({ name, x, y: x * rate })),
      ),
      ...[first, ridge].map((x) => ({ name: "peak", x, y: roof.peak })),
    ];
    const names = slopes.map(([name, rate]) => ({
      x: left,
      y: left * rate,
      text: `${name}, ${digits(rate)} GB/s`,
    }));
    return { points, line, others, names };
  }, [roof, rows]);
  const make = useMemo<Made>(
    () => (width) => {
      const { points, line, others, names } = shown!;
      const best = points.reduce((a, b) => (b.row.speedup! > a.row.speedup! ? b : a));
      const marked = [
        ...points.filter((each) => each.row.rewrite === AS_WRITTEN).slice(0, 1),
        best,
      ];
      const label = (each: (typeof points)[number]) => (each === best ? "best" : AS_WRITTEN);
      const tick = { tickFormat, ticks: 5 };
      return Plot.plot({
        width,
        height: 300,
        marginLeft: 52,
        x: { type: "log", label: "operations per byte", ...tick },
        y: { type: "log", label: roof!.unit, grid: true, nice: true, insetBottom: 8, ...tick },
        marks: [
          Plot.line(others, { x: "x", y: "y", z: "name", strokeWidth: 1, strokeOpacity: 0.5 }),
          Plot.line(line, { x: "x", y: "y", strokeWidth: 2 }),
          Plot.text(names, {
            x: "x",
            y: "y",
            text: "text",
            dx: 4,
            dy: 10,
            textAnchor: "start",
            fontSize: 12,
            stroke: "var(--page)",
            fill: "currentColor",
          }),
          Plot.dot(points, { x: "x", y: "y", r: 3, fill: "var(--blue)", fillOpacity: 0.4 }),
          Plot.dot(marked, { x: "x", y: "y", r: 5, fill: "var(--green)" }),
          Plot.text(marked, { x: "x", y: "y", text: label, dx: 10, textAnchor: "start", fontSize: 13 }),
          Plot.tip(
            points,
            Plot.pointer({
              x: "x",
              y: "y",
              title: ({ row, y }) =>
                `candidate ${row.id}\n${digits(y)} ${roof!.unit}, ${duration(row.ns)} a call`,
            }),
          ),
        ],
      });
    },
    [shown, roof],
  );
  if (!roof || !shown?.points.length) return null;
  const top = Math.max(...shown.points.map(({ row }) => row.share ?? 0));
  const says =
    `The thick line is what this machine can do at most, with the arrays where they are ` +
    `(${roof.level}). All schedules do the same work, so their dots are above each other; the ` +
    `highest is at ${Math.round(100 * top)} % of the line (${roof.name}).`;
  return <Figure title="Roofline" says={says} make={make} />;
}

function Gains({ rows, byId }: { rows: Row[]; byId: Map<number, Row> }) {
  const { gains, names, left } = useMemo(() => {
    const all = rows.flatMap((row) => {
      const before = byId.get(row.parent ?? -1)?.speedup;
      return row.speedup && before
        ? [{ transform: row.transform, gain: row.speedup / before, row }]
        : [];
    });
    const middle = new Map<string, number>();
    for (const [name, own] of Map.groupBy(all, (each) => each.transform)) {
      const sorted = own.map((each) => each.gain).sort((a, b) => a - b);
      middle.set(name, sorted[sorted.length >> 1]!);
    }
    const ordered = [...middle.keys()].sort((a, b) => middle.get(b)! - middle.get(a)!);
    const names = ordered.slice(0, MOST);
    const gains = all.filter((each) => names.includes(each.transform));
    return { gains, names, left: ordered.length - names.length };
  }, [rows, byId]);
  const make = useMemo<Made>(
    () => (width) =>
      Plot.plot({
        width,
        height: 60 + 24 * names.length,
        marginLeft: room(names, width),
        x: { type: "log", label: "times as fast as its parent", grid: true, ticks: 5, tickFormat },
        y: { domain: names, label: null },
        marks: [
          Plot.ruleX([1], { strokeDasharray: "3 3" }),
          Plot.dot(gains, {
            x: "gain",
            y: "transform",
            r: 3,
            fill: "var(--blue)",
            fillOpacity: 0.45,
            channels: { rewrite: (each) => each.row.rewrite, id: (each) => each.row.id },
            tip: true,
          }),
          Plot.tickX(gains, Plot.groupY({ x: "median" }, { x: "gain", y: "transform", stroke: "var(--red)", strokeWidth: 2 })),
        ],
      }),
    [gains, names],
  );
  if (!gains.length) return null;
  const says =
    `Each dot is a rewrite whose parent was measured too; right of the dashed line it was faster. ` +
    `The red tick is the median${left > 0 ? `; the transforms with the lowest are left out` : ""}.`;
  return <Figure title="What single rewrites gained" says={says} make={make} />;
}

const COLOURS: [RegExp, string][] = [
  [/^correct/, "var(--green)"],
  [/^legal/, "var(--grey-1)"],
  [/^duplicate/, "var(--grey-2)"],
  [/^illegal/, "var(--red)"],
];
const colour = (outcome: string) =>
  COLOURS.find(([pattern]) => pattern.test(outcome))?.[1] ?? "var(--orange)";

function Outcomes({ rows }: { rows: Row[] }) {
  const { names, outcomes } = useMemo(() => {
    const grouped = Map.groupBy(rows, (row) => row.transform);
    const names = [...grouped.keys()].sort((a, b) => grouped.get(b)!.length - grouped.get(a)!.length);
    const short = rows.map((row) => row.outcome.replace(/ \(.*/, ""));
    const rank = (each: string) => COLOURS.findIndex(([pattern]) => pattern.test(each));
    const outcomes = [...new Set(short)].sort((a, b) => rank(a) - rank(b));
    return { names: names.slice(0, MOST), outcomes };
  }, [rows]);
  const make = useMemo<Made>(
    () => (width) => {
      const shown = rows.filter((row) => names.includes(row.transform));
      const short = (row: Row) => row.outcome.replace(/ \(.*/, "");
      return Plot.plot({
        width,
        height: 60 + 24 * names.length,
        marginLeft: room(names, width),
        x: { label: "candidates", grid: true, ticks: Math.min(8, width / 80) },
        y: { domain: names, label: null },
        color: { domain: outcomes, range: outcomes.map(colour), legend: true },
        marks: [
          Plot.barX(shown, {
            ...Plot.groupY({ x: "count" }, { y: "transform", fill: short, order: outcomes }),
            tip: true,
          }),
        ],
      });
    },
    [rows, names, outcomes],
  );
  const right = rows.filter((row) => row.speedup !== null).length;
  const says =
    `Candidates by the transform of their last rewrite. Of ${rows.length}, ${right} were compiled, ` +
    `verified and timed; the search took the others for less promising, or they were rejected.`;
  return <Figure title="What became of the candidates" says={says} make={make} />;
}

const STAGES: Record<string, string> = {
  ast_key: "comparing procedures",
  build: "compiling",
  codegen: "generating C",
  predict: "predicting speeds",
  propose: "finding rewrites",
  replay: "replaying",
  rewrite: "rewriting",
  time: "timing",
  verify: "verifying",
  wait: "waiting for work",
};

function Stages({ page }: { page: Page }) {
  const stages = useMemo(
    () => page.stages.slice(0, MOST).map(([name, s]) => ({ name: STAGES[name] ?? name.replaceAll("_", " "), s })),
    [page.stages],
  );
  const make = useMemo<Made>(
    () => (width) =>
      Plot.plot({
        width,
        height: 60 + 24 * stages.length,
        marginLeft: room(stages.map((each) => each.name), width),
        marginRight: 60,
        x: { label: "seconds, of all workers together", grid: true, ticks: Math.min(8, width / 80) },
        y: { domain: stages.map((each) => each.name), label: null },
        marks: [
          Plot.barX(stages, { x: "s", y: "name", fill: "var(--blue)" }),
          Plot.text(stages, { x: "s", y: "name", text: ({ s }) => duration(s * 1e9), dx: 5, textAnchor: "start" }),
        ],
      }),
    [stages],
  );
  if (!stages.length) return null;
  const all = page.stages.reduce((sum, [, s]) => sum + s, 0);
  const [first] = stages;
  const says =
    `All runs of this tree together spent ${duration(all * 1e9)} of work; ${first!.name} took ` +
    `${Math.round((100 * first!.s) / all)} % of it.`;
  return <Figure title="Where the time went" says={says} make={make} />;
}

interface Props {
  page: Page;
  byId: Map<number, Row>;
}

/** Drawn after the rest of a page that changes. */
export const Pictures = memo(({ page, byId }: Props) => {
  const rows = useMemo(() => [...byId.values()], [byId]);
  return (
    <div className="figures">
      <Curve page={page} />
      <Roofline page={page} rows={rows} />
      <Gains rows={rows} byId={byId} />
      <Outcomes rows={rows} />
      <Stages page={page} />
    </div>
  );
});

/** All samples of a measurement and of its reference. */
export function SamplePlot({ samples }: { samples: Samples }) {
  const make = useMemo<Made>(() => {
    const named = (ns: number[], of: string) => ns.map((each) => ({ ns: each, of }));
    const all = [...named(samples.own_ns, "this"), ...named(samples.reference_ns, "reference")];
    const largest = Math.max(...all.map((each) => each.ns));
    const [unit, size] =
      largest >= 1e9 ? ["s", 1e9] : largest >= 1e6 ? ["ms", 1e6] : largest >= 1e3 ? ["us", 1e3] : ["ns", 1];
    return (width) =>
      Plot.plot({
        width,
        height: 110,
        marginLeft: 70,
        x: {
          type: "log",
          label: `${unit} a call`,
          ticks: 4,
          tickFormat: (ns: number) => digits(ns / (size as number)),
        },
        y: { domain: ["this", "reference"], label: null },
        marks: [Plot.tickX(all, { x: "ns", y: "of", stroke: "var(--blue)", strokeOpacity: 0.6 })],
      });
  }, [samples]);
  const { ratios } = samples;
  const label = `Samples: each round was ${times(Math.min(...ratios))} to ${times(Math.max(...ratios))} the speed of the reference`;
  return (
    <figure>
      <figcaption>
        {label}. {samples.said}
        {samples.host && `; ${samples.host}`}.
      </figcaption>
      <Drawn make={make} label={label} />
    </figure>
  );
}
