"""A search tree to click through, in a notebook or as a file: compact JSON for
`present/web/tree.js`, columns of numbers and each text once. Of chosen candidates it shows what
each rewrite changed, and their samples."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.outline import outline
from schedsearch.core.records import Outcome, Target
from schedsearch.core.trace import Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.present import html, page
from schedsearch.present.extras import library
from schedsearch.search.lookup import stored_roof
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate, Table
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.replay import Replayer, State

HEIGHT = 780
"""Pixels, in a notebook."""

FASTEST = 10
"""Besides the best: shown with their paths. Replaying takes seconds each."""

MOST_LINES = 400
"""Of one difference."""
MOST_CHARACTERS = 1_500_000
"""Of the C of all others together: a page is mailed around."""

NOTHING: Mapping[int, Any] = MappingProxyType({})

LONGEST = 400
"""Characters of one text: compilers' messages can be pages."""

Change = tuple[str, list[str]]
"""A title, and lines of a difference."""


@dataclass(frozen=True)
class TreeView:
    """`page` is HTML that needs nothing else: 5 MB, most of it Plotly."""

    title: str
    page: str

    def save(self, path: str | Path) -> None:
        """Write it as one HTML file. Raises UserError if it cannot be written."""
        Path(path).write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return f"{self.title}; shown by notebooks, and by a browser: .save(FILE)"

    def _repr_html_(self) -> str:
        """A frame of its own: the page's policy and style are not the notebook's."""
        frame = '<iframe srcdoc="{}" style="width:100%;height:{}px;border:0"></iframe>'
        return Markup(frame).format(str(self.page), HEIGHT)


def tree_view(
    store: Store, scope: Scope, target: Target, procedure: Any | None, name: str
) -> TreeView:
    """Code differences need `procedure`. Raises UserError if there are no candidates."""
    title = f"search tree of {name}"
    data = {"tree": shown_tree(store, scope, target, procedure)}
    return TreeView(title, page.page(title, [page.tree("tree")], data, library()))


def shown_tree(store: Store, scope: Scope, target: Target, procedure: Any | None) -> dict[str, Any]:
    """Data of the tree, with details of its interesting candidates."""
    table = store.candidate_table(scope)
    if not table.rows:
        raise UserError(f"{store.name} has no candidates of this search: it ended too early")
    shown = details(interesting(store, scope), target, procedure)
    with_code = {key for key, each in shown.items() if each["diffs"]}
    for key, changes in measured_code(store, table, with_code).items():
        shown.setdefault(key, {"measurement": ""})["diffs"] = changes
    return tree_data(table, shown, stored_roof(store, scope))


def interesting(store: Store, scope: Scope) -> list[StoredCandidate]:
    """The fastest schedules of the tree, the best first, and all on the way to them."""
    fastest = [c for c in store.best(scope, FASTEST) if c.scope == scope]
    keys = [prefix.key for c in fastest for prefix in c.record.trace.prefixes[:-1]]
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


class _Strings:
    """Texts by number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        shown = text if len(text) <= LONGEST else text[:LONGEST] + " …"
        return self.known.setdefault(shown, len(self.known))


def tree_data(
    table: Table, details: Mapping[int, Any] = NOTHING, roof: Roof | None = None
) -> dict[str, Any]:
    """Of a store's `candidate_table`: columns with one entry per candidate, parents first;
    `parent`, `original` and `best` are positions, -1 for none. `details` is what more is shown
    of some, by candidate id.

    Text columns (`rewrite`, `outcome`, `message`, `kind`) are positions in `strings`. Speed-ups
    are over the procedure as written, `ns` of one call, `predicted` the log speed-up over the
    parent that the cost estimate promised, `roof_ns` the least that a call can take.
    """
    rows = list(table.dicts())
    position = {row["id"]: number for number, row in enumerate(rows)}
    text = _Strings()
    fastest = max((row["speedup"] or 0.0 for row in rows), default=0.0)
    best = next((n for n, row in enumerate(rows) if fastest and row["speedup"] == fastest), -1)
    return {
        "id": [row["id"] for row in rows],
        "parent": [position.get(row["parent_id"], -1) for row in rows],
        "original": [position.get(row["duplicate_of"], -1) for row in rows],
        "rewrite": [text(row["rewrite"]) for row in rows],
        "outcome": [text(said(row["outcome"], row["duplicate_level"])) for row in rows],
        "message": [text(row["message"]) for row in rows],
        "kind": [text(row["kind"] or "") for row in rows],
        "speedup": [_short(row["speedup"]) for row in rows],
        "low": [_short(row["low"]) for row in rows],
        "high": [_short(row["high"]) for row in rows],
        "ns": [_short(row["candidate_ns"]) for row in rows],
        "predicted": [_short(row["predicted"]) for row in rows],
        "best": best,
        "details": {str(position[key]): value for key, value in details.items()},
        "left_out": _left_out(rows, details),
        "roof_ns": _short(roof.least_s * 1e9) if roof and roof.least_s else None,
        "strings": list(text.known),
    }


def _left_out(rows: Sequence[Mapping[str, Any]], details: Mapping[int, Any]) -> str:
    measured = sum(row["speedup"] is not None for row in rows)
    with_code = sum(bool(each["diffs"]) for each in details.values())
    return (
        f"Of {len(rows)} candidates, {measured} of them measured, this page has code of "
        f"{with_code}: the fastest and those on the way to them. `schedsearch show` and "
        "`schedsearch replay` have it of every one."
    )


def said(outcome: Outcome | None, duplicate_level: str | None) -> str:
    """`compile error`, `duplicate (same code)`, `legal, not measured`"""
    if outcome is None:
        return "legal, not measured"
    level = f" (same {duplicate_level})" if duplicate_level else ""
    return outcome.value.replace("_", " ") + level


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
