"""Schedules from stores, locks, this process and `using`; what kernels share between processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.conftest import first, tuned
from cli.invoke import invoke

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import AS_WRITTEN, Rewrite, Trace
from schedsearch.deploy import sources, variants
from schedsearch.deploy.choose import Offer
from schedsearch.deploy.variants import NotLoadedError, Written
from schedsearch.search.setup.subject import cache_dir
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python

from .procs import kernels

__all__ = ["first", "tuned"]

pytestmark = pytest.mark.normal

N = 32
STORE = "schedsearch.sqlite"

SCRIPT = """
import json, os, sys
if sys.argv[2] == "one core":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from mm import matmul32
import schedsearch
c, a = np.zeros((32, 32), "f4"), np.ones((32, 32), "f4")
kernel = schedsearch.kernel(matmul32, store=sys.argv[1])
kernel(c, a, a)
assert (c == 32).all()
slow = {"alembic", "ray", "pandas", "rich", "typer"} & sys.modules.keys()
assert not slow, slow
denormal = np.array([1e-40], "f4") * np.float32(1)
print(json.dumps([float(denormal[0]), kernel.explain(c, a, a).as_json()]))
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store but those that a test names."""
    monkeypatch.delenv(sources.STORE, raising=False)


def product(home: Path) -> Any:
    return load_source(home / "mm.py").procs["matmul32"]


def explained(kernel: Any) -> dict[str, Any]:
    """What a call runs, after one that is checked."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 9, (N, N)).astype("f4") for _ in range(2))
    c = np.zeros((N, N), "f4")
    kernel(c, a, b)
    assert (c == a @ b).all()
    found: dict[str, Any] = kernel.explain(c, a, b).as_json()
    return found


