"""From recorded calls to a plan, and from what is found to kernels and lock files."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cli.conftest import first, tuned
from search.worlds import ROOF

import schedsearch
from schedsearch.api import planning, recorded
from schedsearch.api.planning import Plan, make_plan
from schedsearch.api.recorded import Tuned, tune_recorded
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.deploy import recorder, sources
from schedsearch.deploy.recorded import Called, Counted, read_recordings
from schedsearch.deploy.recorder import Counters, Recorder
from schedsearch.search import session
from schedsearch.search.setup import trust
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.sharing import LEAST_S
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

__all__ = ["first", "tuned"]

pytestmark = pytest.mark.normal

OPTIONS = Options(Path(), budget=Budget(100.0), executor="inline")
AS_WRITTEN_S = 1e-3
"""Of a call of the kernel, as the recordings of these tests have it: far from any roofline."""

SCALE = """
from __future__ import annotations
from exo import proc

@proc
def scale(n: size, y: [f32][n], x: f32[n]):
    for i in seq(0, n):
        y[i] = 2.0 * x[i]
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store, no recording and no schedules but those of the test; rooflines take no time."""
    monkeypatch.delenv(sources.STORE, raising=False)
    monkeypatch.delenv(recorder.RECORD, raising=False)
    monkeypatch.setattr(planning, "roof_of", lambda *subject: ROOF)
    monkeypatch.setattr(planning, "measuring_slot", nullcontext)


@pytest.fixture
def scale(tmp_path: Path) -> Called:
    """A procedure in a file that this user has run."""
    file = tmp_path / "scale.py"
    file.write_text(SCALE)
    return called(file, "scale", n=64)


def called(file: Path, name: str, **sizes: int) -> Called:
    trust.remember(file, digest(file.read_text()))
    key = proc_key(mirror(load_source(file).procs[name]))
    return Called(name, key, str(file), (), tuple(sizes.items()), ())


def counted(called: Called, calls: int, call_s: float = AS_WRITTEN_S) -> Counted:
    return Counted(called, calls, calls * call_s)


def plan(*calls: Counted, options: Options = OPTIONS, files: tuple[Path, ...] = ()) -> Plan:
    return make_plan(calls, replace(options, store="no.sqlite"), files)


def test_what_can_gain_most_comes_first(scale: Called) -> None:
    larger = replace(scale, sizes=(("n", 128),))
    at_the_roof = replace(scale, sizes=(("n", 256),))
    made = plan(
        counted(scale, 10),
        counted(at_the_roof, 10**9, ROOF.least_s),
        counted(larger, 20),
    )
    assert [dict(each.subject.workload.sizes)["n"] for each in made.planned] == [128, 64, 256]
    assert [each.gain_s for each in made.planned] == pytest.approx(
        [20 * (AS_WRITTEN_S - ROOF.least_s), 10 * (AS_WRITTEN_S - ROOF.least_s), 0.0]
    )
    assert made.shares == pytest.approx([200 / 3, 100 / 3, 0], rel=0.2)
    data = made.as_json()
    assert [each["calls"] for each in data] == [20, 10, 10**9]
    assert data[0]["budget_s"] > data[1]["budget_s"] > data[2]["budget_s"] == 0


def test_layouts_and_processes_are_taken_together(scale: Called) -> None:
    rows = replace(scale, layouts=(("y", "rows"),))
    [found] = plan(counted(scale, 1, 2e-3), counted(rows, 2), counted(scale, 1, 2e-3)).planned
    assert (found.calls, found.recorded_s) == (4, pytest.approx(1.5e-3))


def test_planning_takes_a_part_of_the_budget(
    scale: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What took most is looked at, whatever it takes."""
    monkeypatch.setattr(planning, "PLANNING", 0.0)
    less = [counted(replace(scale, sizes=(("n", n),)), n) for n in (8, 16)]
    made = plan(*less, counted(scale, 100))
    assert [each.calls for each in made.planned] == [100]
    assert [each.calls for each in made.rest] == [16, 8]
    assert made.notes() == [
        "not looked at, for lack of time: 2 kernels with 24 ms of calls; a larger budget has room "
        "for them"
    ]


