"""The recorded spaces that are kept, and that recording makes such."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.spaces import again, stand
from benchmarks.spaces import record as recording
from benchmarks.spaces.__main__ import HERE
from benchmarks.spaces.space_file import load
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Trace
from schedsearch.search.result import Listener
from schedsearch.search.setup.subject import load_subject

pytestmark = pytest.mark.normal

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


@pytest.mark.slow
def test_recording_measures_everything_and_confirms_the_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orders of three loops: six, of which two are one swap away."""
    monkeypatch.setitem(recording.KERNELS, "orders", ("matmul", ("reorder",)))
    monkeypatch.setattr(stand, "TOP", 2)
    monkeypatch.setattr(stand, "PROCESSES", 2)
    path = tmp_path / "s.sqlite"
    space = recording.record("orders", path, 100, 400.0, 0, "inline", QUIET)
    assert space.name == "orders"
    assert len(space.points) == 6
    assert all(point.speedup for point in space.points.values())
    subject = load_subject(recording.SOURCE, "matmul", {}, cc=None)
    settled = again.confirm(space, subject)
    assert settled.points.keys() == space.points.keys()
    assert settled.best > 5.0  # the innermost loop goes along rows
    with pytest.raises(UserError, match="another target"):
        again.confirm(replace(space, target=replace(space.target, cpu="another")), subject)


def test_the_best_is_one_that_was_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand, "TOP", 2)
    screened = {"lucky": 9.0, "luckier": 8.0, "good": 5.0, "fair": 4.0, "slow": 1.0}
    true = {"lucky": 4.5, "luckier": 1.0, "good": 4.8}
    settled = stand.confirmed(screened, true.__getitem__)
    assert settled == {**screened, **true}


def test_confirming_again_takes_luck_away_and_keeps_the_recorded_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine on which everything is as it was recorded, but for the fastest."""
    space = load(HERE / "matmul_primitives.json.gz")
    subject = load_subject(recording.SOURCE, "matmul", {}, cc=None)
    true = {key: point.speedup or 0.0 for key, point in space.points.items()}
    lucky = max(true, key=true.__getitem__)
    true = {
        k: v / 2 if space.points[k].same == space.points[lucky].same else v for k, v in true.items()
    }
    monkeypatch.setattr(again, "stand", lambda _: Recorded(true))
    monkeypatch.setattr(again, "_code", lambda _space, _generator, key: key)
    settled = again.confirm(replace(space, target=subject.target), subject)
    for key, point in settled.points.items():
        assert (point.speedup or 0.0) == pytest.approx(true[key])


class Recorded:
    """A stand that answers by key."""

    def __init__(self, speedups: dict[str, float]) -> None:
        self.speedups = speedups

    def ratio(self, code: str, to: str) -> float:
        return self.speedups[code] / self.speedups[to]