def test_the_best_of_a_store_is_found(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tuned / STORE
    with Store.open(store) as opened:
        [best] = opened.best(opened.scopes()[0], 1)
    found = explained(schedsearch.kernel(product(tuned), store=store))
    assert found["source"] == str(store)
    assert found["schedule"]["name"].startswith(f"candidate {best.id} of")
    assert found["schedule"]["trace"] == [step.to_json() for step in best.record.trace.steps]
    assert found["expected_s"] == best.record.measurement.candidate_ns * 1e-9  # type: ignore[union-attr]
    monkeypatch.setenv(sources.STORE, str(store))
    assert explained(schedsearch.kernel(product(tuned)))["schedule"] == found["schedule"]


def test_what_is_slower_than_as_written_is_not_offered(
    tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BEST", 10_000)
    with Store.open(tuned / STORE) as opened:
        traces = [each.record.trace for each in opened.best(opened.scopes()[0], 10_000)]
    offers = list(sources.offers_of_store(tuned / STORE, "matmul32"))
    assert [each.trace for each in offers] == traces[: traces.index(AS_WRITTEN)]
    assert [each.place for each in offers] == list(range(len(offers)))


def test_if_nothing_is_faster_it_runs_as_written_built_as_for_the_search(
    tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Store.best

    def none_faster(self: Store, scope: Scope, limit: int = 10) -> list[StoredCandidate]:
        ranked = best(self, scope, 10_000)
        return [each for each in ranked if each.record.trace == AS_WRITTEN] + ranked[:limit]

    monkeypatch.setattr(Store, "best", none_faster)
    found = explained(schedsearch.kernel(product(tuned), store=tuned / STORE))
    assert (found["schedule"]["trace"], found["schedule"]["fp"]) == ([], "fast")


def test_stores_that_are_not_there(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"nowhere\.sqlite"):
        explained(schedsearch.kernel(product(tuned), store=tuned / "nowhere.sqlite"))
    monkeypatch.setenv(sources.STORE, str(tuned / "nowhere.sqlite"))
    found = explained(schedsearch.kernel(product(tuned)))
    assert found["schedule"] is None
    assert "nowhere.sqlite" in found["passed_over"][0]["name"]


def test_the_nearest_lock_comes_before_a_store(tuned: Path) -> None:
    assert invoke(tuned, ["pin"]).code == 0
    product_ = product(tuned)
    found = explained(schedsearch.kernel(product_, store=tuned / STORE))
    assert found["source"] == str(tuned / "schedules.lock")
    (tuned / "schedules.lock").rename(tuned / "other.lock")
    found = explained(schedsearch.kernel(product_, store=tuned / STORE))
    assert found["source"] == str(tuned / STORE)
    found = explained(schedsearch.kernel(product_, lock=tuned / "other.lock"))
    assert found["source"] == str(tuned / "other.lock")
    (tuned / "schedules.lock").write_text("no lock")
    found = explained(schedsearch.kernel(product_, store=tuned / STORE))
    assert "schedules.lock" in found["passed_over"][0]["reason"]


def test_given_schedules_and_those_in_use(tuned: Path) -> None:
    with schedsearch.open(tuned / STORE) as opened:
        best = opened.best()
        kernel = schedsearch.kernel(product(tuned))
        assert explained(kernel)["schedule"] is None
        with schedsearch.using(best):
            assert explained(kernel)["source"] == "schedsearch.using"
        assert explained(kernel)["schedule"] is None
        assert explained(schedsearch.kernel(product(tuned), use=best))["source"] == "use="
        sources.remember(best)
        assert explained(schedsearch.kernel(product(tuned)))["source"] == "this process"
        known = map(opened.candidate, opened.candidates.index)
        unmeasured = next(each for each in known if each.measurement is None)
        with pytest.raises(UserError, match="is not verified"), schedsearch.using(unmeasured):
            pass


def test_given_schedules_are_those_that_were_verified(
    tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with schedsearch.open(tuned / STORE) as opened:
        best = opened.best()
    monkeypatch.setattr(type(best), "keys", replace(best.keys, code="0" * 32))
    found = explained(schedsearch.kernel(product(tuned), use=best))
    assert found["schedule"] is None
    assert "another C than was verified" in found["passed_over"][0]["reason"]


def test_using_again_and_again_makes_nothing_anew(tuned: Path) -> None:
    kernel = schedsearch.kernel(product(tuned))
    with schedsearch.open(tuned / STORE) as opened:
        best = opened.best()
    for _ in range(3):
        with schedsearch.using(best):
            assert explained(kernel)["source"] == "schedsearch.using"
        with schedsearch.using():
            assert explained(kernel)["schedule"] is None
    assert len(kernel._variants.known) == 2


def test_other_threads_and_tasks_use_their_own(tuned: Path) -> None:
    kernel = schedsearch.kernel(product(tuned))
    with schedsearch.open(tuned / STORE) as opened:
        best = opened.best()

    async def task(schedules: tuple[Any, ...], begin: float, end: float) -> Any:
        await asyncio.sleep(begin)
        with schedsearch.using(*schedules):
            await asyncio.sleep(end)
            return explained(kernel)["schedule"]

    async def both() -> list[Any]:
        return await asyncio.gather(task((best,), 0, 0.1), task((), 0.05, 0.2))

    with_best, without = asyncio.run(both())
    assert with_best is not None
    assert without is None
    with schedsearch.using(best), ThreadPoolExecutor(1) as pool:
        assert pool.submit(explained, kernel).result()["schedule"] is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda proc: schedsearch.kernel(proc, use=5), "not int"),
        (lambda proc: schedsearch.kernel(proc, store=5), "store= is a path, not int"),
        (lambda proc: schedsearch.kernel(proc, lock=5), "lock= is a path, not int"),
        (lambda proc: schedsearch.using(5).__enter__(), "not int"),
        (lambda proc: schedsearch.tune_recorded(5), "not int"),
    ],
)
def test_what_is_no_schedule_or_place_is_said(
    call: Callable[[Any], object], said: str, tuned: Path
) -> None:
    with pytest.raises(UserError, match=said):
        call(product(tuned))


def test_a_damaged_cache_entry_is_a_miss(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tuned / "cache"))  # others use theirs meanwhile
    explained(schedsearch.kernel(product(tuned), store=tuned / STORE))
    kept = list((cache_dir() / variants.REPLAYED).rglob("*.json"))
    assert kept
    for place in kept:
        text = place.read_text()
        for damaged in ("", "[]", text[:-9], text.replace("for (", "while (", 1)):
            place.write_text(damaged)
            found = explained(schedsearch.kernel(product(tuned), store=tuned / STORE))
            assert found["schedule"] is not None
            assert place.read_text() == text


def in_a_process(home: Path, how: str = "") -> tuple[float, dict[str, Any]]:
    path = os.pathsep.join([str(Path(schedsearch.__file__).parents[1]), str(home)])
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home / STORE), how],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    denormal, found = json.loads(said.stdout)
    return denormal, found


