"""The code of candidates, in the forms that a page shows beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schedsearch.api.tree import Strings, short
from schedsearch.core.errors import CodegenError, ReplayError, RewriteError, UserError
from schedsearch.core.outline import outline
from schedsearch.core.records import Measurement
from schedsearch.present import format as fmt
from schedsearch.present.assembly import Assembly
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.study.hot import hot
from schedsearch.study.schedule import Schedule
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.replay import Replayer

if TYPE_CHECKING:
    from schedsearch.api.searched import Search

FASTEST = 10
"""Besides the best: a file has their code and that of those on the way to them. Replaying takes
seconds each."""

MOST_CHARACTERS = 2_000_000
"""Of the C of all others together, a tenth of that when compressed: a page is mailed around."""

SCHEDULE, EXO, NEST, C, ASSEMBLY = "Schedule", "Exo", "Loop nest", "C", "Assembly"
"""Forms of a candidate, by the names that the page shows; another one is another name."""


@dataclass(frozen=True)
class Codes:
    """Of the candidates of a search. Replayed schedules are kept: the next one shares steps."""

    about: Search

    @cached_property
    def _replayer(self) -> Replayer | None:
        procedure = self.about.procedure
        return Replayer(procedure) if procedure is not None else None

    def details(self, candidate: StoredCandidate, *, whole: bool) -> dict[str, Any]:
        """All forms of it as text, what is missing, and its samples. `whole`: the Exo Python and
        the assembly of its hottest loops too, which replay it again and compile it."""
        stored = self._stored(candidate)
        if self._replayer is None:
            loaded = self.about.loaded
            why = f"Only stored C is shown: {loaded}" if isinstance(loaded, UserError) else ""
            return _details(candidate, stored, why)
        try:
            forms = dict(self._replayed(candidate, whole))
        except (ReplayError, RewriteError, UserError) as error:
            return _details(candidate, stored, f"It does not replay with this version: {error}")
        return _details(candidate, forms | stored, "")

    def _replayed(self, candidate: StoredCandidate, whole: bool) -> Iterator[tuple[str, str]]:
        assert self._replayer is not None
        trace, about = candidate.record.trace, self.about
        state = self._replayer.state(trace)
        if whole and not isinstance(about.loaded, UserError):
            own = about.workload
            yield SCHEDULE, schedule_python(about.loaded[0], own.proc, trace, [], own.fixed)
        yield EXO, str(state.procedure)
        yield NEST, "\n".join(outline(state.ast))
        try:
            source = generate_c(state.procedure, state.build).source
        except CodegenError as error:  # as of a schedule half way
            source = f"/* no C: {error} */"
        yield C, f"/* {fmt.compiled(about.target, state.build)} */\n{source}"
        if whole and candidate.record.measurement is not None:
            yield ASSEMBLY, self._assembly(candidate)

    def _assembly(self, candidate: StoredCandidate) -> str:
        """Why there is none, where this machine cannot make it."""
        try:
            found = hot(Schedule.of(self.about.store, candidate, self.about.file))
        except UserError as error:
            return f"; no assembly: {error}"
        return Assembly(found).listing

    def _stored(self, candidate: StoredCandidate) -> dict[str, str]:
        code = self.about.store.code(candidate.record.keys.code or "")
        if code is None:
            return {}
        return {C: f"/* {fmt.compiled(self.about.target, code.build)} */\n{code.source}"}


def interesting(store: Store, scope: Scope) -> list[StoredCandidate]:
    """The fastest schedules of the tree, the best first, and all on the way to them."""
    fastest = [c for c in store.best(scope, FASTEST) if c.scope == scope]
    keys = [prefix.key for c in fastest for prefix in c.record.trace.prefixes[:-1]]
    on_paths = store.find(scope, sorted(set(keys) - {c.trace_key for c in fastest}))
    return [*fastest, *on_paths]


def kept_details(about: Search, shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of a page that nobody serves: `details` by candidate id, of the interesting ones in all
    forms, of other measured ones the C alone, the fastest first, until it is enough. `shown` is
    the rows of the candidate table. Each text is in `texts` once; forms are numbers of it."""
    codes, text, left = Codes(about), Strings(), MOST_CHARACTERS
    found: dict[int, dict[str, Any]] = {}
    for number, candidate in enumerate(interesting(about.store, about.scope)):
        found[candidate.id] = codes.details(candidate, whole=number == 0)
    measured = [row for row in shown if row["speedup"] is not None and row["id"] not in found]
    for row in sorted(measured, key=lambda row: (-row["speedup"], row["id"])):
        code = about.store.code(row["code_key"] or "")
        if code is None:
            continue
        left -= len(code.source)
        if left < 0:
            break
        found[row["id"]] = {"forms": {C: code.source}, "said": "", "samples": None}
    for each in found.values():
        each["forms"] = {name: text(form) for name, form in each["forms"].items()}
    return {"details": {str(key): each for key, each in found.items()}, "texts": list(text.known)}


def _details(candidate: StoredCandidate, forms: dict[str, str], said: str) -> dict[str, Any]:
    timed = candidate.record.measurement
    return {"forms": forms, "said": said, "samples": samples(timed) if timed else None}


def samples(timed: Measurement) -> dict[str, Any]:
    """Of a measurement: how it was made in words, the ratio of every round, nanoseconds of every
    sample and of the reference's."""
    rounds = fmt.count(len(timed.rounds), "round")
    calls = fmt.count(timed.calls, "call")
    return {
        "said": f"{timed.kind}, {rounds} with samples of {calls}",
        "host": ", ".join(f"{name} {value}" for name, value in timed.host),
        "ratios": [short(each.speedup) for each in timed.rounds],
        "own_ns": [short(ns) for each in timed.rounds for ns in each.candidate_ns],
        "reference_ns": [short(ns) for each in timed.rounds for ns in each.reference_ns],
    }
