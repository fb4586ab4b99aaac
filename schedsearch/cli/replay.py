"""`schedsearch replay` and `export`"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax

from schedsearch.cli.files import DEFAULT_FORMATS, Kernel, schedule_notes, write_schedule
from schedsearch.cli.minimal import shortened
from schedsearch.cli.options import (
    DEFAULT_OUT,
    DEFAULT_STORE,
    SHORTENING,
    FileOption,
    InstructionsOption,
    MinimalOption,
    OutOption,
    ShorteningOption,
    StoreOption,
    TargetOption,
)
from schedsearch.cli.parse import parse_formats
from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Failure, GeneratedC, Target
from schedsearch.core.text_file import write_text
from schedsearch.core.trace import Trace
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.compiler import is_installed
from schedsearch.present import format as fmt
from schedsearch.search.caveats import verification
from schedsearch.search.elsewhere import stored_elsewhere
from schedsearch.search.kept import as_recorded, load_kept, replayed, require_verified
from schedsearch.search.recorded import find_scopes
from schedsearch.search.schedule_json import schedule_json
from schedsearch.search.subject import cache_dir
from schedsearch.search.targets import read_target, resolve_target
from schedsearch.store.database import Store
from schedsearch.store.t4 import t4_results
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.contract import caveats
from schedsearch.transforms.exo_compat import generate_c

COMPILE_S = 60.0


def replay(
    candidate_id: Annotated[int, typer.Argument(metavar="ID", help="As `best` prints it.")],
    step: Annotated[
        int | None, typer.Option(min=0, help="Stop after this many rewrites. Default: all.")
    ] = None,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Apply a candidate's rewrites again, one by one, and show the procedure.

    Exo checks every step anew; at the end the generated C is compared with the
    recorded one.
    """
    with Store.open(store, create=False) as opened:
        candidate = opened.candidate(candidate_id)
        workload = opened.workload(candidate.scope)
        tuned_for = opened.target_of(candidate)
    _, procedure = load_kept(workload, file, instructions or ())
    trace = candidate.record.trace
    if step is not None and step > len(trace):
        raise UserError(f"--step {step}: candidate {candidate_id} has {len(trace)} rewrites")
    upto = Trace(trace.steps[: len(trace) if step is None else step])
    console = Console(highlight=False)
    for number, rewrite in enumerate(upto.steps, 1):
        console.print(f"{number}. {rewrite}", markup=False, soft_wrap=True)
    state = replayed(procedure, upto, tuned_for.fp)
    console.print(Syntax(str(state.procedure), "python", background_color="default"))
    if len(upto) == len(trace) and candidate.record.keys.ast:
        console.print(as_recorded(state, candidate.record.keys))
        _note_compiler(tuned_for, state.build)


def export(
    candidate_id: Annotated[
        int | None,
        typer.Argument(metavar="ID", help="Default: the best of the only procedure."),
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
        ),
    ] = ",".join(DEFAULT_FORMATS),
    minimal: MinimalOption = False,
    budget: ShorteningOption = SHORTENING,
    t4: Annotated[
        Path | None,
        typer.Option(
            "--t4",
            metavar="FILE",
            help="Write all measured candidates of the procedure in T4 format instead.",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write a schedule as standalone Exo Python (needs exo-lang only), C and header.

    With --target the C is compiled for that target first, also a foreign one (`--target
    neon`), and not written if it does not compile. It is not measured there.
    """
    wanted = parse_formats(formats)
    with Store.open(store, create=False) as opened:
        candidate = _only_best(opened) if candidate_id is None else opened.candidate(candidate_id)
        workload = opened.workload(candidate.scope)
        tuned_for = opened.target_of(candidate)
        checked = verification(opened, candidate.scope)
        if t4 is not None:
            write_text(t4, json.dumps(t4_results(opened, candidate.scope), indent=1) + "\n")
            print(t4)
            return
    require_verified(candidate)
    if minimal:
        candidate = shortened(store, candidate.id, budget, file, instructions)
    with Store.open(store, create=False) as opened:
        elsewhere = stored_elsewhere(opened, candidate)
    source, procedure = load_kept(workload, file, instructions or ())
    trace = candidate.record.trace
    measurement = candidate.record.measurement
    assert measurement is not None, "it was verified"
    state = replayed(procedure, trace, tuned_for.fp)
    code = generate_c(state.procedure, state.build)
    claim = fmt.claim(measurement) if trace.steps else fmt.AS_WRITTEN
    notes = schedule_notes(claim, checked.verdict, tuned_for, state.build, workload)
    built_for = tuned_for
    if target is not None:
        elsewhere = None
        built_for = _compiling_target(target, code, tuned_for.fp)
        built_for = replace(built_for, align=tuned_for.align)
        notes.append(f"compiles for {fmt.target(built_for)}; neither verified nor timed there")
    kernel = Kernel(state.ast, code, built_for, checked.verdict, elsewhere)
    data = schedule_json(candidate, workload, tuned_for, source.text, code)
    for path in write_schedule(out, source, workload, trace, kernel, notes, wanted, data):
        print(path)
    for caveat in (*checked.caveats, *caveats(code)):
        print(f"{code.proc} is {caveat}", file=sys.stderr)
    if target is None:
        _note_compiler(tuned_for, state.build)


def _note_compiler(tuned_for: Target, build: Build) -> None:
    """Neither command compiles, but whoever does needs the compiler that was measured."""
    compiler = tuned_for.compiler_for(build)
    if compiler is not None and not is_installed(compiler):
        print(
            f"It was built by {fmt.compiled(tuned_for, build)}; "
            f"{compiler.kind} {compiler.version} is not on PATH here.",
            file=sys.stderr,
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
        raise UserError(f"{store.name} has no verified schedule yet; run the search again")
    return found[0]


def _compiling_target(request: str, code: GeneratedC, fp: FloatingPoint) -> Target:
    """Another target that the C compiles for; raises UserError if it does not."""
    target = resolve_target(read_target(request), fp=fp)
    builder = Builder(
        target.compiler, target.flags, cache_dir() / "artifacts", target.other_compilers
    )
    built = builder.build(code, COMPILE_S)
    if isinstance(built, Failure):
        raise UserError(f"the C of this schedule does not compile for {request}:\n{built.message}")
    return target