def made() -> set[tuple[Path, int]]:
    """What was compiled and replayed, and when."""
    folders = [cache_dir() / each for each in (variants.REPLAYED, "artifacts")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {(path, path.stat().st_mtime_ns) for path in files}


def test_another_process_makes_nothing_anew_and_keeps_its_denormals(
    tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    denormal, found = in_a_process(tuned)
    assert found["schedule"]["fp"] == "fast"
    assert denormal > 0
    before = made()
    assert before
    denormal, again = in_a_process(tuned)
    assert (again, made()) == (found, before)
    assert denormal > 0


def test_cores_that_may_be_used_do_not_count(tuned: Path) -> None:
    all_, one = in_a_process(tuned), in_a_process(tuned, "one core")
    assert one[1] == all_[1]


BUSY = """
import threading, sys
import numpy as np
import schedsearch
from mm import matmul32
print("loaded")
names = threading.Lock()
def hold():
    while not done:
        with names:
            np.linalg.solve(np.eye(50), np.ones(50)), "".join(map(str, range(1000)))
def first_call(number):
    kernel = schedsearch.kernel(matmul32, store=sys.argv[1])
    c, a = np.zeros((32, 32), "f4"), np.ones((32, 32), "f4")
    kernel(c, a, a)
    assert (c == 32).all()
    ran.append(kernel.explain(c, a, a).choice.source)
done, ran = [], []
busy = [threading.Thread(target=hold) for _ in range(8)]
callers = [threading.Thread(target=first_call, args=(n,)) for n in range(4)]
for each in busy + callers: each.start()
for each in callers: each.join()
done.append(1)
for each in busy: each.join()
print(*ran, sep="\\n")
"""


def test_busy_threads_and_no_guard_disturb_no_replay(tuned: Path) -> None:
    """Kernels are first called in four threads at once, beside eight that hold locks, in a program
    without `if __name__`; nothing is in the cache."""
    (tuned / "busy.py").write_text(BUSY)
    path = os.pathsep.join([str(Path(schedsearch.__file__).parents[1]), str(tuned)])
    own = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tuned / "cache")}
    said = subprocess.run(
        [sys.executable, "busy.py", str(tuned / STORE)],
        cwd=tuned,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=300,  # it takes 9 s alone
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == ["loaded", *[str(tuned / STORE)] * 4]


def test_damaged_machine_code_is_built_again(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kernels, and of what calls them: another process finds it cut short, or something else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tuned / "cache"))  # nobody else's is damaged
    found = in_a_process(tuned)[1]
    kept = [path for path in (cache_dir() / "artifacts").rglob("*") if path.is_file()]
    assert kept
    for damage in (lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"x" * 999):
        for path in kept:
            path.write_bytes(damage(path.read_bytes()))
        assert in_a_process(tuned)[1] == found


def offer(procedure: Any, **changes: Any) -> Offer:
    """Made up, of a trace that applies."""
    written, here = Written.of(procedure), variants.here()
    workload = Workload(written.proc.name, proc_key(written.proc), (), "", "")
    made = Offer(
        *("made up", workload, AS_WRITTEN, None, here.cpu, here.isa, here.compiler, 1),
        *(FloatingPoint.FAST, (), 1e-6, Estimate(2.0), None),
    )
    return replace(made, **changes)


def test_fast_kernels_leave_denormals_alone() -> None:
    assert variants.load(Written.of(kernels.scaled), offer(kernels.scaled))
    assert (np.full(9, 1e-40, "f4") * np.float32(1) > 0).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"code_key": "another"}, "another C than was verified"),
        ({"workload": Workload("scaled", "k", (), "", "")}, "another text of the procedure"),
        (
            {"trace": Trace((Rewrite("split", 1, (9,), "for j in seq(0, 4)", (("factor", 2),)),))},
            "does not apply",
        ),
    ],
)
def test_what_is_not_what_was_verified_is_not_loaded(changes: Any, reason: str) -> None:
    with pytest.raises(NotLoadedError, match=reason):
        variants.load(Written.of(kernels.scaled), offer(kernels.scaled, **changes))


def test_sizes_that_are_constants_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule for M=3 alone has a C function without M."""
    special = proc_key(mirror(specialize(kernels.matmul, {"M": 3})))
    sizes = (("K", 4), ("M", 3), ("N", 5))
    own = offer(kernels.matmul, workload=Workload("matmul", special, sizes, "", "", ("M",)))
    monkeypatch.setattr(sources, "_tuned_here", [own])
    kernel = schedsearch.kernel(kernels.matmul)
    for m in (3, 2, 3):
        a, b, c = (np.ones(s, "f4") for s in ((m, 4), (4, 5), (m, 5)))
        kernel(c, a, b)
        assert (c == 5).all()
        assert (kernel.explain(c, a, b).choice.offer == own) == (m == 3)


def test_a_file_with_kernels_is_tuned_like_one_with_procedures(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nimport schedsearch\nfrom exo import proc\n"
    text += "@schedsearch.kernel\n@proc\ndef twice(x: f32[8]):\n"
    text += "    for i in seq(0, 8):\n        x[i] = x[i] + x[i]\n"
    (tmp_path / "k.py").write_text(text)
    source = load_source(tmp_path / "k.py")
    assert source.variables == {"twice": "twice.proc"}
    assert "twice_proc_scheduled = schedule_twice(twice.proc)" in schedule_python(
        source, "twice", AS_WRITTEN
    )
    x = np.ones(8, "f4")
    schedsearch.kernel(source.procs["twice"])(x)
    assert (x == 2).all()
