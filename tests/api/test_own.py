"""Strategies and transforms of one's own, in searches from Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import schedsearch
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.transforms import registry as known
from schedsearch.transforms.operators.ops import At, Op
from schedsearch.transforms.own import LIBRARY
from schedsearch.transforms.registry import Transform, apply

from .own_parts import BY_FOUR, Newest, Widest, propose

KERNEL = Path(__file__).parents[1] / "search" / "kernels" / "product.py"

tune = partial(schedsearch.tune, KERNEL, executor="inline", progress=False)
explore = partial(schedsearch.explore, KERNEL, progress=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    yield
    for name in known.registry().keys() - LIBRARY:
        del known.registry()[name]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Widest, Newest(told=0)], ids=["class", "object"])
def test_a_strategy_of_ones_own_searches_and_continues(
    strategy: type[Widest] | Newest, store: Path, scripted: list[str]
) -> None:
    runs = [
        tune(store=store, strategy=strategy, transforms=["reorder", "split"], trials=trials)
        for trials in (2, 3)
    ]
    assert [run.run.progress.measured for run in runs] == [2, 3]
    opened = schedsearch.open(store)
    name = getattr(strategy, "__name__", type(strategy).__name__)
    assert opened.runs["strategy"].tolist() == [name, name]
    # Nothing twice: five other candidates were screened.
    screened = opened.measurements[opened.measurements["kind"] == "screen"]
    assert screened["candidate_id"].nunique() == 5


@pytest.mark.normal
def test_a_strategy_of_ones_own_goes_on_from_a_node(store: Path, scripted: list[str]) -> None:
    with explore(store=store, transforms=["reorder", "split"]) as session:
        node = session.root.apply(session.root.rewrites().legal.of("split")[0])
        strategy = Newest(told=0)
        result = node.search(1e9, trials=2, strategy=strategy, executor="inline", progress=False)
    assert result.run.progress.measured == 2
    assert strategy.told == 0  # it was copied


@pytest.mark.normal
def test_a_transform_of_ones_own_is_searched_with_kept_and_exported(
    store: Path, scripted: list[str]
) -> None:
    schedsearch.register(BY_FOUR)
    for trials in (4, 3):
        result = tune(store=store, transforms=["by_four", "reorder"], trials=trials)
    opened = schedsearch.open(store)
    tried = opened.candidates["transform"].value_counts()
    assert tried["by_four"] > 1
    [definition] = {run["own_transforms"]["by_four"] for run in opened.runs["settings"]}
    assert definition.startswith("# version 1\ndef propose")
    assert "divide_loop" in definition
    assert "schedsearch" not in result.python.split("import", 1)[1]


@pytest.mark.normal
def test_a_store_that_was_made_by_another_one_is_refused(store: Path, scripted: list[str]) -> None:
    def steps(ast: object, path: tuple[int, ...], args: dict[str, object]) -> Iterator[Op]:
        yield Op("divide_loop", (At(path), 4, ("o", args["inner"])), (("perfect", True),))

    schedsearch.register(BY_FOUR)
    tune(store=store, transforms=["by_four"], trials=1)
    for changed in (replace(BY_FOUR, version=2), replace(BY_FOUR, steps=steps)):
        schedsearch.register(changed)
        with pytest.raises(UserError, match="by_four has changed since"):
            tune(store=store, transforms=["by_four"], trials=1)
        with pytest.raises(UserError, match="by_four has changed since"):
            explore(store=store, transforms=["by_four"])
    result = tune(store=store, transforms=["by_four"], trials=1, fresh=True)
    assert result.run.setting.known.measured == 0
    with explore(store=store, transforms=["by_four"], fresh=True) as session:
        node = session.root.apply(0)
        node.search(1e9, trials=1, executor="inline", progress=False)
        assert not node.candidate.children.empty  # the search was of the same tree


@pytest.mark.normal
def test_what_nobody_registered_says_so(scripted: list[str], store: Path) -> None:
    schedsearch.register(BY_FOUR)
    with explore(store=store, transforms=["by_four"]) as session:
        node = session.root.apply(0)
        del known.registry()["by_four"]
        [rewrite] = node.trace.steps
        with pytest.raises(RewriteError, match=r"schedsearch\.register it first"):
            apply(session.root.proc, known.mirror(session.root.proc), rewrite)
    with pytest.raises(UserError, match="unknown transform 'by_four'"):
        tune(store=store, transforms=["by_four"])


NO_FUNCTION = partial(propose)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "split"}, "is a transform of the library"),
        ({"name": "by four"}, "named by letters"),
        ({"version": 0}, "from 1 on"),
        ({"propose": NO_FUNCTION}, "text of by_four is needed"),
        ({"steps": eval("lambda ast, path, args: iter(())")}, "text of by_four is needed"),
    ],
)
def test_what_could_not_be_made_again_is_refused(changes: dict[str, object], why: str) -> None:
    before = set(known.registry())
    with pytest.raises(UserError, match=why):
        schedsearch.register(replace(BY_FOUR, **changes))  # type: ignore[arg-type]
    assert set(known.registry()) == before


@pytest.mark.normal
def test_arguments_that_no_trace_can_keep_are_refused(store: Path, scripted: list[str]) -> None:
    def by_list(ast: object, target: object) -> Iterator[tuple[None, dict[str, object]]]:
        yield None, {"factors": [4, 4]}

    wrong = Transform("by_list", 1, "", by_list, BY_FOUR.steps)  # type: ignore[arg-type]
    schedsearch.register(wrong)
    with pytest.raises(UserError, match=r"by_list proposes factors=.*no trace can keep"):
        tune(store=store, transforms=["by_list"])
