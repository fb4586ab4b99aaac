"""A schedule carried elsewhere is the same schedule: as text, as a file for plain Exo, and
without what makes Exo faster here."""

from __future__ import annotations

from pathlib import Path

from transforms.verdicts import disagreements, sample

from fuzz.schedules import Step
from schedsearch.analysis.walkers import statement_count
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import Source, import_file
from schedsearch.transforms.exo.speed import exo_as_is
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.replay import Replayer, State

ASKED = 2
"""Proposals of a state that Exo is asked about with and without `exo/speed`."""

STATEMENTS = 30
"""Of larger states Exo as it is takes too long."""


def differences(source: Source, step: Step, folder: Path) -> list[str]:
    """What is not the same of the schedule that `step` ends."""
    found = [*_read_again(source, step), *_exported(source, step, folder)]
    state = step.state
    if statement_count(state.ast.body) <= STATEMENTS:
        asked = sample(state, len(step.trace), ASKED)
        found += [f"with exo_speed, {line}" for line in disagreements(state, asked)]
    return found


def _read_again(source: Source, step: Step) -> list[str]:
    text = step.trace.dumps()
    trace = Trace.loads(text)
    if trace != step.trace or trace.dumps() != text or trace.key != step.trace.key:
        return [f"read again, the trace is {trace}"]
    state = Replayer(source.procs["fuzzed"]).state(trace)
    if ast_key(state.ast, state.build) != step.key or _code(state) != _code(step.state):
        return [f"replayed, it is\n{state.procedure}\nand was\n{step.state.procedure}"]
    return []


def _exported(source: Source, step: Step, folder: Path) -> list[str]:
    path = folder / f"exported_{step.key}.py"
    path.write_text(schedule_python(source, "fuzzed", step.trace))
    with exo_as_is():
        procedure = import_file(path).fuzzed_scheduled
    exported = State(procedure, step.state.ast, step.state.build)
    if _code(exported) != _code(step.state):
        return [f"exported, it is\n{procedure}\nand was\n{step.state.procedure}"]
    return []


def _code(state: State) -> str:
    return generate_c(state.procedure, state.build).key
