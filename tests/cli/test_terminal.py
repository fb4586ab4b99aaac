"""Commands on a real terminal, and `watch` beside a running search."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.present.live import CLOSING
from schedsearch.store.database import Store

from .invoke import COMMAND, MATMUL, SMALL, Answer, environment
from .terminal import COLUMNS, on_terminal, screen, visible

pytestmark = pytest.mark.slow

Run = Callable[..., Answer]


def test_a_run_on_a_terminal_ends_well_and_fits_it(tmp_path: Path) -> None:
    """Its panel once failed on the last phase, which only terminals show."""
    shutil.copy(MATMUL, tmp_path / "mm.py")
    code, written = on_terminal(tmp_path, ["run", "mm.py", *SMALL, "--trials", "1"])
    assert code == 0, written[-2000:]
    shown = visible(written[: written.rindex("\x1b[?25h")])  # then comes the report
    assert max(map(len, shown)) <= COLUMNS
    panels = " ".join(shown)
    assert "time left" in panels
    assert CLOSING["inspecting"] in panels
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h")  # cursor hidden, shown


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("run", "mm.py", "--executor", "inline"), "measuring the baseline"),
        (("run", "mm.py", "--executor", "inline"), "time left"),
        (("doctor",), "measuring what the cores can do"),
    ],
)
def test_ctrl_c_leaves_nothing_of_the_progress(
    tmp_path: Path, args: tuple[str, ...], shown: str
) -> None:
    shutil.copy(MATMUL, tmp_path / "mm.py")
    code, written = on_terminal(tmp_path, args, interrupted_at=shown)
    assert code == 130
    left = "\n".join(screen(written))
    assert shown not in left
    assert "^C" not in left
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")  # the cursor is there again


def test_a_locale_without_these_characters_is_no_error(tuned: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    code, written = on_terminal(tuned, ["list"], ascii_only)
    assert code == 0, written[-2000:]
    assert "matmul32" in written


@pytest.fixture
def searching(tmp_path: Path) -> subprocess.Popen[str]:
    """A search that is under way, with its first measurements in the store."""
    shutil.copy(MATMUL, tmp_path / "mm.py")
    args = ["run", "mm.py", "--executor", "inline", "--budget", "300"]
    search = subprocess.Popen(
        [*COMMAND, *args, "--transforms", "reorder,fission,split,unroll"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    store = tmp_path / "schedsearch.sqlite"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and search.poll() is None:
        if store.exists():
            with Store.open(store) as opened:
                if any(len(opened.timeline(scope)) > 2 for scope in opened.scopes()):
                    return search
        time.sleep(0.2)
    search.kill()
    raise AssertionError(search.communicate()[1])


def test_watch_follows_a_search_until_it_ends(
    tmp_path: Path, searching: subprocess.Popen[str], run: Run
) -> None:
    once = run("watch", "--once")
    assert once.code == 0, once.err
    assert "run 1: matmul32 from " in once.out
    assert " s  searching: best " in once.out
    watcher = subprocess.Popen(
        [*COMMAND, "watch"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watcher.stdout is not None
    while "searching" not in watcher.stdout.readline():
        assert watcher.poll() is None
    searching.send_signal(signal.SIGINT)
    said, _ = watcher.communicate(timeout=200)
    assert watcher.returncode == 1
    assert said.splitlines()[-1].startswith("interrupted: ")
    searching.communicate(timeout=200)


def test_a_killed_search_is_noticed(
    tmp_path: Path, searching: subprocess.Popen[str], run: Run
) -> None:
    os.kill(searching.pid, signal.SIGKILL)
    searching.communicate()
    answer = run("watch")
    assert answer.code == 2
    assert "no search is running" in answer.err
    assert "is interrupted" in " ".join(answer.err.split())


def test_nothing_to_watch(tuned: Path, run: Run) -> None:
    answer = run("watch")
    assert answer.code == 2
    assert "is finished. `schedsearch best`" in " ".join(answer.err.split())
