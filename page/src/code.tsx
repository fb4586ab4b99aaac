// Code of candidates, in two forms or of two candidates beside each other, and what differs.
import { FILE_HEADERS_ONLY, createTwoFilesPatch } from "diff";
import hljs from "highlight.js/lib/core";
import c from "highlight.js/lib/languages/c";
import diff from "highlight.js/lib/languages/diff";
import python from "highlight.js/lib/languages/python";
import x86asm from "highlight.js/lib/languages/x86asm";
import { useEffect, useId, useMemo, useState } from "react";
import type { Details, Row } from "./data";
import type { Source } from "./source";

for (const [name, language] of Object.entries({ c, diff, python, x86asm }))
  hljs.registerLanguage(name, language);

const LANGUAGES: Record<string, string> = { C: "c", Assembly: "x86asm" };

/** Longer ones are shown in one colour: colouring takes seconds. */
const LONGEST = 300_000;

type Found = Details | null | undefined;

/** The details of a candidate: undefined while they are asked for, null if there are none.
 * What was measured since the last answer is asked for again. */
export function useDetails(source: Source, row: Row | undefined): Found {
  const [known, setKnown] = useState<{ id: number; found: Found }>();
  const id = row?.id;
  const state = row && `${row.outcome} ${row.kind} ${row.ns}`;
  const { details } = source;
  const ready = source.page !== null;
  useEffect(() => {
    if (id === undefined || !ready) return;
    let wanted = true;
    details(id).then(
      (found) => wanted && setKnown({ id, found }),
      (error) =>
        wanted && setKnown({ id, found: { forms: {}, said: String(error), samples: null } }),
    );
    return () => {
      wanted = false;
    };
  }, [id, state, ready]);
  return known && known.id === id ? known.found : id === undefined ? null : undefined;
}

function Listing({ text, language, label }: { text: string; language: string; label: string }) {
  const html = useMemo(
    () => (text.length > LONGEST ? null : hljs.highlight(text, { language }).value),
    [text, language],
  );
  // What the highlighter returns is escaped.
  return (
    <pre className="hljs" tabIndex={0} role="region" aria-label={label}>
      {html === null ? <code>{text}</code> : <code dangerouslySetInnerHTML={{ __html: html }} />}
    </pre>
  );
}

function missing(found: Found, who: Row | undefined, form: string): string {
  if (!who) return "There is no such candidate.";
  if (found === undefined) return "Applying its rewrites …";
  if (found?.said) return found.said;
  return `This page has no ${form} of candidate ${who.id}: \`schedsearch replay ${who.id}\` shows it.`;
}

const FORMS = ["Schedule", "Exo", "Loop nest", "C", "Assembly"];

interface Choosing {
  label: string;
  value: string;
  options: [string, string][];
  change(value: string): void;
}

function Select({ label, value, options, change }: Choosing) {
  return (
    <select aria-label={label} value={value} onChange={(e) => change(e.target.value)}>
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface Props {
  source: Source;
  rows: Map<number, Row>;
  row: Row;
  best: Row | undefined;
}

interface Side {
  who: string;
  form: string;
}

export function Code({ source, rows, row, best }: Props) {
  const [left, setLeft] = useState<Side>({ who: "this", form: "Exo" });
  const [right, setRight] = useState<Side>({ who: "this", form: "C" });
  const [comparing, setComparing] = useState(false);
  const name = useId();
  const parent = row.parent === null ? undefined : rows.get(row.parent);
  const written = rows.values().next().value;
  const people: Record<string, Row | undefined> = { this: row, parent, written, best };
  const who: [string, string][] = [["this", `candidate ${row.id}`]];
  if (parent) who.push(["parent", `its parent, ${parent.id}`]);
  if (written && written.id !== row.id) who.push(["written", `as written, ${written.id}`]);
  if (best && best.id !== row.id) who.push(["best", `the best, ${best.id}`]);
  const one = (side: Side) => people[side.who] ?? row;
  const found = [useDetails(source, one(left)), useDetails(source, one(right))];
  const sides: [Side, (side: Side) => void, string][] = [
    [left, setLeft, "left"],
    [right, setRight, "right"],
  ];
  const texts = sides.map(([side], n) => found[n]?.forms[side.form]);
  const forms = FORMS.filter(
    (form) => form !== "Assembly" || found.some((each) => each && form in each.forms),
  ).map((form): [string, string] => [form, form]);
  const compare = (on: boolean) => {
    setComparing(on);
    if (on && left.who === right.who) setLeft({ who: parent ? "parent" : "this", form: right.form });
    else if (on) setLeft({ ...left, form: right.form });
    else if (left.who === "parent") setLeft({ who: "this", form: "Exo" });
  };
  const title = ([side]: [Side, unknown, string]) => `${side.form} of candidate ${one(side).id}`;
  const patch = useMemo(() => {
    if (!comparing || texts[0] === undefined || texts[1] === undefined) return undefined;
    const [before, after] = sides.map(title);
    return createTwoFilesPatch(before!, after!, texts[0], texts[1], "", "", {
      context: 3,
      headerOptions: FILE_HEADERS_ONLY,
    });
  }, [comparing, ...texts]);
  return (
    <>
      <fieldset className="modes">
        <legend className="hidden">How code is shown</legend>
        {[false, true].map((each) => (
          <label key={String(each)}>
            <input
              type="radio"
              name={name}
              checked={comparing === each}
              onChange={() => compare(each)}
            />
            {each ? "what differs" : "beside each other"}
          </label>
        ))}
      </fieldset>
      <div className="pair">
        {sides.map(([side, set, place], n) => (
          <div key={place} className="side">
            <div className="head">
              <Select
                label={`Candidate on the ${place}`}
                value={who.some(([key]) => key === side.who) ? side.who : "this"}
                options={who}
                change={(value) => set({ ...side, who: value })}
              />
              <Select
                label={`Form on the ${place}`}
                value={side.form}
                options={forms}
                change={(value) => set({ ...side, form: value })}
              />
            </div>
            {!comparing &&
              (texts[n] === undefined ? (
                <p className="note">{missing(found[n], one(side), side.form)}</p>
              ) : (
                <Listing
                  text={texts[n]}
                  language={LANGUAGES[side.form] ?? "python"}
                  label={title(sides[n]!)}
                />
              ))}
          </div>
        ))}
      </div>
      {comparing &&
        (patch === undefined ? (
          <p className="note">
            {sides.map(([side], n) => texts[n] === undefined && missing(found[n], one(side), side.form))}
          </p>
        ) : texts[0] === texts[1] ? (
          <p className="note">They do not differ.</p>
        ) : (
          <Listing text={patch} language="diff" label="Differences" />
        ))}
    </>
  );
}
