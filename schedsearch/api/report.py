"""One HTML file about one run, for people who were not there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedsearch import __version__
from schedsearch.api.searched import Search
from schedsearch.api.tree import shown_tree
from schedsearch.core.decision import Decision
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.records import Measurement, PeerComparison, RunStatus
from schedsearch.core.text_file import write_text
from schedsearch.present import format as fmt
from schedsearch.present import html, page
from schedsearch.present.against import AGAINST, against_lines
from schedsearch.present.extras import library
from schedsearch.present.files import require_folder
from schedsearch.present.html import tag
from schedsearch.search.engine.ending import margin
from schedsearch.search.lookup import stored_elsewhere
from schedsearch.search.setup.run_summary import RunEnvironment, RunSummary
from schedsearch.transforms.export import schedule_python


def write_report(about: Search, path: Path, against: Sequence[PeerComparison] = ()) -> Path:
    """The page of `report` as a file. Raises UserError as that does, and if it cannot be
    written; that its directory is there is checked first."""
    require_folder("--out", path)
    write_text(path, report(about, against))
    return path


def report(about: Search, against: Sequence[PeerComparison] = ()) -> str:
    """The page, with what the best was compared with.

    Raises UserError if there is nothing to show, or no Plotly to draw it.
    """
    shown = shown_tree(about.store, about.scope, about.target, about.procedure)
    plot = about.plot
    drawn = {
        "convergence": plot.convergence(),
        "gains": plot.gains(),
        "arguments": plot.arguments(),
        "roofline": plot.roofline(),
        "outcomes": plot.outcomes(),
        "stages": plot.stage_times(),
    }
    figures = {name: json.loads(figure.to_json()) for name, figure in drawn.items() if figure}
    title = f"{about.name}: run {about.run.id}"
    body = [
        tag("h1", title),
        *_verdict(about),
        *_against(against),
        tag("h2", "Can it be trusted?"),
        page.items(_caveats(about), "caveats"),
        tag("h2", "What was tuned, where"),
        page.facts(list(_circumstances(about))),
        *_schedule(about),
        tag("h2", "The search"),
        *map(page.figure, figures),
        tag("h2", "The search tree"),
        page.tree("tree"),
        tag("h2", "To reproduce it"),
        *_reproduction(about),
        tag("p", f"Written by schedsearch {__version__} from {about.store.name}.", class_="note"),
    ]
    return page.page(title, body, {**figures, "tree": shown}, library())


def _measured(about: Search) -> Measurement | None:
    return about.best.record.measurement if about.best else None


def _verdict(about: Search) -> Iterator[object]:
    measurement = _measured(about)
    if about.best is None or measurement is None or not about.best.record.trace.steps:
        yield tag("p", fmt.nothing_faster(about.name), class_="verdict")
        return
    clearly = measurement.verdict(margin(about.noise)) is Decision.FASTER
    colour = html.GREEN if clearly else html.GREY
    yield tag("p", html.strong(fmt.claim(measurement), colour), class_="verdict")
    yield tag("p", f"One call takes {fmt.reached(about.roof, measurement.candidate_ns)}.")
    for line in fmt.elsewhere(stored_elsewhere(about.store, about.best)):
        yield tag("p", line)
    yield html.measurement(measurement)


def _against(results: Sequence[PeerComparison]) -> Iterator[object]:
    if results:
        yield tag("h2", "What could be used instead")
        yield tag("p", f"Timed when this was written, {AGAINST}:")
        yield page.items([line.strip() for line in against_lines(results)])
    for each in results:
        if each.text:
            yield html.folded(f"What ran as {each.peer}", tag("pre", each.text))


def _indirect(measurement: Measurement) -> str:
    own = f"{measurement.reference_speedup:.3g}x"
    return (
        "Its speed-up is by a chain of timings; the schedule that it was timed against was taken "
        f"for {own} then."
    )


def _caveats(about: Search) -> Iterator[str]:
    """The grounds of the verdict, and the doubts."""
    run, measurement = about.run, _measured(about)
    if measurement is not None:
        yield fmt.tested(measurement, margin(about.noise))
        if not measurement.as_written:
            yield _indirect(measurement)
        if not measurement.confirmed:
            yield "It was not measured again after the search: winners of many look too good."
        if about.roof and about.roof.exceeded(measurement.candidate_ns * 1e-9):
            yield f"The best is {fmt.OVER_ROOF}."
    if about.noise is not None:
        yield fmt.noise(about.noise)
    else:
        yield "The noise of this session is not known."
    yield from _examined(about.workload.proc, RunSummary.of(run))
    if run.status is not RunStatus.FINISHED:
        yield f"The run is {run.status.value}: there may be better schedules, none is confirmed."
    if about.best is not None and about.best.scope != run.scope:
        yield "The best is of another search of this procedure: the tree below does not have it."
    if about.workload.specialized:
        names = ", ".join(about.workload.specialized)
        yield f"The schedule is for these sizes alone: {names} are constants of it."
    yield "Speed-ups are for this machine, compiler and these sizes; others were not measured."
    if isinstance(about.loaded, UserError):
        yield f"Code is not shown: {about.loaded}"


def _examined(proc: str, summary: RunSummary) -> Iterator[str]:
    """A run's summary of the procedure as written, and of its winner."""
    if agreement := summary.reference:
        yield fmt.reference(proc, agreement)
        yield from agreement.caveats
    yield from fmt.sanitized(summary.inspection)


def _circumstances(about: Search) -> Iterator[tuple[object, object]]:
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
        yield "roof", about.roof.name


def _schedule(about: Search) -> Iterator[object]:
    if about.best is None:
        return
    trace = about.best.record.trace
    yield tag("h2", "The best schedule")
    yield html.trace(trace)
    if not isinstance(about.loaded, UserError):
        source, workload = about.loaded[0], about.workload
        try:
            python = schedule_python(source, workload.proc, trace, [], workload.fixed)
        except RewriteError as error:
            yield tag("p", f"It does not replay with this version: {error}")
        else:
            yield html.folded("As Exo Python, which needs exo-lang only", tag("pre", python))
    if code := about.store.code(about.best.record.keys.code or ""):
        yield html.folded("C, as measured", tag("pre", code.source))


def _reproduction(about: Search) -> Iterator[object]:
    store, source = map(shlex.quote, (about.store.name, about.workload.source))
    commands = [f"schedsearch run {source} --store {store}   # goes on where it stopped"]
    if about.best is not None:
        one = about.best.id
        commands += [
            f"schedsearch replay {one} --store {store}   # every rewrite checked by Exo again",
            f"schedsearch explain {one} --store {store}   # what each one did",
            f"schedsearch export {one} --store {store}   # the files",
            f"schedsearch pin {one} --store {store}   # kept, for schedsearch check in CI",
        ]
    yield tag("pre", "\n".join(commands))
