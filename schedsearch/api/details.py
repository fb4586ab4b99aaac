"""What a search tree shows of chosen candidates: what each rewrite changed, and its samples."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from difflib import unified_diff
from typing import Any

from schedsearch.core import html
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.outline import outline
from schedsearch.core.records import Target
from schedsearch.core.trace import Trace
from schedsearch.present import format as fmt
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate, Table
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.replay import Replayer, State

FASTEST = 10
"""Besides the best: shown with their paths. Replaying takes seconds each."""

MOST_LINES = 400
"""Of one difference."""
MOST_CHARACTERS = 1_500_000
"""Of the C of all others together: a page is mailed around."""


Change = tuple[str, list[str]]
"""A title, and lines of a difference."""


def interesting(store: Store, scope: Scope) -> list[StoredCandidate]:
    """The fastest schedules of the tree, the best first, and all on the way to them."""
    fastest = [c for c in store.best(scope, FASTEST) if c.scope == scope]
    keys = [
        Trace(c.record.trace.steps[:n]).key for c in fastest for n in range(len(c.record.trace))
    ]
    on_paths = store.find(scope, sorted(set(keys) - {c.trace_key for c in fastest}))
    return [*fastest, *on_paths]


def details(
    shown: Sequence[StoredCandidate], target: Target, procedure: Any | None
) -> dict[int, Any]:
    """By candidate id: samples as HTML, and titled differences to the schedule one rewrite
    before, as lines. Those need `procedure`; without it there are samples alone."""
    replayer = Replayer(procedure) if procedure is not None else None
    found = {}
    for candidate in shown:
        measurement = candidate.record.measurement
        picture = str(html.measurement(measurement)) if measurement else ""
        diffs = list(_diffs(replayer, candidate.record.trace, target)) if replayer else []
        if picture or diffs:
            found[candidate.id] = {"measurement": picture, "diffs": diffs}
    return found


def measured_code(store: Store, table: Table, done: Container[int]) -> dict[int, list[Change]]:
    """By candidate id: how the C of measured candidates differs from that of the measured one
    nearest above, as stored; the fastest first, until it is enough.

    `table` is the tree's candidates, `done` the ids of those that are not wanted.
    """
    rows = {row["id"]: row for row in table.dicts()}
    own = [row for row in rows.values() if row["speedup"] is not None and row["id"] not in done]
    found: dict[int, list[Change]] = {}
    left = MOST_CHARACTERS
    for row in sorted(own, key=lambda row: (-row["speedup"], row["id"])):
        above = rows.get(row["parent_id"])
        while above is not None and above["speedup"] is None:
            above = rows.get(above["parent_id"])
        before = store.code(above["code_key"] or "") if above else None
        after = store.code(row["code_key"] or "")
        if above is None or before is None or after is None:
            continue
        lines = _changed(before.source.splitlines(), after.source.splitlines())
        left -= sum(map(len, lines))
        if left < 0:
            break
        found[row["id"]] = [(f"C, beside candidate {above['id']}", lines)]
    return found


def _diffs(replayer: Replayer, trace: Trace, target: Target) -> Iterator[Change]:
    if trace.parent is None:
        return
    try:
        pair = [replayer.state(trace.parent), replayer.state(trace)]
    except (ReplayError, UserError) as error:
        yield "it does not replay", [str(error)]
        return
    yield "loop nest", _changed(*(outline(state.ast) for state in pair))
    yield "Exo", _changed(*(str(state.procedure).splitlines() for state in pair))
    yield "C", _changed(*(_c(state, target) for state in pair))


def _c(state: State, target: Target) -> list[str]:
    """With how it is compiled; or why it cannot be generated, as of a schedule half way."""
    try:
        code = generate_c(state.procedure, state.build)
    except CodegenError as error:
        return [f"/* no C: {error} */"]
    return [f"/* {fmt.compiled(target, state.build)} */", *code.source.splitlines()]


def _changed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    lines = list(unified_diff(before, after, lineterm="", n=3))[2:]  # without file names
    if len(lines) > MOST_LINES:
        return [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"]
    return lines or ["no difference"]
