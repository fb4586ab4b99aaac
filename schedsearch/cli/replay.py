"""`schedsearch replay` and `export`"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax

from schedsearch.api.exporting import export_schedule
from schedsearch.cli import completing
from schedsearch.cli.options import (
    DEFAULT_OUT,
    DEFAULT_STORE,
    INTERRUPTED,
    OUTPUT,
    SHORTENING,
    CandidateArgument,
    FileOption,
    InstructionsOption,
    JsonOption,
    MinimalOption,
    OutOption,
    ShorteningOption,
    StoreOption,
    TargetOption,
)
from schedsearch.cli.parse import parse_id, parse_seconds
from schedsearch.cli.telling import say
from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Failure, GeneratedC, Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import is_installed
from schedsearch.present import format as fmt
from schedsearch.present.files import DEFAULT_FORMATS, parse_formats
from schedsearch.search.lookup import find_scopes
from schedsearch.search.reloading import require_verified
from schedsearch.search.setup.subject import cache_dir
from schedsearch.search.setup.targets import read_target, resolve_target
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.study.minimise import Minimised, minimise
from schedsearch.study.schedule import Schedule, opened


def replay(
    candidate_id: CandidateArgument,
    step: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Stop after this many rewrites. Default: all."),
    ] = None,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Apply a candidate's rewrites again, one by one, and show the procedure.

    Exo checks every step anew; at the end the generated C is compared with the
    recorded one.
    """
    with opened(store, candidate_id, file, instructions) as schedule:
        trace = schedule.trace
    if step is not None and step > len(trace):
        raise UserError(
            f"--step {step}: candidate {candidate_id} has {len(trace)} rewrites; give no more"
        )
    upto = trace.prefixes[len(trace) if step is None else step]
    state = schedule.replayed(upto)
    console = Console(highlight=False)
    for number, rewrite in enumerate(upto.steps, 1):
        console.print(f"{number}. {rewrite}", markup=False, soft_wrap=True)
    console.print(Syntax(str(state.procedure), "python", background_color="default"))
    if upto == trace and schedule.stored.record.keys.ast:
        console.print(schedule.as_recorded())
        _note_compiler(schedule.target, state.build)


def export(
    candidate_id: Annotated[
        int | None,
        typer.Argument(
            metavar="ID",
            help="Default: the best of the only procedure.",
            parser=parse_id,
            autocompletion=completing.candidates,
        ),
    ] = None,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    target: TargetOption = None,
    out: OutOption = DEFAULT_OUT,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="A,B,...",
            help="What to write: py (Exo), c (with header), json (the trace, and all it takes to "
            "build it again).",
            rich_help_panel=OUTPUT,
        ),
    ] = ",".join(DEFAULT_FORMATS),
    minimal: MinimalOption = False,
    budget: ShorteningOption = SHORTENING,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Write a schedule as standalone Exo Python (needs exo-lang only), C and header.

    With --target the C is compiled for that target first, also a foreign one (`--target
    neon`), and not written if it does not compile. It is not measured there.
    """
    wanted, seconds = parse_formats(formats), parse_seconds(budget)
    with Store.open(store, create=False) as opened_store:
        if candidate_id is None:
            candidate = _only_best(opened_store)
        else:
            candidate = opened_store.candidate(candidate_id)
        schedule = Schedule.of(opened_store, candidate, file, instructions or ())
        if minimal:
            require_verified(candidate)
            schedule = _shortened(schedule, seconds)
        tuned_for = schedule.target

        def compiling(code: GeneratedC) -> Target:
            assert target is not None, "it is asked for"
            found = _compiling_target(target, code, tuned_for.fp)
            return replace(found, align=tuned_for.align)

        files = export_schedule(schedule, out, wanted, compiling if target else None)
    if json_:
        paths = [str(path) for path in files.paths]
        found = {"schema": 1, "candidate": schedule.id, "files": paths}
        print(json.dumps(found | {"caveats": list(files.caveats)}, indent=2))
    else:
        for path in files.paths:
            print(path)
    for caveat in files.caveats:
        say(f"{files.code.proc} is {caveat}")
    if target is None:
        _note_compiler(tuned_for, schedule.state.build)


def _shortened(schedule: Schedule, seconds: float) -> Schedule:
    """The shortest schedule that is as fast as this one."""
    console = Console(stderr=True, highlight=False)

    def tell(text: str) -> None:
        console.print(f"{text} ...", markup=False, soft_wrap=True)

    try:
        # The user's file may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr):
            found = minimise(schedule, seconds, tell)
    except KeyboardInterrupt:
        say("interrupted before the shorter schedule was confirmed")
        raise typer.Exit(INTERRUPTED) from None
    console.print(_left_out(found), markup=False, soft_wrap=True)
    return replace(schedule, stored=found.shortest)


def _left_out(found: Minimised) -> str:
    before, after = len(found.original.record.trace), len(found.shortest.record.trace)
    measurement = found.shortest.record.measurement
    assert measurement is not None, "it was measured"
    if found.shortest.id == found.original.id:
        return f"candidate {found.original.id}: no rewrite can be left out"
    against = "the same C"
    if found.against is not None:
        against = f"{fmt.speedup(found.against.ratio)} the speed of candidate {found.original.id}"
    return (
        f"candidate {found.shortest.id}: {after} of {before} rewrites, {against}; "
        f"{fmt.claim(measurement)}"
    )


def _note_compiler(tuned_for: Target, build: Build) -> None:
    """Neither command compiles; the caller needs the compiler that was measured."""
    compiler = tuned_for.compiler_for(build)
    if compiler is not None and not is_installed(compiler):
        say(
            f"It was built by {fmt.compiled(tuned_for, build)}; "
            f"{compiler.kind} {compiler.version} is not on PATH here."
        )


def _only_best(store: Store) -> StoredCandidate:
    scopes = find_scopes(store, None)
    if len(scopes) > 1:
        raise UserError(
            f"{store.name} has several procedures; name a candidate: schedsearch export ID "
            "(`schedsearch best` prints the IDs)"
        )
    found = store.best(scopes[0], 1)
    if not found:
        raise UserError(
            f"{store.name} has no verified schedule yet; search longer: "
            "`schedsearch run FILE --budget 10m`"
        )
    return found[0]


def _compiling_target(request: str, code: GeneratedC, fp: FloatingPoint) -> Target:
    """Another target that the C compiles for; raises UserError if it does not."""
    target = resolve_target(read_target(request), fp=fp)
    builder = Builder(
        target.compiler, target.flags, cache_dir() / "artifacts", target.other_compilers
    )
    built = builder.build(code, BUILD_TIMEOUT_S)
    if isinstance(built, Failure):
        raise UserError(f"the C of this schedule does not compile for {request}:\n{built.message}")
    return target
