import { useCallback, useDeferredValue, useEffect, useMemo, useState } from "react";
import { Code, useDetails } from "./code";
import {
  type Page,
  type Progress,
  type Row,
  duration,
  interval,
  pathTo,
  percent,
  rowsOf,
  times,
} from "./data";
import { Pictures, SamplePlot } from "./plots";
import { type Source, useSource } from "./source";
import { Candidates, Filters, useCandidates } from "./table";
import { SearchTree } from "./tree";

export function App() {
  const [run, setRun] = useState<number | null>(null);
  const source = useSource(run);
  const { page, trouble } = source;
  useEffect(() => {
    if (page) document.title = page.title;
  }, [page?.title]);
  return (
    <>
      <p className={trouble ? "trouble" : "hidden"} role="status">
        {trouble}
      </p>
      {page ? (
        <Loaded key={page.run} source={source} page={page} setRun={setRun} />
      ) : (
        <main>
          <h1>schedsearch</h1>
          <p className="note">{trouble ? "" : "Reading the store …"}</p>
        </main>
      )}
    </>
  );
}

interface Props {
  source: Source;
  page: Page;
  setRun(run: number | null): void;
}

function Loaded({ source, page, setRun }: Props) {
  const byId = useMemo(() => rowsOf(page), [page.candidates, page.roof]);
  const rows = useMemo(() => [...byId.values()], [byId]);
  const { best } = page.candidates;
  const screened = best < 0 ? null : page.candidates.id[best]!;
  const { id } = page.verdict;
  // The verdict's is of another tree where a search was begun afresh.
  const fastest = id !== null && byId.has(id) ? id : screened;
  // Until somebody chooses one, it is the best, also when that changes.
  const [picked, choose] = useState<number | null>(null);
  const chosen = picked ?? fastest ?? rows[0]?.id ?? null;
  const row = chosen === null ? undefined : byId.get(chosen);
  return (
    <main>
      <Heading page={page} live={source.live} setRun={setRun} />
      <Verdict page={page} source={source} />
      <Explorer source={source} byId={byId} rows={rows} row={row} choose={choose} />
      {row && (
        <section aria-labelledby="code">
          <h2 id="code">Code</h2>
          <p className="note">
            Of the candidate that is selected in the search, {row.id}; its rewrites were checked by
            Exo.
          </p>
          <Code
            source={source}
            rows={byId}
            row={row}
            best={fastest === null ? undefined : byId.get(fastest)}
          />
        </section>
      )}
      <section aria-labelledby="pictures">
        <h2 id="pictures">How the search went</h2>
        <Pictures page={useDeferredValue(page)} byId={useDeferredValue(byId)} />
      </section>
      <About page={page} />
    </main>
  );
}

