"""Replay: stops at the exact step, and its cache is invisible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import z3

from schedsearch.core.errors import ReplayError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms import replay
from schedsearch.transforms.exo.compat import PATIENT_STEPS, SOLVER_STEPS, generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.registry import apply
from schedsearch.transforms.replay import Replayer
from transforms.helpers import kernels, walk


def rewrite(transform: str, path: tuple[int, ...], label: str, **args: int | str) -> Rewrite:
    return Rewrite(transform, 1, path, label, tuple(sorted(args.items())))


SPLIT = rewrite(
    "split", (0,), "for i in seq(0, 6)", factor=2, tail="perfect", outer="io", inner="ii"
)
UNROLL = rewrite("unroll", (0, 0), "for ii in seq(0, 2)")
REORDER = rewrite("reorder", (0, 0), "for j in seq(0, 8)")


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (replace(UNROLL, label="for ii in seq(0, 4)"), "expected `for ii in seq\\(0, 4\\)`"),
        (replace(UNROLL, transform="teleport"), "unknown transform 'teleport'"),
        (replace(UNROLL, version=7), "unroll is at version 1 here, the trace needs version 7"),
        (replace(UNROLL, path=(0, 5)), "there is no such statement"),
        (replace(UNROLL, path=(0, "e", 0)), "there is no such statement"),
        (replace(UNROLL, path=()), "expected `for ii in seq\\(0, 2\\)` there, found `procedure`"),
        (replace(SPLIT, path=(0, 0), label=UNROLL.label, args=()), "argument 'tail' is missing"),
        (
            replace(
                SPLIT, path=(0, 0), label=UNROLL.label, args=(("factor", "x"), *SPLIT.args[1:])
            ),
            "divide_loop",
        ),
        (
            replace(SPLIT, path=(0, 0), label=UNROLL.label, args=(("factor", 0), *SPLIT.args[1:])),
            "divide_loop",
        ),
    ],
)
def test_stops_at_the_exact_step(broken: Rewrite, cause: str) -> None:
    replayer = Replayer(kernels()["matmul"])
    with pytest.raises(ReplayError, match=cause) as caught:
        replayer.state(Trace((SPLIT, broken, REORDER)))
    assert caught.value.step == 1
    assert str(caught.value).startswith(f"step 2 ({broken}): ")
    assert replayer.state(Trace((SPLIT, UNROLL))).ast.body[0].extent == 3


def test_the_empty_trace_is_the_procedure() -> None:
    procedure = kernels()["matmul"]
    assert Replayer(procedure).state(Trace()).procedure is procedure


@pytest.mark.normal
def test_the_cache_is_bounded_and_invisible() -> None:
    procedure = kernels()["conv"]
    traces = [trace for seed in range(2) for trace, _ in walk(procedure, seed, 4)]
    small, some, large = Replayer(procedure, limit=1), Replayer(procedure, 40), Replayer(procedure)

    def keys(replayer: Replayer, order: list[Trace]) -> dict[str, tuple[str, str]]:
        found = {}
        for trace in order:
            state = replayer.state(trace)
            found[trace.key] = ast_key(state.ast), generate_c(state.procedure).key
        return found

    first = keys(large, traces)
    assert keys(small, traces[::-1]) == first
    assert keys(large, traces[::-1]) == first
    assert keys(some, traces + traces[::-1]) == first
    assert len(small._cache) == 1
    assert 1 < len(some._cache) < len(large._cache)
    for replayer in (some, large):
        held = sum(len(state.ast.by_path) for state in replayer._cache.values())
        assert replayer._held == held <= replayer.limit


def test_children_start_at_a_remembered_parent() -> None:
    replayer = Replayer(kernels()["matmul"])
    parent = replayer.state(Trace((SPLIT,)))
    replayer.state(Trace((SPLIT, UNROLL)))
    assert replayer.state(Trace((SPLIT,))) is parent


def test_the_solver_has_more_time_for_what_was_accepted_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Symbols have other numbers in each process, and questions take more or fewer steps."""
    limits = []

    def noted(*arguments: Any) -> Any:
        limits.append(z3.get_param("rlimit"))
        return apply(*arguments)

    monkeypatch.setattr(replay, "apply", noted)
    Replayer(kernels()["matmul"]).state(Trace((SPLIT, UNROLL)))
    assert limits == [str(PATIENT_STEPS)] * 2
    assert z3.get_param("rlimit") == str(SOLVER_STEPS)
    assert PATIENT_STEPS > SOLVER_STEPS
