// The data of a page (api/document.py), and its candidates as rows.

export interface Samples {
  said: string;
  host: string;
  ratios: number[];
  own_ns: number[];
  reference_ns: number[];
}

/** Of one candidate. `forms` of a frozen page are numbers of `texts`. */
export interface Details<Form = string> {
  forms: Record<string, Form>;
  said: string;
  samples: Samples | null;
}

type Column<T> = T[];

export interface Page {
  title: string;
  run: number;
  procedure: string;
  verdict: { text: string; faster: boolean; id: number | null; lines: string[] };
  against: { title: string; lines: string[]; texts: [string, string][] } | null;
  trust: string[];
  facts: [string, string][];
  reproduce: string;
  written: string;
  candidates: {
    id: Column<number>;
    parent: Column<number>;
    original: Column<number>;
    rewrite: Column<number>;
    transform: Column<number>;
    outcome: Column<number>;
    message: Column<number>;
    kind: Column<number>;
    speedup: Column<number | null>;
    low: Column<number | null>;
    high: Column<number | null>;
    ns: Column<number | null>;
    predicted: Column<number | null>;
    best: number;
    strings: string[];
  };
  curve: { run: number[]; seconds: number[]; candidate: number[]; speedup: number[] };
  stages: [string, number][];
  roof: Roof | null;
  progress: Progress | null;
  details: Record<string, Details<number>>;
  texts: string[];
  version?: string;
  runs?: { id: number; name: string }[];
}

export interface Roof {
  name: string;
  least_ns: number;
  peak: number;
  unit: string;
  kind: string;
  bandwidth: number;
  level: string;
  ceilings: [string, number][];
  giga_operations: number;
  intensity: number | null;
}

export interface Progress {
  phase: string;
  elapsed_s: number;
  budget_s: number;
  left: string;
  said: string;
}

export interface Row {
  id: number;
  parent: number | null;
  children: number[];
  original: number | null;
  rewrite: string;
  transform: string;
  outcome: string;
  message: string;
  kind: string;
  speedup: number | null;
  low: number | null;
  high: number | null;
  ns: number | null;
  predicted: number | null;
  share: number | null;
  depth: number;
}

export const AS_WRITTEN = "as written";

/** Candidates by id, parents first. */
export function rowsOf({ candidates: all, roof }: Page): Map<number, Row> {
  const rows = new Map<number, Row>();
  const text = (column: number[], n: number) => all.strings[column[n]!]!;
  const idAt = (n: number) => (n < 0 ? null : all.id[n]!);
  all.id.forEach((id, n) => {
    const parent = idAt(all.parent[n]!);
    const above = parent === null ? undefined : rows.get(parent);
    above?.children.push(id);
    const ns = all.ns[n]!;
    rows.set(id, {
      id,
      parent: above ? parent : null,
      children: [],
      original: idAt(all.original[n]!),
      rewrite: text(all.rewrite, n) || AS_WRITTEN,
      transform: text(all.transform, n) || AS_WRITTEN,
      outcome: text(all.outcome, n),
      message: text(all.message, n),
      kind: text(all.kind, n),
      speedup: all.speedup[n]!,
      low: all.low[n]!,
      high: all.high[n]!,
      ns,
      predicted: all.predicted[n]!,
      share: roof && ns ? roof.least_ns / ns : null,
      depth: above ? above.depth + 1 : 0,
    });
  });
  return rows;
}

/** From the procedure as written to this one. */
export function pathTo(rows: Map<number, Row>, id: number): Row[] {
  const path: Row[] = [];
  for (let at = rows.get(id); at; at = at.parent === null ? undefined : rows.get(at.parent))
    path.unshift(at);
  return path;
}

export const digits = (value: number, n = 3) => Number(value.toPrecision(n)).toString();

export const times = (value: number | null) => (value === null ? "" : `${digits(value)}x`);

export function duration(ns: number | null): string {
  if (ns === null) return "";
  const [unit, size] =
    ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["us", 1e3] : ["ns", 1];
  return `${digits(ns / (size as number))} ${unit}`;
}

export const percent = (share: number | null) =>
  share === null ? "" : `${Math.round(100 * share)} %`;

export function interval({ low, high }: Row): string {
  return low === null || high === null ? "" : `${digits(low)} to ${digits(high)}`;
}

/** What a frozen page has in it: gzipped JSON, as base64. */
export async function unpack(text: string): Promise<Page> {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Page;
}
