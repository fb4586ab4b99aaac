"""`SCHEDSEARCH_TUNE`: a search on the first call, apart from the caller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.core.records import RunStatus
from schedsearch.deploy import first_use, sources
from schedsearch.store.database import Store

from .procs import kernels
from .test_sources import offer

pytestmark = pytest.mark.normal

# No `if __name__`: who loads it again appends a line.
SCRIPT = """
from __future__ import annotations
import json, sys
import numpy as np
import schedsearch
from exo import proc
print("loaded", file=open("loaded", "a"))

@schedsearch.kernel
@proc
def product(n: size, c: f32[n, n], a: f32[n, n], b: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                c[i, j] += a[i, k] * b[k, j]

a, c = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
try:
    product(c, a, a)
finally:
    print(json.dumps(sorted({float(x) for x in c.flat})))
print(json.dumps(product.explain(c, a, a).as_json()))
"""


def begin(home: Path, seconds: str) -> subprocess.Popen[str]:
    (home / "script.py").write_text(SCRIPT)
    source = str(Path(schedsearch.__file__).parents[1])
    own = {"SCHEDSEARCH_TUNE": seconds, "XDG_CACHE_HOME": str(home), "PYTHONPATH": source}
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=home,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(home: Path) -> list[str]:
    """Command lines of processes that have this home's cache in their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ends meanwhile
            found.append(path.read_bytes())
    return [each.decode() for each in found if str(home).encode() in each]


def measured(home: Path) -> bool:
    """Whether the search has measured more than the procedure as written."""
    path = home / "schedsearch" / "first-use.sqlite"
    with suppress(UserError), Store.open(path, create=False) as store:  # not made yet
        return any(len(store.timeline(scope)) > 1 for scope in store.scopes())
    return False


def test_processes_that_begin_together_search_once(tmp_path: Path) -> None:
    both = [begin(tmp_path, "6") for _ in range(2)]
    said = [each.communicate(timeout=300) for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    written, explained = zip(*(out.splitlines() for out, _ in said), strict=True)
    assert set(written) == {"[32.0]"}  # added once: nothing was tried on the caller's array
    assert [err for _, err in said] == ["", ""]  # no terminal
    assert (tmp_path / "loaded").read_text() == "loaded\n" * 2
    with Store.open(tmp_path / "schedsearch" / "first-use.sqlite", create=False) as store:
        [run] = store.runs()
        assert run.status is RunStatus.FINISHED
    found = [json.loads(each) for each in explained]
    assert found[0]["schedule"] == found[1]["schedule"]
    third = begin(tmp_path, "6")
    out, _ = third.communicate(timeout=300)
    assert json.loads(out.splitlines()[1])["schedule"] == found[0]["schedule"]
    assert children_of(tmp_path) == []


def test_ctrl_c_ends_the_search_and_keeps_what_it_found(tmp_path: Path) -> None:
    child = begin(tmp_path, "300")
    while not measured(tmp_path):
        assert child.poll() is None
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in err
    assert out.splitlines() == ["[0.0]"]
    assert children_of(tmp_path) == []
    assert measured(tmp_path)


@pytest.fixture
def tuning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The store that calls in this process search into."""
    monkeypatch.setenv("SCHEDSEARCH_TUNE", "5")
    monkeypatch.setenv("SCHEDSEARCH_STORE", str(tmp_path / "own.sqlite"))
    return tmp_path / "own.sqlite"


def call_scaled(kernel: object) -> list[str]:
    """What it passed over."""
    x, y = np.ones(4, "f4"), np.zeros(4, "f4")
    kernel(x, y)  # type: ignore[operator]
    assert (y == 0.5).all()
    found = kernel.explain(x, y).as_json()  # type: ignore[attr-defined]
    assert found["schedule"] is None
    return [f"{each['name']}: {each['reason']}" for each in found["passed_over"]]


def test_a_search_that_dies_leaves_the_procedure_as_written(
    tuning: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for executable, reason in (("/bin/false", "ended with 1"), ("/nowhere", "No such file")):
        monkeypatch.setattr(sys, "executable", executable)
        [*_, said] = call_scaled(schedsearch.kernel(kernels.scaled))
        assert said.startswith("SCHEDSEARCH_TUNE=5: not tuned: ")
        assert reason in said


def test_what_a_search_that_dies_has_started_ends_too(
    tuning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a compiler, which has a session of its own."""
    script, begun = tmp_path / "python", tmp_path / "begun"
    endless = f"setsid sh -c 'touch {begun}; while :; do sleep 1; done' 2> /dev/null &"
    script.write_text(f"#!/bin/sh\n{endless}\nwhile [ ! -e {begun} ]; do :; done\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert "ended with 1" in call_scaled(schedsearch.kernel(kernels.scaled))[-1]
    assert children_of(tmp_path) == []


def test_a_search_that_left_nothing_is_not_repeated(
    tuning: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if what was found could not be loaded."""
    for module in (first_use, sources):
        monkeypatch.setattr(module, "offers_of_store", lambda *args: ())
    first = call_scaled(schedsearch.kernel(kernels.scaled))
    assert first[-1] == "SCHEDSEARCH_TUNE=5: the search found nothing faster that can be loaded"
    monkeypatch.setattr(first_use, "_search", lambda *args: pytest.fail("searched again"))
    assert call_scaled(schedsearch.kernel(kernels.scaled))[-1] == first[-1]


def test_other_sizes_run_what_was_found_if_it_fits(
    tuning: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = list[object]()
    found = offer(kernels.matmul)
    monkeypatch.setattr(first_use, "_search", lambda *args: searched.append(args))
    monkeypatch.setattr(first_use, "offers_of_store", lambda *args: (found,) if searched else ())
    kernel = schedsearch.kernel(kernels.matmul)
    for n in (3, 4, 5):
        c, a = np.zeros((n, n), "f4"), np.ones((n, n), "f4")
        kernel(c, a, a)
        assert (c == n).all()
        assert kernel.explain(c, a, a).choice.offer is found
    assert len(searched) == 1


@pytest.mark.parametrize("text", ["two minutes", "0", "-1", "nan", "inf", "1e9", "2m"])
def test_nonsense_is_said_by_the_first_call(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDSEARCH_TUNE", text)
    x = np.ones(4, "f4")
    with pytest.raises(UserError, match=f"SCHEDSEARCH_TUNE={text}: give the seconds"):
        schedsearch.kernel(kernels.scaled)(x, x.copy())