def test_what_cannot_be_tuned_is_named_with_the_reason(scale: Called, tmp_path: Path) -> None:
    changed = tmp_path / "changed.py"
    changed.write_text(SCALE)
    before = called(changed, "scale", n=64)
    changed.write_text(SCALE.replace("2.0", "3.0"))
    trust.remember(changed, digest(changed.read_text()))  # by running it again, unrecorded
    foreign = tmp_path / "foreign" / "scale.py"
    foreign.parent.mkdir()
    foreign.write_text(SCALE + "\nraise SystemExit('executed')\n")
    wrong = {
        "it has changed in .*changed.py since it was recorded; record the program again": before,
        "which is not there": replace(scale, file=str(tmp_path / "nowhere.py")),
        "was not defined in a file": replace(scale, file=""),
        "not executed because a store, lock or recording names it": replace(
            scale, file=str(foreign)
        ),
    }
    made = plan(counted(scale, 1), *(counted(each, 1) for each in wrong.values()))
    assert [each.calls for each in made.planned] == [1]
    for reason, refused in zip(wrong, made.refused, strict=True):
        assert refused.startswith("scale(n=64): ")
        with pytest.raises(UserError, match=reason):
            raise UserError(refused)
    with pytest.raises(UserError, match=r"nothing that was recorded can be tuned\nscale\(n=64\)"):
        plan(counted(before, 1))
    with pytest.raises(UserError, match="no kernel was called"):
        plan()
    with pytest.raises(UserError, match="--budget 0 is not a time"):
        plan(counted(scale, 1), options=replace(OPTIONS, budget=Budget(0.0)))


