"""Children of a schedule, made in portions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome, Target
from schedsearch.core.text import header
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms import expand
from schedsearch.transforms.children import Child, merge
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.promises import Promises
from schedsearch.transforms.registry import Transform, carry_out, propose, select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, kernels, source


class Clock:
    """Every look at it takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


def test_portions_make_all_children_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "time", Clock())

    def expander() -> Expander:
        return Expander(Replayer(kernels()["matmul"]), TARGET, select(["reorder", "split"]), {})

    whole = expander().expand(Trace())
    assert whole.left == 0
    by_portions, children = expander(), list[Child]()
    left = len(whole.children)
    while left:
        made = [child.rewrite for child in children]
        portion = by_portions.expand(Trace(), made=made, patience_s=0.0)
        assert 1 <= len(portion.children) < len(whole.children)
        assert portion.left == left - len(portion.children)
        children += portion.children
        left = portion.left
    key = {child.rewrite: child.keys for child in whole.children}
    assert {child.rewrite: child.keys for child in children} == key
    assert len(children) == len(key)


def test_a_portion_takes_no_less_time_than_its_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a procedure with very many would be searched for them again for every child."""
    clock = Clock()
    monkeypatch.setattr(expand, "time", clock)
    slow_s = 10.0

    def slow(*args: Any) -> Iterator[Rewrite]:
        clock.now += slow_s
        return propose(*args)

    monkeypatch.setattr(expand, "propose", slow)
    expander = Expander(Replayer(kernels()["matmul"]), TARGET, select(["reorder", "split"]), {})
    portion = expander.expand(Trace(), patience_s=1.0)
    seconds = dict(portion.stage_s)
    assert seconds["propose"] > slow_s
    assert portion.left > 0
    assert sum(seconds[stage] for stage in ("rewrite", "ast_key")) > slow_s / 2


@pytest.mark.normal
def test_the_way_to_the_normal_form_is_followed_to_its_end() -> None:
    alphabet = select(["interchange_triangle", "cut_triangle", "reorder"])
    procedure = source("triangles").procs["rows_above"]
    expander = Expander(Replayer(procedure), TARGET, alphabet, {"n": 32, "m": 8})
    way = expander.normalise(60.0)
    names = [each.rewrite.transform for each in way.steps]
    assert names == ["interchange_triangle", "cut_triangle", "cut_triangle"]
    assert all(each.outcome is None and each.keys.ast for each in way.steps)
    assert [each.made is not None for each in way.steps] == [False, False, True]
    (found,) = (c for c in expander.expand(Trace()).children if c.rewrite == way.steps[0].rewrite)
    assert found.keys == way.steps[0].keys
    later = expander.normalise(60.0, Trace(tuple(each.rewrite for each in way.steps[:2])))
    assert [each.rewrite for each in later.steps] == [each.rewrite for each in way.steps[2:]]


@pytest.mark.normal
def test_the_normal_form_has_threads_where_they_pay() -> None:
    """Each loop over panels or rows of them that no other thread writes, but not for few rows."""
    two = replace(TARGET, threads=2, cores=2, vector_bits=512, vector_registers=32)
    procedure = source("blocks").procs["product"]

    def shared(target: Target, **sizes: int) -> list[q.Stmt]:
        replayer = Replayer(procedure)
        way = Expander(replayer, target, select(["block_all", "parallelize"]), sizes).normalise(
            60.0
        )
        done = replayer.state(Trace(tuple(each.rewrite for each in way.steps))).ast
        assert way.steps[0].rewrite.transform == "block_all"
        return [each for each in q.walk(done.body) if isinstance(each, q.For) and each.parallel]

    panels, *_ = shared(two, M=500, N=500, K=500)
    assert panels.path == (0,)
    assert len(shared(two, M=500, N=500, K=500)) > 1  # the last columns, too
    assert all(each.extent or "%" not in header(each) for each in (panels, *_))
    assert shared(two, M=20, N=20, K=20) == []
    assert shared(TARGET, M=500, N=500, K=500) == []


@pytest.mark.normal
def test_a_way_to_threads_that_exo_makes_no_c_of_ends_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What looked too dear is tried once, and keeps its estimate for a later expansion."""
    target = replace(TARGET, threads=2, cores=2)
    procedure = source("blocks").procs["product"]
    sizes = {"M": 500, "N": 500, "K": 500}
    alphabet = select(["block_all", "parallelize"])
    expander = Expander(Replayer(procedure), target, alphabet, sizes)
    monkeypatch.setattr(
        expander, "_make", lambda trace, state: None if on_threads(state.ast) else object()
    )
    way = expander.normalise(60.0)
    assert [each.rewrite.transform for each in way.steps] == ["block_all"]
    assert way.steps[0].made is not None
    small = Expander(Replayer(procedure), target, alphabet, dict.fromkeys("MNK", 20))
    done = Trace(tuple(each.rewrite for each in small.normalise(60.0).steps))
    children = small.expand(done).children
    threads = [each for each in children if each.rewrite.transform == "parallelize"]
    assert threads
    assert all(each.predicted is not None and each.predicted <= 0 for each in threads)


def on_threads(proc: q.Proc) -> bool:
    return any(isinstance(each, q.For) and each.parallel for each in q.walk(proc.body))