function Heading({ page, live, setRun }: Omit<Props, "source"> & { live: boolean }) {
  return (
    <header>
      <h1>{page.title}</h1>
      {live && page.runs && page.runs.length > 1 && (
        <label>
          Run{" "}
          <select value={page.run} onChange={(e) => setRun(Number(e.target.value))}>
            {page.runs.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {page.progress && <Going progress={page.progress} />}
    </header>
  );
}

function Going({ progress }: { progress: Progress }) {
  const { phase, elapsed_s, budget_s, left, said } = progress;
  return (
    <div className="going">
      <progress
        aria-label="Time of the budget"
        max={budget_s || 1}
        value={Math.min(elapsed_s, budget_s)}
      />
      <span>
        {phase}, {Math.round(elapsed_s)} s: {said}; time left: {left}
      </span>
    </div>
  );
}

function Verdict({ page, source }: { page: Page; source: Source }) {
  const { verdict, against } = page;
  return (
    <section className="verdict" aria-label="Verdict">
      <div>
        <p className={verdict.faster ? "claim faster" : "claim"}>{verdict.text}</p>
        {verdict.lines.map((line) => (
          <p key={line}>{line}</p>
        ))}
        {source.live && verdict.id !== null && (
          <Actions source={source} id={verdict.id} what="the best" />
        )}
        {against && (
          <>
            <h2>What could be used instead</h2>
            <p>{against.title}:</p>
            <ul>
              {against.lines.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
            {against.texts.map(([title, text]) => (
              <details key={title}>
                <summary>{title}</summary>
                <pre tabIndex={0}>{text}</pre>
              </details>
            ))}
          </>
        )}
      </div>
      <div>
        <h2>Can it be trusted?</h2>
        <ul className="trust">
          {page.trust.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Pins and exports a candidate, and says what was done. */
function Actions({ source, id, what }: { source: Source; id: number; what: string }) {
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => setSaid(""), [id]);
  const act = async (action: "pin" | "export") => {
    setBusy(true);
    setSaid("applying its rewrites …");
    try {
      setSaid(await source.act(action, id));
    } catch (error) {
      setSaid((error as Error).message);
    }
    setBusy(false);
  };
  return (
    <div className="actions">
      <button type="button" disabled={busy} onClick={() => act("pin")}>
        Pin {what}
      </button>
      <button type="button" disabled={busy} onClick={() => act("export")}>
        Export {what}
      </button>
      <output>{said}</output>
    </div>
  );
}

interface Exploring {
  source: Source;
  byId: Map<number, Row>;
  rows: Row[];
  row: Row | undefined;
  choose(id: number): void;
}

function Explorer({ source, byId, rows, row, choose }: Exploring) {
  const [view, setView] = useState("tree");
  const table = useCandidates(rows);
  const filtered = table.getFilteredRowModel().rows;
  const matching = useMemo(() => filtered.map((each) => each.original), [filtered]);
  const select = useCallback((id: number) => choose(id), [choose]);
  return (
    <section aria-labelledby="search">
      <h2 id="search">The search</h2>
      <p className="note">
        In the tree every candidate is one rewrite more than the one above it. Arrow keys walk and
        unfold it.
      </p>
      <Filters table={table} />
      <fieldset className="modes">
        <legend className="hidden">View</legend>
        {["tree", "table"].map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="view"
              checked={view === each}
              onChange={() => setView(each)}
            />
            {each}
          </label>
        ))}
      </fieldset>
      <div className="explorer">
        <div className="list">
          {view === "tree" ? (
            <SearchTree rows={byId} matching={matching} chosen={row?.id ?? null} choose={select} />
          ) : (
            <Candidates table={table} chosen={row?.id ?? null} choose={select} />
          )}
        </div>
        {row && <Detail source={source} byId={byId} row={row} choose={choose} />}
      </div>
    </section>
  );
}

function Detail({ source, byId, row, choose }: Omit<Exploring, "rows" | "row"> & { row: Row }) {
  const found = useDetails(source, row);
  const path = pathTo(byId, row.id).slice(1);
  const known: [string, string][] = [
    ["outcome", row.outcome],
    ["speed-up", row.speedup === null ? "" : `${times(row.speedup)} ${interval(row) && `[${interval(row)}]`}`],
    ["per call", duration(row.ns)],
    ["of the roofline", percent(row.share)],
    ["timed", row.kind],
    ["predicted", row.predicted === null ? "" : `${times(Math.exp(row.predicted))} its parent`],
    ["said", row.message],
  ];
  return (
    <aside aria-label="Selected candidate" tabIndex={0}>
      <h3>
        candidate {row.id}
        {row.depth === 0 && ", as written"}
      </h3>
      <dl>
        {known.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        {row.original !== null && byId.has(row.original) && (
          <div>
            <dt>the same as</dt>
            <dd>
              <button type="button" onClick={() => choose(row.original!)}>
                candidate {row.original}
              </button>
            </dd>
          </div>
        )}
      </dl>
      {path.length > 0 && (
        <ol>
          {path.map((each) => (
            <li key={each.id}>
              <code>{each.rewrite}</code> {each.speedup !== null && <b>{times(each.speedup)}</b>}
            </li>
          ))}
        </ol>
      )}
      {source.live && row.outcome === "correct" && row.depth > 0 && (
        <Actions source={source} id={row.id} what="this" />
      )}
      {found?.samples && <SamplePlot samples={found.samples} />}
    </aside>
  );
}

function About({ page }: { page: Page }) {
  return (
    <section aria-labelledby="about">
      <h2 id="about">What was tuned, where</h2>
      <dl className="facts">
        {page.facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h2>To reproduce it</h2>
      <pre tabIndex={0} role="region" aria-label="Commands">
        {page.reproduce}
      </pre>
      <p className="note">Written by {page.written}.</p>
    </section>
  );
}
