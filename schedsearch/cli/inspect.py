"""`schedsearch list`, `best`, `show`"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schedsearch.cli import completing
from schedsearch.cli.options import DEFAULT_STORE, CandidateArgument, JsonOption, StoreOption
from schedsearch.core.alignment import arrays
from schedsearch.core.records import Measurement, Outcome
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.lookup import caveats as caveats_of
from schedsearch.search.lookup import find_scopes, stored_elsewhere, stored_roof
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
    proc: Annotated[
        str | None,
        typer.Argument(
            metavar="PROC", help="Procedure. Default: all.", autocompletion=completing.procedures
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many of each procedure.")] = 5,
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
    console = Console(highlight=False)
    for number, (about, roof, ranked) in enumerate(found):
        title = f"{about['proc']}, fp {about['fp']}, {arrays(about['align'])}"
        console.print("\n" * bool(number) + title, style="bold", markup=False, soft_wrap=True)
        console.print(_ranking(roof, [candidate for candidate, _ in ranked]))
        for candidate, caveats in ranked:
            for caveat in caveats:
                line = f"{candidate.id} is {caveat}"
                console.print(line, style="yellow", markup=False, soft_wrap=True)
    if shown := [candidate for _, _, ranked in found for candidate, _ in ranked]:
        console.print(f"\nnext: schedsearch show {shown[0].id}", markup=False)


def _ranking(roof: Roof | None, candidates: Sequence[StoredCandidate]) -> Table:
    """The fastest first, a line each."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("id", "speed-up", "time", "of roofline", "measured"):
        table.add_column(title, no_wrap=True)
    table.add_column("rewrites", no_wrap=True)
    for candidate in candidates:
        measurement = candidate.record.measurement
        assert measurement is not None, "best() returns measured candidates"
        table.add_row(
            str(candidate.id),
            escape(fmt.speedup(measurement.speedup)),
            fmt.duration(measurement.candidate_ns * 1e-9),
            escape(_share(roof, measurement)),
            escape(measurement.kind),
            escape(_named([step.transform for step in candidate.record.trace.steps])),
        )
    return table


_ROOM = 23
"""Characters that 80 columns leave for the names of rewrites."""


def _named(transforms: Sequence[str]) -> str:
    """`split, reorder, +7`: as many names as there is room for, the first one always."""
    names = list(dict.fromkeys(transforms))
    shown = names[:1]
    for name in names[1:]:
        if len(", ".join([*shown, name, "+99"])) > _ROOM:
            break
        shown.append(name)
    more = [f"+{left}"] if (left := len(names) - len(shown)) else []
    return ", ".join([*shown, *more]) or "(as written)"


def show(
    candidate_id: CandidateArgument,
    c: Annotated[bool, typer.Option("--c", help="Print the generated C as well.")] = False,
    children: Annotated[
        bool, typer.Option("--children", help="List its children as well, with their outcomes.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Show one candidate: how fast it is, what it did, how it was measured.

    With --json, its keys too.
    """
    with Store.open(store, create=False) as opened:
        candidate = opened.candidate(candidate_id)
        below = opened.children(candidate_id)
        about = _about(opened, candidate.scope)
        elsewhere = stored_elsewhere(opened, candidate)
        code = opened.code(candidate.record.keys.code or "")
        roof = stored_roof(opened, candidate.scope)
        caveats = _caveats(opened, candidate)
    if json_:
        found = _json(candidate, roof, caveats) | about | {"children": len(below)}
        found["elsewhere"] = elsewhere.to_json() if elsewhere else None
        print(json.dumps(found, indent=2))
        return
    console = Console(highlight=False)
    whole = not console.is_terminal  # lines are broken for readers, not for programs
    name = escape(about["proc"])
    console.print(f"[bold]candidate {candidate.id}[/] of {name}: {fmt.state(candidate.record)}")
    lines = [*_result(candidate, about["proc"], roof), *_steps(candidate)]
    if elsewhere is not None and elsewhere.differs:
        lines.append(f"on {elsewhere}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=whole)
    for caveat in caveats:
        console.print(caveat, style="yellow", markup=False, soft_wrap=whole)
    console.print(f"floating point {fmt.contract(about['fp'])}", markup=False, soft_wrap=whole)
    for line in _children(candidate, below, listed=children):
        console.print(line, markup=False, soft_wrap=whole)
    if c:
        text = code.source if code else "its C is generated when it is measured"
        console.print(text, markup=False, soft_wrap=True)
    elif candidate.record.trace.steps:
        console.print(f"next: schedsearch explain {candidate.id}", markup=False)


def _result(candidate: StoredCandidate, name: str, roof: Roof | None) -> Iterator[str]:
    """How fast it is, or why that is not known."""
    record = candidate.record
    if record.duplicate_level:
        yield f"same {record.duplicate_level} key as trace {record.duplicate_of}"
    if record.message:
        yield record.message
    if (measurement := record.measurement) is not None:
        yield f"{fmt.speedup(measurement.speedup)} the speed of {name} as written"
        yield fmt.reached(roof, measurement.candidate_ns)


def _steps(candidate: StoredCandidate) -> Iterator[str]:
    """What it did, and how it was measured."""
    steps = candidate.record.trace.steps
    yield f"{fmt.count(len(steps), 'rewrite')}{':' if steps else ', as written'}"
    for number, step in enumerate(steps, 1):
        yield f"  {number}. {step}"
    by_kind = {m.kind: m for m in candidate.measurements}  # the last of each
    times = Counter(m.kind for m in candidate.measurements)
    for kind, m in by_kind.items():
        often = f", the last of {times[kind]}" if times[kind] > 1 else ""
        yield (
            f"{kind}: {fmt.speedup(m.ratio)}, {fmt.duration(m.candidate_ns * 1e-9)}, "
            f"{fmt.count(len(m.rounds), 'round')} of {m.calls} calls{fmt.anchored(m)}{often}"
        )
    if conditions := {text for m in by_kind.values() if (text := fmt.conditions(m))}:
        yield f"timed in{' and in'.join(sorted(conditions))}".replace("in, ", "in ")


def _children(
    parent: StoredCandidate, children: Sequence[StoredCandidate], *, listed: bool
) -> Iterator[str]:
    if not (parent.expanded or children):
        return
    counted = fmt.outcomes(Counter(child.record.outcome for child in children))
    so_far = "" if parent.expanded else " so far"
    yield f"{len(children)} children{so_far}: {counted}"
    if not listed:
        return
    for child in children:
        cause = f" ({child.record.message})" if child.record.message else ""
        yield f"  {child.id} {fmt.state(child.record)}: {child.record.trace.steps[-1]}{cause}"


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
