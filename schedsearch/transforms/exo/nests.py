"""The loop nests of a procedure as procedures of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exo.API import Procedure
from exo.core.LoopIR import LoopIR, get_reads_of_expr
from exo.core.memory import DRAM
from exo.stdlib.scheduling import extract_subproc

from schedsearch.core.build import COMPILE_WITH
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.compat import EXO_ERRORS, prepare

NEST = "_nest"


@dataclass(frozen=True)
class Nest:
    """A loop at top level, statement `place` of the body, as a procedure: what it accesses are its
    arguments. `number` counts the nests from 1."""

    number: int
    place: int
    procedure: Any

    def moved(self, trace: Trace) -> list[Rewrite]:
        """The steps of a schedule of this nest as they are for the nest in its place.

        ```
        split(factor=8) at 0.0  ->  split(factor=8) at 3.0
        ```
        """
        return [
            Rewrite(
                step.transform,
                step.version,
                (self.place + int(step.path[0]), *step.path[1:]) if step.path else (),
                step.label,
                step.args,
            )
            for step in trace.steps
        ]


def nests(procedure: Any) -> tuple[Nest, ...]:
    """The loops at top level, each as a procedure. None of a procedure with windows at top level,
    nor with arrays there that are not in memory as C has it.

    ```
    def f(n: size, x: f32[n], y: f32[n]):        def f_nest2(n: size, t: f32[n], y: f32[n]):
        t: f32[n]                                    for i in seq(0, n):
        for i in seq(0, n):                              y[i] = t[i]
            t[i] = x[i]                     ->
        for i in seq(0, n):
            y[i] = t[i]
    ```
    """
    prepare()
    found: list[Nest] = []
    for place, stmt in enumerate(procedure._loopir_proc.body):
        if isinstance(stmt, LoopIR.WindowStmt):
            return ()
        if isinstance(stmt, LoopIR.Alloc) and stmt.mem not in (None, DRAM):
            return ()
        if isinstance(stmt, LoopIR.For):
            number = len(found) + 1
            name = f"{procedure.name()}{NEST}{number}"
            try:
                _, nest = extract_subproc(
                    procedure, procedure.body()[place], name, include_asserts=False
                )
            except EXO_ERRORS:
                return ()
            found.append(Nest(number, place, _with_asserts(nest, procedure)))
    return tuple(found)


def _with_asserts(nest: Any, whole: Any) -> Any:
    """With those of the whole that are about its arguments. Exo adds the condition of any `if` that
    stands before the nest."""
    proc = nest._loopir_proc
    args = {arg.name for arg in proc.args}
    about = [
        pred
        for pred in whole._loopir_proc.preds
        if {sym for sym, _ in get_reads_of_expr(pred)} <= args
    ]
    return Procedure(proc.update(preds=about))


def together(found: list[tuple[Nest, Trace]]) -> list[Trace]:
    """Schedules of several nests as schedules of their procedure: one compiled by default, and one
    for each choice of compilation that a nest was fastest with.

    The last nest is rewritten first: the places of those before stay as they are.
    """
    ordered = sorted(found, key=lambda item: item[0].place, reverse=True)
    steps = [step for nest, trace in ordered for step in nest.moved(trace)]
    plain = Trace(tuple(step for step in steps if step.transform != COMPILE_WITH))
    variants = dict.fromkeys(step for step in steps if step.transform == COMPILE_WITH)
    return [trace for trace in (plain, *map(plain.then, variants)) if trace.steps]
