"""The recorded spaces that are kept, and that recording makes such."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spaces import record as recording
from benchmarks.spaces.__main__ import HERE
from schedsearch.core.trace import Trace
from schedsearch.evaluate.bench import TimingPlan
from schedsearch.search.session import Listener
from schedsearch.search.space_file import load
from schedsearch.store.database import Store

QUIET = Listener(lambda _: None, lambda *_: None, lambda _: None)


@pytest.mark.parametrize("name", recording.KERNELS)
def test_every_space_kept_is_whole_and_something_can_be_gained_in_it(name: str) -> None:
    space = load(HERE / f"{name}.json.gz")
    assert space.name == name
    assert space.root == Trace().key
    assert space.best > 1.2
    reached = {to for steps in space.moves.values() for to in steps.values()}
    assert reached | {space.root} == set(space.points)
    for key, point in space.points.items():
        assert key == space.root or space.is_child(point.parent, point.rewrite, key)
        assert space.points[point.same].same == point.same
        assert space.points[point.same].speedup == point.speedup


def test_recording_measures_everything_and_confirms_the_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orders of three loops: six, of which two are one swap away."""
    monkeypatch.setitem(recording.KERNELS, "orders", ("matmul", ("reorder",)))
    monkeypatch.setattr(recording, "TOP", 2)
    monkeypatch.setattr(recording, "CONFIRM", TimingPlan("confirm", 2, 3))
    path = tmp_path / "s.sqlite"
    space = recording.record("orders", path, 100, 60.0, 0, "inline", QUIET)
    assert space.name == "orders"
    assert len(space.points) == 6
    assert all(point.speedup for point in space.points.values())
    with Store.open(path) as store:
        (scope,) = store.scopes()
        fastest = store.best(scope, 2)
    kinds = [c.record.measurement.kind for c in fastest if c.record.measurement]
    assert set(kinds) <= {"confirm", "baseline"}
    assert space.best == fastest[0].record.speedup