def test_files_that_are_named_are_executed(scale: Called, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign" / "scale.py"
    foreign.parent.mkdir()
    foreign.write_text(SCALE)
    other = replace(scale, file=str(foreign))
    for given in (foreign, foreign.parent):
        assert len(plan(counted(other, 1), files=(given,)).planned) == 1
    with pytest.raises(UserError, match="--file"):
        plan(counted(other, 1), files=(tmp_path / "elsewhere",))


def test_what_was_tuned_before_can_gain_less(tuned: Path) -> None:
    options = replace(OPTIONS, store=tuned / "schedsearch.sqlite")
    made = make_plan([counted(called(tuned / "mm.py", "matmul32"), 100)], options)
    [found] = made.planned
    assert found.stored_s is not None
    assert found.now_s == found.stored_s < found.recorded_s
    assert found.gain_s == pytest.approx(100 * (found.stored_s - ROOF.least_s))


def test_calls_that_no_clock_saw(scale: Called) -> None:
    [found] = plan(counted(scale, 5, 0.0)).planned
    assert found.gain_s >= 0


def test_recordings_that_lack_sizes_are_refused(scale: Called) -> None:
    with pytest.raises(UserError, match="lacks sizes of it"):
        plan(counted(replace(scale, sizes=()), 1))


def test_options_are_checked_first(scale: Called) -> None:
    with pytest.raises(UserError, match="--executor 'foo' is unknown; known"):
        plan(counted(scale, 1), options=replace(OPTIONS, executor="foo"))


class Searches:
    """Stands for `session.tune`: what it was asked, and what comes of it."""

    def __init__(self, *ends: Any, takes_s: float = 0.0) -> None:
        self.ends, self.asked, self.takes_s = iter(ends), list[Options](), takes_s

    def __call__(self, options: Options, listener: object) -> Any:
        self.asked.append(options)
        time.sleep(self.takes_s)
        end = next(self.ends, Stop.TIME)
        if isinstance(end, BaseException):
            raise end
        return SimpleNamespace(stop=end)


@pytest.fixture
def calls(scale: Called, tmp_path: Path) -> Path:
    """A directory with a recording: three sizes, with 300, 200 and 100 calls."""
    folder = tmp_path / "calls"
    process = Recorder(folder)
    for number in (1, 2, 3):
        address = process.address(replace(scale, sizes=(("n", 16 * number),)))
        counters = Counters.from_address(address)
        counters.calls, counters.ns = 100 * number, int(1e9 * number)
    return folder


def sizes(asked: list[Options]) -> list[int]:
    return [dict(each.sizes)["n"] for each in asked]


def test_time_that_is_left_is_for_the_others(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = Searches(UserError("no compiler"))
    monkeypatch.setattr(session, "tune", searches)
    found = tune_recorded(calls, budget=1200, executor="inline", progress=False)
    assert sizes(searches.asked) == [48, 32, 16]
    given = [each.budget.seconds for each in searches.asked]
    assert given == pytest.approx([600, 800, 1200], rel=0.1)  # the searches took no time
    assert found.problems == ("scale n=48: no compiler",)
    assert [(each.schedule, each.searched) for each in found.found] == [(None, True)] * 3
    assert not found.interrupted
    assert {each.executor for each in searches.asked} == {"inline"}


def test_a_small_budget_goes_to_the_first(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = Searches(takes_s=1.0)
    monkeypatch.setattr(session, "tune", searches)
    found = tune_recorded(calls, budget=LEAST_S, progress=False)
    assert sizes(searches.asked) == [48]
    assert [each.searched for each in found.found] == [True, False, False]
    assert repr(found).count("not searched") == 2


@pytest.mark.parametrize("end", [Stop.INTERRUPTED, KeyboardInterrupt()])
def test_ctrl_c_ends_all_searches(
    calls: Path, monkeypatch: pytest.MonkeyPatch, end: object
) -> None:
    searches = Searches(Stop.TIME, end)
    monkeypatch.setattr(session, "tune", searches)
    found = tune_recorded(calls, budget=120, progress=False)
    assert found.interrupted
    assert sizes(searches.asked) == [48, 32]


def test_where_the_store_is(calls: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    searches = Searches()
    monkeypatch.setattr(session, "tune", searches)
    own = tmp_path / "own.sqlite"
    tune_recorded(calls, budget=LEAST_S, progress=False)
    tune_recorded(calls, budget=LEAST_S, store=own, progress=False)
    monkeypatch.setenv(sources.STORE, "of_the_environment.sqlite")
    monkeypatch.chdir(tmp_path)
    tune_recorded(calls, budget=LEAST_S, progress=False)
    places = [str(searches.asked[n].store) for n in (0, 1, 2)]
    expected = [calls / "schedsearch.sqlite", own, "of_the_environment.sqlite"]
    assert places == [str(each) for each in expected]


@pytest.fixture
def found(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Tuned]:
    """A kernel, and what was found for its calls, by an earlier search."""
    monkeypatch.setattr(session, "tune", Searches())
    kernel = schedsearch.kernel(load_source(tuned / "mm.py").procs["matmul32"])
    with schedsearch.record() as calls:
        kernel(*arrays())
    store = tuned / "schedsearch.sqlite"
    return kernel, tune_recorded(calls, budget=LEAST_S, store=store, progress=False)


def arrays() -> list[np.ndarray]:
    return [np.ones((32, 32), "f4") for _ in range(3)]


def explained(kernel: Any) -> str:
    return str(kernel.explain(*arrays()).as_json()["source"])


def test_within_it_kernels_run_what_was_found(found: tuple[Any, Tuned]) -> None:
    kernel, result = found
    [schedule] = result.schedules
    assert explained(kernel) == "None"
    with result as same:
        assert same is result
        assert explained(kernel) == "schedsearch.using"
        with result:
            assert explained(kernel) == "schedsearch.using"
        assert explained(kernel) == "schedsearch.using"
    assert explained(kernel) == "None"
    assert schedule.measurement is not None
    assert result.as_json()[0]["call_s"] == schedule.measurement.candidate_ns * 1e-9
    assert "matmul32" in repr(result)


def test_persisted_it_is_found(found: tuple[Any, Tuned], tuned: Path, tmp_path: Path) -> None:
    kernel, result = found
    assert result.persist(tuned / "schedules.lock") == ()
    again = schedsearch.kernel(kernel.proc)
    assert explained(again) == str(tuned / "schedules.lock")
    assert result.persist(tuned / "schedules.lock") == ()  # nothing changes
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UserError, match="not below"):
        result.persist(tmp_path / "elsewhere" / "schedules.lock")
    with pytest.raises(UserError, match="nothing to keep"):
        Tuned(()).persist(tuned / "schedules.lock")


def test_a_procedure_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a notebook has them: the file that defines it is gone when it is recorded."""
    cell = tmp_path / "cell.py"
    cell.write_text(SCALE)
    proc = load_source(cell).procs["scale"]
    cell.unlink()
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(cell):
            monkeypatch.delitem(sys.modules, name)
    searches = Searches()
    monkeypatch.setattr(session, "tune", searches)
    kernel = schedsearch.kernel(proc)
    with schedsearch.record() as calls:
        for _ in range(10):
            kernel(np.zeros(64, "f4"), np.ones(64, "f4"))
    tune_recorded(calls, budget=LEAST_S, store=tmp_path / "s.sqlite", progress=False)
    [asked] = searches.asked
    assert asked.file.name.startswith("scale-")
    assert "procedures" in asked.file.parts


def test_a_damaged_file_does_not_hide_the_others(calls: Path) -> None:
    [good] = calls.iterdir()
    shutil.copy(good, calls / "zz.calls")
    (calls / "zz.calls").write_bytes(b"x" + good.read_bytes()[1:])
    recording = read_recordings(calls)
    assert len(recording.counted) == 3
    assert len(recording.damaged) == 1
    assert recorded.default_store(calls) == calls / "schedsearch.sqlite"


def test_threads_and_tasks_end_their_own() -> None:
    nothing = Tuned(())

    async def task(begin: float, end: float) -> None:
        await asyncio.sleep(begin)
        with nothing:
            await asyncio.sleep(end)

    async def both() -> None:
        await asyncio.gather(task(0, 0.05), task(0.02, 0.1))

    asyncio.run(both())
    with nothing, nothing:
        assert len(recorded._IN_USE.get()) == 2
    assert not recorded._IN_USE.get()
