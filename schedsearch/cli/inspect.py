"""`schedsearch list`, `best`, `show`"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schedsearch.cli.options import DEFAULT_STORE, JsonOption, StoreOption
from schedsearch.core.alignment import arrays
from schedsearch.core.records import Measurement, Outcome
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.lookup import caveats as caveats_of
from schedsearch.search.lookup import find_scopes, stored_roof
from schedsearch.search.other_alignment import stored_elsewhere
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate


def list_(store: StoreOption = DEFAULT_STORE, json_: JsonOption = False) -> None:
    """List what has been tuned: procedures, machines, candidates, best speed-ups."""
    with Store.open(store, create=False) as opened:
        rows = [_scope_row(opened, scope) for scope in find_scopes(opened, None, nests=True)]
    if json_:
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None, header_style="bold")
    for title in ("procedure", "on"):
        table.add_column(title, overflow="fold")
    for title in ("runs", "candidates", "measured", "best", "best id"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        name = f"{row['procedure']} ({row['sizes']})" if row["sizes"] else row["procedure"]
        best = f"{row['best']:.3g}x" if row["best"] is not None else "-"
        counts = (len(row["runs"]), row["candidates"], row["measured"], best, row["best_id"] or "-")
        table.add_row(escape(name), escape(row["on"]), *map(str, counts))
    Console(highlight=False).print(table)


def _scope_row(store: Store, scope: Scope) -> dict[str, Any]:
    workload, target = store.workload(scope), store.target(scope)
    top = store.best(scope, 1)
    trees = store.trees(scope)
    outcomes = sum((Counter(store.outcomes(tree)) for tree in trees), Counter())
    runs = sorted((run for tree in trees for run in store.runs(tree)), key=lambda run: run.id)
    return {
        "procedure": workload.proc,
        "sizes": fmt.sizes(workload.sizes, workload.specialized),
        "on": f"{target.cpu}, {target.compiler.kind} {target.compiler.version}, fp {target.fp}, "
        f"{arrays(target.align)}",
        "searches": len(trees),
        "runs": [{"id": run.id, "status": run.status.value, "host": run.host} for run in runs],
        "candidates": sum(outcomes.values()),
        "measured": outcomes[Outcome.CORRECT],
        "best": top[0].record.speedup if top else None,
        "best_id": top[0].id if top else None,
    }


def best(
    proc: Annotated[str | None, typer.Argument(help="Procedure; default: all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many per procedure.")] = 5,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Show the fastest verified schedules."""
    with Store.open(store, create=False) as opened:
        scopes = find_scopes(opened, proc)
        found = [
            (
                _about(opened, scope),
                stored_roof(opened, scope),
                [(c, _caveats(opened, c)) for c in opened.best(scope, limit)],
            )
            for scope in scopes
        ]
    if json_:
        rows = [_json(c, roof, said) | about for about, roof, cs in found for c, said in cs]
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None, header_style="bold")
    searched, timed = ("id", "procedure", "fp", "align"), ("speed-up", "time", "of roofline")
    for title in (*searched, *timed, "measured", "rewrites"):
        table.add_column(title, overflow="fold")
    for about, roof, candidates in found:
        for candidate, _ in candidates:
            measurement = candidate.record.measurement
            assert measurement is not None, "best() returns measured candidates"
            table.add_row(
                str(candidate.id),
                escape(about["proc"]),
                about["fp"],
                str(about["align"] or "-"),
                fmt.speedup(measurement.speedup).replace("[", r"\["),
                fmt.duration(measurement.candidate_ns * 1e-9),
                escape(_share(roof, measurement)),
                escape(measurement.kind),
                escape(" ".join(step.transform for step in candidate.record.trace.steps))
                or "(as written)",
            )
    console = Console(highlight=False)
    console.print(table)
    for _, _, candidates in found:
        for candidate, caveats in candidates:
            for caveat in caveats:
                line = f"{candidate.id} is {caveat}"
                console.print(line, style="yellow", markup=False, soft_wrap=True)


