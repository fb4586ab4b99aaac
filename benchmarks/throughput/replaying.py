"""One schedule of a fast matrix product: how long it takes from the root, and how long one
more rewrite takes where its parent is known.

The schedule: of the packed register blocks that are proposed for the naive nest, the one
with the lowest estimated cost. Nothing is looked up or measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.suite.catalogue import CASES
from schedsearch.core.errors import CodegenError, RewriteError, UserError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.setup.subject import Subject
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.registry import apply, carry_out, propose, select
from schedsearch.transforms.replay import Replayer

(GEMM,) = (case for case in CASES if case.name == "gemm_nn")


@dataclass(frozen=True)
class Replayed:
    """Seconds of CPU: `first_s` from the root in a process that has not done it before,
    `again_s` once more on a fresh copy of the procedure, `codegen_s` for its C."""

    operators: int
    first_s: float
    again_s: float
    codegen_s: float


@dataclass(frozen=True)
class Step:
    """One more rewrite, with its keys (`apply_s`: without), from a parent that is cached."""

    transform: str
    seconds: float
    apply_s: float


def fast_schedule() -> Trace:
    """The schedule of this part. Raises UserError if no block is packed on this target."""
    subject = GEMM.load()
    replayer = Replayer(subject.procedure)
    found = []
    for rewrite in propose(replayer.state(Trace()).ast, subject.target, select(["register_block"])):
        if rewrite.arg("pack"):
            trace = Trace((rewrite,))
            found.append((log_cost(replayer.state(trace).ast, subject.target, {}), trace))
    if not found:
        raise UserError(f"no packed register block is proposed for {GEMM.name} on this target")
    return min(found, key=lambda item: item[0])[1]


def replay_once(trace: Trace) -> Replayed:
    """For a fresh process: nothing that Exo or z3 were asked before is remembered."""
    first = GEMM.load()
    (rewrite,) = trace.steps
    first_s, _ = _replay(first, trace)
    again_s, state = _replay(GEMM.load(), trace)
    start = time.process_time()
    generate_c(state.procedure)
    codegen_s = time.process_time() - start
    operators = len(list(carry_out(first.procedure, first.ast, rewrite)))
    return Replayed(operators, first_s, again_s, codegen_s)


def _replay(subject: Subject, trace: Trace) -> tuple[float, Any]:
    replayer = Replayer(subject.procedure)
    start = time.process_time()
    state = replayer.state(trace)
    return time.process_time() - start, state


def one_more(trace: Trace) -> list[Step]:
    """Every legal rewrite of the schedule that changes the procedure."""
    subject = GEMM.load()
    state = Replayer(subject.procedure).state(trace)
    target = replace(subject.target, build=state.build)
    steps = (_step(state, rewrite) for rewrite in propose(state.ast, target, select(None)))
    return [step for step in steps if step is not None]


def _step(state: Any, rewrite: Rewrite) -> Step | None:
    replayer = Replayer(state.procedure)
    start = time.process_time()
    try:
        procedure = apply(state.procedure, state.ast, rewrite)
        applied = time.process_time()
        if procedure is state.procedure:
            return None  # only built otherwise
        ast_key(replayer.remember(Trace((rewrite,)), procedure, 0.0).ast)
        generate_c(procedure)
    except (RewriteError, CodegenError):
        return None
    return Step(rewrite.transform, time.process_time() - start, applied - start)
