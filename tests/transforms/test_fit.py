"""Schedules of one procedure fitted to another, and what makes procedures similar."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedsearch.analysis.signature import signature
from schedsearch.core.trace import ArgValue, Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.fit import TRIES, similar
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("alike")
SIZES = {"M": 50, "N": 60, "K": 70}


def expander(name: str, *transforms: str) -> Expander:
    sizes = SIZES if name == "sizes" else {}
    return Expander(Replayer(PROCEDURES[name]), TARGET, select(transforms or None), sizes)


def proposed(name: str, transform: str, **args: ArgValue) -> Trace:
    """A schedule of `nn`, by the first proposal with these arguments."""
    return Trace(
        (
            next(
                rewrite
                for rewrite in select([transform])[0].rewrites(mirror(PROCEDURES[name]), TARGET)
                if args.items() <= dict(rewrite.args).items()
            ),
        )
    )


def test_the_same_computation_has_the_same_features() -> None:
    """Whatever names, sizes and the order of loops are."""
    features = {name: signature(mirror(proc)) for name, proc in PROCEDURES.items()}
    assert features["nn"] == features["nn_otherwise"] == features["sizes"]
    common = set(features["nn"]) & set(features["nt"])
    assert {"reduce", "3 loops", "write 0,1", "read 0,2", "*"} == common
    assert not set(features["nn"]) & set(features["copy"])


@pytest.mark.normal
@pytest.mark.parametrize("name", ["nn_otherwise", "nt", "sizes"])
def test_a_register_block_finds_its_place(name: str) -> None:
    wanted = proposed("nn", "register_block", pack=True, rows="i")
    replay = expander(name).adapt(wanted)
    (step,) = replay.steps
    assert step.rewrite.transform == "register_block"
    assert step.rewrite.arg("lanes") == (2 if name == "nt" else 4)
    assert step.rewrite.arg("tile_rows") == wanted.steps[0].arg("tile_rows")
    again = expander(name).follow(Trace((step.rewrite,)), known=0)
    assert again.steps[0].keys == step.keys


def test_steps_without_a_place_are_left_out() -> None:
    trace = proposed("nn", "register_block").then(proposed("nn", "reorder").steps[0])
    trace = trace.then(Rewrite("no_such_transform", 1, (), "procedure"))
    assert expander("copy").adapt(trace).steps == ()
    kept = expander("nt", "reorder").adapt(trace).steps
    assert [step.rewrite.transform for step in kept] == ["reorder"]


def test_what_is_illegal_gives_way_to_a_proposal() -> None:
    """Splitting by 0 fails."""
    split = proposed("nn", "split")
    wide = replace(split.steps[0], args=tuple((k, 0) for k, _ in split.steps[0].args))
    (step,) = expander("copy").adapt(Trace((wide,))).steps
    assert step.rewrite.args != wide.args


def offer(path: tuple[int, ...], label: str = "for i in seq(0, 8)", **args: ArgValue) -> Rewrite:
    return Rewrite("split", 1, path, label, tuple(sorted(args.items())))


def test_the_most_similar_place_and_arguments_come_first() -> None:
    wanted = offer((0, 0), "for j in seq(0, 512)", factor=8)
    here = [offer((0,), "for i in seq(0, 96)", factor=f) for f in (4, 8)]
    there = [offer((0, 0), "for j in seq(0, 96)", factor=f) for f in (6, 16, 64)]
    first, *others = similar(wanted, [*here, *there])
    assert (first.path, first.label, first.arg("factor")) == ((0, 0), "for j in seq(0, 96)", 8)
    assert [other.arg("factor") for other in others] == [6, 16]
    assert len(others) == TRIES - 1


def test_a_place_dictates_what_its_proposals_agree_on() -> None:
    wanted = offer((0,), lanes=16, rows=8)
    first, *_ = similar(wanted, [offer((0,), lanes=4, rows=n) for n in (2, 4)])
    assert (first.arg("lanes"), first.arg("rows")) == (4, 8)


def test_without_proposals_nothing_is_similar() -> None:
    assert similar(offer((0,), factor=8), []) == []
