"""Children of a schedule, made in portions."""

from __future__ import annotations

from schedsearch.core.records import Outcome
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.expand import Child, Expander, Promises
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, kernels


def test_portions_make_all_children_once() -> None:
    def expander() -> Expander:
        return Expander(Replayer(kernels()["matmul"]), TARGET, select(["reorder", "split"]), {})

    whole = expander().expand(Trace())
    assert whole.left == 0
    by_portions, children = expander(), list[Child]()
    left = len(whole.children)
    while left:
        made = [child.rewrite for child in children]
        portion = by_portions.expand(Trace(), made=made, patience_s=0.0)
        assert len(portion.children) == 1
        assert portion.left == left - 1
        children += portion.children
        left = portion.left
    key = {child.rewrite: child.keys for child in whole.children}
    assert {child.rewrite: child.keys for child in children} == key
    assert len(children) == len(key)


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