def show(
    candidate_id: Annotated[int, typer.Argument(metavar="ID", help="As `best` prints it.")],
    c: Annotated[bool, typer.Option("--c", help="Print the generated C as well.")] = False,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Show everything known of one candidate: rewrites, outcome, timings, children."""
    with Store.open(store, create=False) as opened:
        candidate = opened.candidate(candidate_id)
        children = opened.children(candidate_id)
        about = _about(opened, candidate.scope)
        elsewhere = stored_elsewhere(opened, candidate)
        code = opened.code(candidate.record.keys.code or "")
        roof = stored_roof(opened, candidate.scope)
        caveats = _caveats(opened, candidate)
    if json_:
        found = _json(candidate, roof, caveats) | about | {"children": len(children)}
        found["elsewhere"] = elsewhere.to_json() if elsewhere else None
        print(json.dumps(found, indent=2))
        return
    console = Console(highlight=False)
    record = candidate.record
    name = escape(about["proc"])
    console.print(f"[bold]candidate {candidate.id}[/] of {name}: {fmt.state(record)}")
    console.print(f"floating point {fmt.contract(about['fp'])}", markup=False, soft_wrap=True)
    if record.duplicate_level:
        same = f"same {record.duplicate_level} key as trace {record.duplicate_of}"
        console.print(same, markup=False)
    if record.message:
        console.print(record.message, markup=False, soft_wrap=True)
    for caveat in caveats:
        console.print(caveat, style="yellow", markup=False, soft_wrap=True)
    for number, step in enumerate(record.trace.steps, 1):
        console.print(f"  {number}. {step}", markup=False, soft_wrap=True)
    if record.measurement is not None:
        times = fmt.speedup(record.measurement.speedup)
        console.print(f"{times} the speed of {name} as written, by all of:", markup=False)
    for m in candidate.measurements:
        console.print(
            f"{m.kind}: {fmt.speedup(m.ratio)}, {fmt.duration(m.candidate_ns * 1e-9)}, "
            f"{fmt.count(len(m.rounds), 'round')} of {m.calls} calls{fmt.anchored(m)}"
            f"{fmt.conditions(m)}",
            markup=False,
            soft_wrap=True,
        )
    if elsewhere is not None and elsewhere.differs:
        console.print(f"on {elsewhere}", markup=False, soft_wrap=True)
    if roof is not None and record.measurement is not None:
        seconds = record.measurement.candidate_ns * 1e-9
        console.print(fmt.of_roof(roof, seconds), markup=False, soft_wrap=True)
    for level in ("ast", "code", "binary"):
        console.print(f"{level}_key {getattr(record.keys, level) or '-'}", markup=False)
    if record.stage_s:
        spent = ", ".join(f"{stage} {fmt.duration(s)}" for stage, s in record.stage_s)
        console.print(f"spent: {spent}", markup=False)
    if candidate.expanded or children:
        so_far = "" if candidate.expanded else " so far"
        console.print(f"{len(children)} children{so_far}{':' if children else ''}")
        for child in children:
            cause = f" ({child.record.message})" if child.record.message else ""
            step = child.record.trace.steps[-1]
            line = f"  {child.id} {fmt.state(child.record)}: {step}{cause}"
            console.print(line, markup=False, soft_wrap=True)
    if c:
        text = code.source if code else "its C is generated when it is measured"
        console.print(text, markup=False, soft_wrap=True)


def _about(store: Store, scope: Scope) -> dict[str, Any]:
    """What tells one search from others."""
    target = store.target(scope)
    return {"proc": store.workload(scope).proc, "fp": target.fp, "align": target.align}


def _share(roof: Roof | None, measurement: Measurement) -> str:
    """`92 % compute`; marked where it cannot be true."""
    seconds = measurement.candidate_ns * 1e-9
    if roof is None or not roof.least_s:
        return "-"
    doubt = " (!)" if roof.exceeded(seconds) else ""
    return f"{100 * roof.share(seconds):.0f} % {roof.limit}{doubt}"


def _caveats(store: Store, candidate: StoredCandidate) -> tuple[str, ...]:
    code = store.code(candidate.record.keys.code or "")
    return caveats_of(store, candidate.scope, code)


def _json(candidate: StoredCandidate, roof: Roof | None, caveats: Sequence[str]) -> dict[str, Any]:
    record = candidate.record
    seconds = record.measurement.candidate_ns * 1e-9 if record.measurement else None
    reached = None
    if roof is not None and seconds is not None:
        reached = {
            "share": roof.share(seconds),
            "limit": roof.limit,
            "name": roof.name,
            "exceeded": roof.exceeded(seconds),
        }
    return {
        "of_roof": reached,
        "id": candidate.id,
        "trace_key": candidate.trace_key,
        "parent": candidate.parent_id,
        "outcome": record.outcome.value if record.outcome else None,
        "caveats": list(caveats),
        "message": record.message,
        "keys": {"ast": record.keys.ast, "code": record.keys.code, "binary": record.keys.binary},
        "speedup": record.speedup,
        "trace": [step.to_json() for step in record.trace.steps],
        "measurements": [m.to_json() for m in candidate.measurements],
        "stage_s": dict(record.stage_s),
    }