def test_what_comes_later_is_proposed_when_it_is_needed() -> None:
    asked: list[str] = []

    def noting(each: Transform) -> Transform:
        def propose(proc: q.Proc, target: Target) -> Any:
            asked.append(each.name)
            return each.propose(proc, target)

        return replace(each, propose=propose)

    alphabet = [noting(each) for each in select(["cut_triangle", "interchange_triangle"])]
    expander = Expander(Replayer(source("triangles").procs["rows_above"]), TARGET, alphabet, {})
    taken = [step.rewrite.transform for step in expander.normalise(60.0).steps]
    assert taken[:2] == ["interchange_triangle", "cut_triangle"]
    assert asked[:3] == ["interchange_triangle", "interchange_triangle", "cut_triangle"]
    assert {*asked[3:]} == {"cut_triangle"}


@pytest.mark.normal
def test_a_way_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    alphabet = select(["interchange_triangle", "cut_triangle"])
    procedure = source("triangles").procs["rows_above"]
    expander = Expander(Replayer(procedure), TARGET, alphabet, {"n": 32, "m": 8})
    assert expander.normalise(0.0).steps == ()
    real, now = expand.carry_out, 0.0
    monkeypatch.setattr(expand, "time", SimpleNamespace(perf_counter=lambda: now))

    def slow(*args: Any) -> Any:
        """All else takes no time, however slow the machine is."""
        nonlocal now
        for each in real(*args):
            now += 0.6 if args[2].transform == "cut_triangle" else 0.0
            yield each

    monkeypatch.setattr(expand, "carry_out", slow)
    (step,) = expander.normalise(0.5).steps
    assert step.rewrite.transform == "interchange_triangle"
    assert step.made is not None


@pytest.mark.parametrize(("slow_s", "expected"), [(1e-6, True), (60.0, False)])
def test_what_took_long_is_not_replayed_to_be_built_otherwise(
    slow_s: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expand, "SLOW_S", slow_s)
    alphabet = select(["compile_with", "split"])
    start = next(propose(mirror(kernels()["matmul"]), TARGET, select(["split"])))
    expander = Expander(Replayer(kernels()["matmul"]), TARGET, alphabet, {})
    children = expander.expand(Trace((start,))).children
    made = [c.made is not None for c in children if c.rewrite.transform == "compile_with"]
    assert set(made) == {expected}
    assert expander.expand(Trace()).children[0].made is None  # of what took no time


def rewrite(transform: str, path: int, factor: int) -> Rewrite:
    return Rewrite(transform, 1, (path,), "for i in seq(0, 8)", (("factor", factor),))


def test_what_gained_elsewhere_is_made_first() -> None:
    """In turn with what another transform has to offer."""
    promises = Promises()
    here = [rewrite(name, 0, n) for name in ("split", "unroll") for n in (1, 2, 3)]
    assert promises.ranked(here)[:2] == [here[0], here[3]]
    promises.learn(Child(rewrite("unroll", 7, 3), predicted=2.0))
    promises.learn(Child(rewrite("split", 7, 1), outcome=Outcome.ILLEGAL))
    assert promises.of(here[5]) > promises.of(here[4]) > promises.of(here[1]) > promises.of(here[0])
    assert promises.ranked(here) == [here[5], here[0], here[3], here[4], here[1], here[2]]


def test_what_leads_to_the_normal_form_is_made_before_all_else() -> None:
    promises = Promises()
    promises.learn(Child(rewrite("split", 7, 1), predicted=5.0))
    normal = rewrite("fold_operand", 0, 1)
    assert promises.ranked([rewrite("split", 0, 1), normal])[0] == normal


def test_a_mistake_of_a_transform_is_told_and_costs_no_other_one_its_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> Iterator[Any]:
        raise ZeroDivisionError("in vain")
        yield

    def carried_out(procedure: Any, ast: q.Proc, rewrite: Rewrite, fp: Any) -> Iterator[Any]:
        return (broken if rewrite.transform == "split" else carry_out)(procedure, ast, rewrite, fp)

    reorder, split = select(["reorder", "split"])
    wrong = replace(split, propose=broken)
    for alphabet in ([wrong, reorder], [split, reorder]):
        expander = Expander(Replayer(kernels()["matmul"]), TARGET, alphabet, {})
        found = expander.expand(Trace())
        made = [each for each in found.children if each.outcome is None]
        assert {each.rewrite.transform for each in made} == {"reorder"}
        (fault,) = found.faults
        expected = r"a mistake in `split`: ZeroDivisionError in test_expand.py:\d+: in vain"
        assert re.fullmatch(expected, fault)
        assert {each.message for each in found.children if each not in made} <= {fault}
        assert merge([found, found]).faults == (fault, fault)
        monkeypatch.setattr(expand, "carry_out", carried_out)


def test_a_mistake_of_the_user_ends_the_expansion() -> None:
    def mistaken(*_: Any) -> Iterator[Any]:
        raise UserError("arguments are integers")
        yield

    wrong = replace(*select(["split"]), propose=mistaken)
    with pytest.raises(UserError, match="arguments are integers"):
        Expander(Replayer(kernels()["matmul"]), TARGET, [wrong], {}).expand(Trace())
