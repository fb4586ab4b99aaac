"""One HTML file about one run, for people who were not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.api import pictures
from schedsearch.api.details import details, interesting
from schedsearch.api.tree_data import tree_data
from schedsearch.core import html
from schedsearch.core.decision import Decision
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.records import Measurement, Target, Workload
from schedsearch.evaluate.agreement import Agreement
from schedsearch.evaluate.roofline import Roof
from schedsearch.evaluate.sanitize import Check, Finding
from schedsearch.present import format as fmt
from schedsearch.present import page
from schedsearch.search.closing import margin
from schedsearch.search.kept import load_kept
from schedsearch.search.recorded import find_scopes, stored_roof
from schedsearch.store.database import Store
from schedsearch.store.schema import RunStatus
from schedsearch.store.views import Run, StoredCandidate
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.loader import Source


def find_run(store: Store, wanted: str | None) -> Run:
    """The run with this id, or the latest one of the procedure with this name, or the latest.
    Raises UserError if there is none."""
    if wanted is not None and wanted.isdigit():
        found = [run for run in store.runs() if run.id == int(wanted)]
        if not found:
            raise UserError(f"no run {wanted} in {store.name}; `schedsearch list --json` has them")
        return found[0]
    runs = [run for scope in find_scopes(store, wanted) for run in store.runs(scope)]
    return max(runs, key=lambda run: run.id)


@dataclass(frozen=True)
class Subject:
    """What a report is about. `source` and `procedure` are None if the file they were tuned
    from is not there; `missing` then says so."""

    store: Store
    run: Run
    source: Source | None
    procedure: Any
    missing: str

    @cached_property
    def workload(self) -> Workload:
        return self.store.workload(self.run.scope)

    @cached_property
    def target(self) -> Target:
        return self.store.target(self.run.scope)

    @cached_property
    def roof(self) -> Roof | None:
        return stored_roof(self.store, self.run.scope)

    @cached_property
    def best(self) -> StoredCandidate | None:
        """The fastest of all searches of this procedure here, in `measurement` with its time."""
        return next(iter(self.store.best(self.run.scope, 1)), None)

    @property
    def measurement(self) -> Measurement | None:
        return self.best.record.measurement if self.best else None

    @property
    def noise(self) -> Measurement | None:
        found = (self.run.summary or {}).get("noise")
        return Measurement.from_json(found) if found else None

    @property
    def name(self) -> str:
        sizes = fmt.sizes(self.workload.sizes, self.workload.specialized)
        return f"{self.workload.proc} ({sizes})" if sizes else self.workload.proc


def subject(store: Store, run: Run, file: Path | None = None) -> Subject:
    """`file` is where the procedure is now, if it has moved."""
    try:
        source, procedure = load_kept(store.workload(run.scope), file)
    except UserError as error:
        if file is not None:
            raise
        return Subject(store, run, None, None, str(error))
    return Subject(store, run, source, procedure, "")


def report(about: Subject) -> str:
    """The page. Raises UserError if there is nothing to show, or no Plotly to draw it."""
    store, scope = about.store, about.run.scope
    if store.counts(scope)[0] == 0:
        raise UserError(f"run {about.run.id} of {store.name} ended before it tried anything")
    shown = details(interesting(store, scope), about.target, about.procedure)
    data: dict[str, Any] = {"tree": tree_data(store, scope, shown)}
    drawn = {
        "convergence": pictures.convergence(store, scope),
        "usefulness": pictures.usefulness(store, scope),
        "arguments": pictures.arguments(store, scope),
        "roofline": pictures.roofline(store, scope, about.roof) if about.roof else None,
        "outcomes": pictures.outcomes(store, scope),
        "stages": pictures.stage_times(store, scope),
    }
    data |= {name: json.loads(figure.to_json()) for name, figure in drawn.items() if figure}
    title = f"{about.name}: run {about.run.id}"
    body = [
        page.title(title),
        *_verdict(about),
        page.heading("Can it be trusted?"),
        page.items(_caveats(about), "caveats"),
        page.heading("What was tuned, where"),
        page.facts(list(_circumstances(about))),
        *_schedule(about),
        page.heading("The search"),
        *(page.figure(name) for name in data if name != "tree"),
        page.heading("The search tree"),
        page.tree("tree"),
        page.heading("To reproduce it"),
        *_reproduction(about),
        page.paragraph(f"Written by schedsearch {__version__} from {store.name}.", "note"),
    ]
    return page.page(title, body, data, pictures.library())


def _verdict(about: Subject) -> Iterator[object]:
    measurement = about.measurement
    if about.best is None or measurement is None or not about.best.record.trace.steps:
        yield page.paragraph(
            f"No schedule faster than {about.name} as written was found.", "verdict"
        )
        return
    decision = measurement.decision(margin(about.noise))
    colour = html.GREEN if decision is Decision.FASTER else html.RED
    yield page.paragraph(html.strong(fmt.claim(measurement), colour), "verdict")
    yield page.paragraph(f"One call takes {fmt.reached(about.roof, measurement.candidate_ns)}.")
    yield html.measurement(measurement)


def _caveats(about: Subject) -> Iterator[str]:
    """What the verdict rests on, and what speaks against it."""
    run, summary, measurement = about.run, about.run.summary or {}, about.measurement
    if measurement is not None:
        decision = measurement.decision(margin(about.noise))
        yield fmt.decided(decision, len(measurement.rounds))
        if measurement.kind != "confirm":
            yield "It was not measured again after the search: winners of many look too good."
        if about.roof and about.roof.exceeded(measurement.candidate_ns * 1e-9):
            yield f"The best is {fmt.OVER_ROOF}."
    if about.noise is not None:
        yield fmt.noise(about.noise)
    else:
        yield "The noise of this session is not known."
    if reference := summary.get("reference"):
        skipped = tuple((where, why) for where, why in reference["skipped"])
        agreement = Agreement(tuple(reference["cases"]), skipped)
        yield f"{about.workload.proc} as written, compiled, {agreement}."
    for what, found, detail in (summary.get("inspection") or {}).get("checks", ()):
        yield f"Sanitizers, {Check(what, Finding(found), detail)}."
    if run.status is not RunStatus.FINISHED:
        yield f"The run is {run.status.value}: there may be better schedules, none is confirmed."
    if about.best is not None and about.best.scope != run.scope:
        yield "The best is of another search of this procedure: the tree below does not have it."
    if about.workload.specialized:
        names = ", ".join(about.workload.specialized)
        yield f"The schedule is for these sizes alone: {names} are constants of it."
    yield "Speed-ups are for this machine, compiler and these sizes; others were not measured."
    if about.missing:
        yield f"Code is not shown: {about.missing}"


def _circumstances(about: Subject) -> Iterator[tuple[object, object]]:
    run, store = about.run, about.store
    yield "procedure", f"{about.name}, from {about.workload.source}"
    yield "machine", fmt.target(about.target)
    if run.host:
        yield "host", run.host
    for name in ("load", "huge_pages"):
        if name in run.environment:
            yield name.replace("_", " "), run.environment[name]
    yield "run", f"{run.id} of {len(store.runs(run.scope))} in this tree, {run.status.value}"
    yield "started", f"{run.started_at:%Y-%m-%d %H:%M} UTC"
    if run.finished_at:
        elapsed = fmt.duration((run.finished_at - run.started_at).total_seconds())
        yield "took", f"{elapsed}, with {run.settings.get('budget_s', 0):g} s to search"
    yield "strategy", f"{run.strategy}, seed {run.seed}"
    yield "candidates", fmt.outcomes(store.outcomes(run.scope))
    if about.roof and about.roof.least_s:
        yield "roof", about.roof.name


def _schedule(about: Subject) -> Iterator[object]:
    if about.best is None:
        return
    trace = about.best.record.trace
    yield page.heading("The best schedule")
    yield html.trace(trace)
    if about.source is not None:
        workload = about.workload
        try:
            python = schedule_python(about.source, workload.proc, trace, [], workload.fixed)
        except RewriteError as error:
            yield page.paragraph(f"It does not replay with this version: {error}")
        else:
            yield html.folded("As Exo Python, which needs exo-lang only", page.preformatted(python))
    if code := about.store.code(about.best.record.keys.code or ""):
        yield html.folded("C, as measured", page.preformatted(code.source))


def _reproduction(about: Subject) -> Iterator[object]:
    store, source = about.store.name, about.workload.source
    commands = [f"schedsearch run {source} --store {store}   # goes on where it stopped"]
    if about.best is not None:
        one = about.best.id
        commands += [
            f"schedsearch replay {one} --store {store}   # every rewrite checked by Exo again",
            f"schedsearch explain {one} --store {store}   # what each one did",
            f"schedsearch export {one} --store {store}   # the files",
            f"schedsearch pin {one} --store {store}   # kept, for schedsearch check in CI",
        ]
    yield page.preformatted("\n".join(commands))
