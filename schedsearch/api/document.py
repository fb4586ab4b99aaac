"""What a page about a run shows, as one JSON value: the file that `report` writes and the live
page of `ui` are drawn from the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from schedsearch import __version__
from schedsearch.api.codes import kept_details
from schedsearch.api.tree import short, tree_data
from schedsearch.core.decision import Decision
from schedsearch.core.errors import UserError
from schedsearch.core.records import PeerComparison, RunStatus, TimingKind
from schedsearch.present import format as fmt
from schedsearch.present.against import AGAINST, against_lines
from schedsearch.present.live import time_left
from schedsearch.search.engine.ending import margin
from schedsearch.search.engine.progress import Progress
from schedsearch.search.lookup import stored_elsewhere
from schedsearch.search.setup.run_summary import RunEnvironment, RunSummary
from schedsearch.store.views import StoredCandidate

if TYPE_CHECKING:
    from schedsearch.api.searched import Search

SCHEMA = 1


def page_data(
    about: Search,
    against: Sequence[PeerComparison] = (),
    *,
    frozen: bool,
    going: Progress | None = None,
) -> dict[str, Any]:
    """All that the page shows of a run; `going` is how it goes, if it does. `frozen`: with the
    code of candidates, which takes seconds; who serves the page sends that of a candidate when
    it is asked for.

    Raises UserError if there is nothing to show.
    """
    table = about.store.candidate_table(about.scope)
    if not table.rows:
        early = about.run.status is RunStatus.RUNNING
        why, then = (
            ("it has only begun", "ask again in some seconds")
            if early
            else ("it ended too early", "the same `schedsearch run` continues it")
        )
        raise UserError(f"{about.store.name} has no candidates of this search: {why}; {then}")
    best = about.best  # asked for once: it takes all timings together
    code: dict[str, Any] = {"details": {}, "texts": []}
    if frozen:
        code = kept_details(about, list(table.dicts()))
    return {
        "schema": SCHEMA,
        "title": f"{about.name}: run {about.run.id}",
        "run": about.run.id,
        "procedure": about.workload.proc,
        "verdict": _verdict(about, best),
        "against": _against(against),
        "trust": [*_caveats(about, best), *(_without_code(about) if frozen else ())],
        "facts": [[name, str(value)] for name, value in _circumstances(about)],
        "reproduce": _reproduction(about, best),
        "written": f"schedsearch {__version__}, from {about.store.name}",
        "candidates": tree_data(table),
        "curve": _curve(about),
        "stages": sorted(about.store.stage_seconds(about.scope).items(), key=lambda each: -each[1]),
        "roof": _roof(about, frozen),
        "progress": progress_data(going),
        **code,
    }


def _verdict(about: Search, best: StoredCandidate | None) -> dict[str, Any]:
    """`id` is None, and there are no `lines`, where nothing is faster than as written."""
    measurement = best.record.measurement if best else None
    if best is None or measurement is None or not best.record.trace.steps:
        return {"text": fmt.nothing_faster(about.name), "faster": False, "id": None, "lines": []}
    return {
        "text": fmt.claim(measurement),
        "faster": measurement.verdict(margin(about.noise)) is Decision.FASTER,
        "id": best.id,
        "lines": [
            f"One call takes {fmt.reached(about.roof, measurement.candidate_ns)}.",
            *fmt.elsewhere(stored_elsewhere(about.store, best)),
        ],
    }


def _against(results: Sequence[PeerComparison]) -> dict[str, Any] | None:
    if not results:
        return None
    return {
        "title": f"Timed when this was written, {AGAINST}",
        "lines": [line.strip() for line in against_lines(results)],
        "texts": [[f"What ran as {each.peer}", each.text] for each in results if each.text],
    }


def _caveats(about: Search, best: StoredCandidate | None) -> Iterator[str]:
    """The grounds of the verdict, and the doubts."""
    run, measurement = about.run, best.record.measurement if best else None
    if measurement is not None:
        yield fmt.tested(measurement, margin(about.noise))
        if not measurement.as_written:
            yield (
                "Its speed-up is by a chain of timings; the schedule that it was timed against "
                f"was taken for {measurement.reference_speedup:.3g}x then."
            )
        if not measurement.confirmed:
            yield "It was not measured again after the search: winners of many look too good."
        if about.roof and about.roof.exceeded(measurement.candidate_ns * 1e-9):
            yield f"The best is {fmt.OVER_ROOF}."
    if about.noise is not None:
        yield fmt.noise(about.noise)
    else:
        yield "The noise of this session is not known."
    summary = RunSummary.of(run)
    if agreement := summary.reference:
        yield fmt.reference(about.workload.proc, agreement)
        yield from agreement.caveats
    yield from fmt.sanitized(summary.inspection)
    if run.status is not RunStatus.FINISHED:
        yield f"The run is {run.status.value}: there may be better schedules, none is confirmed."
    if best is not None and best.scope != run.scope:
        yield "The best is of another search of this procedure: the tree below does not have it."
    if about.workload.specialized:
        names = ", ".join(about.workload.specialized)
        yield f"The schedule is for these sizes alone: {names} are constants of it."
    yield "Speed-ups are for this machine, compiler and these sizes; others were not measured."


def _without_code(about: Search) -> Iterator[str]:
    if isinstance(about.loaded, UserError):
        yield f"Only stored C is shown: {about.loaded}"


def _circumstances(about: Search) -> Iterator[tuple[str, object]]:
    run, store = about.run, about.store
    yield "procedure", f"{about.name}, from {about.workload.source}"
    yield "machine", fmt.target(about.target)
    if run.host:
        yield "host", run.host
    host = RunEnvironment.of(run).host
    for name in ("load", "huge_pages"):
        if name in host:
            yield name.replace("_", " "), host[name]
    yield "run", f"{run.id} of {len(store.runs(run.scope))} in this tree, {run.status.value}"
    yield "started", f"{run.started_at:%Y-%m-%d %H:%M} UTC"
    if run.finished_at:
        elapsed = fmt.duration((run.finished_at - run.started_at).total_seconds())
        budget_s = run.settings.get("budget_s")
        yield "took", f"{elapsed}, of {budget_s:g} s" if budget_s else elapsed
    yield "strategy", f"{run.strategy}, seed {run.seed}"
    yield "candidates", fmt.outcomes(store.outcomes(run.scope))
    if about.roof and about.roof.least_s:
        yield "roofline", about.roof.name


def _reproduction(about: Search, best: StoredCandidate | None) -> str:
    store, source = map(shlex.quote, (about.store.name, about.workload.source))
    commands = [f"schedsearch run {source} --store {store}   # goes on where it stopped"]
    if best is not None:
        one = best.id
        commands += [
            f"schedsearch replay {one} --store {store}   # every rewrite checked by Exo again",
            f"schedsearch explain {one} --store {store}   # what each one did",
            f"schedsearch export {one} --store {store}   # the files",
            f"schedsearch pin {one} --store {store}   # kept, for schedsearch check in CI",
        ]
    return "\n".join(commands)


def _curve(about: Search) -> dict[str, list[Any]]:
    """Every timing of a candidate, the oldest first: columns `run`, `seconds` since that began,
    `candidate` (its id) and `speedup` by that timing alone."""
    began = {run.id: run.started_at for run in about.store.runs(about.scope)}
    timed = [
        each
        for each in about.store.timeline(about.scope)
        if each.kind != TimingKind.BASELINE and each.run_id in began
    ]
    return {
        "run": [each.run_id for each in timed],
        "seconds": [round((each.at - began[each.run_id]).total_seconds(), 2) for each in timed],
        "candidate": [each.candidate_id for each in timed],
        "speedup": [short(each.speedup) for each in timed],
    }


def _roof(about: Search, frozen: bool) -> dict[str, Any] | None:
    """`ceilings` are of a frozen page alone: to measure them would disturb a search that runs. None
    without a roofline; `intensity`, operations per byte, is null without arithmetic or
    traffic, and then there is no picture of it."""
    roof = about.roof
    if roof is None or not roof.least_s:
        return None
    operations = roof.compute_s * roof.peak
    moved = roof.memory_s * roof.bandwidth
    return {
        "name": roof.name,
        "least_ns": roof.least_s * 1e9,
        "peak": roof.peak,
        "unit": roof.unit,
        "kind": roof.kind,
        "bandwidth": roof.bandwidth,
        "level": roof.level,
        "ceilings": [list(each) for each in about.ceilings] if frozen else [],
        "giga_operations": operations,
        "intensity": operations / moved if operations and moved else None,
    }


def progress_data(going: Progress | None) -> dict[str, Any] | None:
    """How a search goes; None if it has ended."""
    if going is None:
        return None
    return {
        "phase": going.phase,
        "elapsed_s": going.elapsed_s,
        "budget_s": going.budget_s,
        "left": time_left(going),
        "said": fmt.counted(going),
    }
