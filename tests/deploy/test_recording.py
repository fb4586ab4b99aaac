"""Calls are counted: all of them, in every thread and process, also of those that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.deploy import recorder
from schedsearch.deploy.recorded import (
    CHUNK,
    MAGIC,
    Called,
    Counted,
    entries,
    entry,
    merged,
    read_recordings,
)
from schedsearch.deploy.recorder import Counters, Recorder
from schedsearch.search.setup.procedure_file import file_to_load
from schedsearch.search.setup.trust import doubt

from .procs import kernels

MM = Called("mm", "k", "/mm.py", (("C", "float32"),), (("M", 4), ("N", 5)), ())

names = st.text(max_size=20)
paths = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
pairs = st.lists(st.tuples(names, st.integers(0, 2**31 - 1)), max_size=3).map(tuple)
called = st.builds(Called, names, names, paths, st.just(()), pairs, st.just((("x", "rows"),)))


def small(n: int = 4) -> list[np.ndarray]:
    return [np.ones((n, n), "f4") for _ in range(3)]


@pytest.mark.normal
@given(st.lists(called, max_size=30, unique=True), st.integers(0, 9))
def test_what_is_written_is_read(several: list[Called], calls: int) -> None:
    recorder = Recorder(None)
    for each in several:
        counters = Counters.from_address(recorder.address(each))
        counters.calls, counters.ns = calls, 10**9
        assert recorder.address(each) == recorder.address(each)
    assert recorder.counted() == dict.fromkeys(several, (calls, 10**9))
    assert list(entries(bytes(recorder._memory))) == [Counted(c, calls, 1.0) for c in several]


def test_files_grow(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    several = [replace(MM, sizes=(("M", m),)) for m in range(2000)]
    several.insert(1000, replace(MM, file="/" + "long" * CHUNK))  # an entry of several chunks
    for number, each in enumerate(several):
        Counters.from_address(recorder.address(each)).calls = number + 1
    [file] = tmp_path.iterdir()
    found = list(entries(file.read_bytes()))
    assert [(each.called, each.calls) for each in found] == [
        (each, number + 1) for number, each in enumerate(several)
    ]
    assert all(recorder.address(each) % 8 == 0 for each in several)


def test_a_full_disk_is_told_not_fatal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*about: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv(recorder.RECORD, str(tmp_path))
    monkeypatch.setattr(recorder, "_recorder", Recorder(tmp_path))
    assert recorder.address(MM)
    monkeypatch.setattr(os, "posix_fallocate", full)
    several = (replace(MM, sizes=(("M", m),)) for m in range(2000))
    with pytest.warns(RuntimeWarning, match=r"calls of mm are not recorded: .*No space"):
        assert not all(map(recorder.address, several))


@pytest.mark.normal
@given(st.lists(called, min_size=1, max_size=4, unique=True), st.data())
def test_damage_is_noticed(several: list[Called], data: st.DataObject) -> None:
    """Of any byte that says what was called."""
    whole = MAGIC + b"".join(map(entry, several))
    assert len(list(entries(whole))) == len(several)
    place = data.draw(st.integers(0, len(whole) - 1), label="place")
    bit = 1 << data.draw(st.integers(0, 7), label="bit")
    damaged = bytearray(whole)
    damaged[place] ^= bit
    try:
        found = list(entries(bytes(damaged)))
    except ValueError:
        return
    # Counters and what fills up are not covered; an entry of length 0 ends the chunk.
    expected = [Counted(each, 0, 0.0) for each in several]
    assert all(each.called in several for each in found)
    assert len(found) == len(expected) or found == expected[: len(found)]


def test_one_damaged_file_does_not_hide_others(tmp_path: Path) -> None:
    first, second = Recorder(tmp_path), Recorder(tmp_path)
    for each, calls in ((first, 2), (second, 3)):
        Counters.from_address(each.address(MM)).calls = calls
    (tmp_path / "torn.calls").write_bytes(MAGIC + entry(MM)[:-9])
    (tmp_path / "other.calls").write_bytes(b"something else")
    (tmp_path / "nothing.calls").write_bytes(b"")
    (tmp_path / "folder.calls").mkdir()
    found = read_recordings(tmp_path)
    assert found.counted == (Counted(MM, 5, 0.0),)
    folder, other, torn = found.damaged
    assert "folder.calls: Is a directory" in folder
    assert "other.calls: it is no recording" in other
    assert "torn.calls: its entry at byte 8 is damaged" in torn


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": (("M", [1]),)},
        {"sizes": (("M", "x"),)},
        {"sizes": (("M", -1),)},
        {"sizes": (("M", 1 << 40),)},
        {"sizes": ((7, 1),)},
        {"file": 7},
        {"file": "a\0b"},
        {"proc": None},
        {"dtypes": (("C", 4),)},
    ],
)
def test_entries_of_something_else_are_damaged(wrong: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "wrong.calls").write_bytes(MAGIC + entry(replace(MM, **wrong)))
    with pytest.raises(UserError, match=r"wrong\.calls: an entry has"):
        read_recordings(tmp_path)


def test_nothing_to_read(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match=r"no recording in .*SCHEDSEARCH_RECORD="):
            read_recordings(folder)
    (tmp_path / "other.calls").write_bytes(b"something else")
    with pytest.raises(UserError, match="can be read"):
        read_recordings(tmp_path)


def test_same_calls_are_merged() -> None:
    other = replace(MM, sizes=())
    found = merged([Counted(MM, 1, 0.5), Counted(other, 0, 0.0), Counted(MM, 2, 0.25)])
    assert found == (Counted(MM, 3, 0.75),)


@pytest.mark.normal
class TestCounting:
    def test_calls_and_seconds(self) -> None:
        kernel = schedsearch.kernel(kernels.matmul)
        kernel(*small())
        wide = np.zeros((40, 50), "f4"), np.ones((40, 600), "f4"), np.ones((600, 50), "f4")
        with schedsearch.record() as calls:
            begin = perf_counter()
            for _ in range(3):
                kernel(*small())
            between = perf_counter()
            kernel(*wide)
            end = perf_counter()
            with pytest.raises(TypeError):
                kernel(*small()[:2])  # what is refused is no call
            assert sum(each.calls for each in calls.counted) == 4
        kernel(*small())
        little, much = calls.counted
        assert (little.called.sizes, little.calls) == ((("M", 4), ("N", 4), ("K", 4)), 3)
        assert (much.called.sizes, much.calls) == ((("M", 40), ("N", 50), ("K", 600)), 1)
        assert 0 < little.seconds < between - begin
        assert 0 < much.seconds < end - between
        assert much.called.dtypes == (("C", "float32"), ("A", "float32"), ("B", "float32"))
        assert much.called.file == str(Path(kernels.__file__).resolve())

    def test_contexts_count_what_is_within(self) -> None:
        kernel = schedsearch.kernel(kernels.matmul)
        with schedsearch.record() as outer:
            kernel(*small())
            with schedsearch.record() as inner:
                kernel(*small())
            kernel(*small())
        kernel(*small())
        assert [each.calls for each in inner.counted] == [1]
        assert [each.calls for each in outer.counted] == [3]
        with schedsearch.record() as nothing:
            pass
        assert not nothing.counted
        assert repr(nothing) == "no calls"
        assert "matmul(M=4, N=4, K=4): 3 calls" in repr(outer)

    def test_layouts_of_windows(self) -> None:
        kernel = schedsearch.kernel(kernels.windows)
        whole = np.ones((8, 8))
        y = np.zeros((4, 4))
        layouts = {
            "dense": np.ones((4, 4)),
            "rows": whole[:4, :4],
            "strided": whole[::2, ::2],
        }
        for _ in range(2):
            with schedsearch.record() as calls:
                for number, x in enumerate(layouts.values(), 1):
                    for _ in range(number):
                        kernel(2.0, y, x)
                kernel(2.0, y, whole[:4, 4:])
                kernel(2.0, y.T, whole[:4, ::-1][:, :4])
            found = {each.called.layouts: each.calls for each in calls.counted}
            assert found == {
                (("y", "dense"), ("x", "dense")): 1,
                (("y", "dense"), ("x", "rows")): 3,
                (("y", "dense"), ("x", "strided")): 3,
                (("y", "strided"), ("x", "strided")): 1,
            }

    def test_index_and_boolean_arguments_are_not_kept(self) -> None:
        kernel = schedsearch.kernel(kernels.row)
        out, x = np.zeros(3, "i4"), np.ones((5, 3), "i4")
        with schedsearch.record() as calls:
            for k in range(5):
                kernel(out, x, k=k, twice=bool(k % 2))
        [found] = calls.counted
        assert (found.calls, found.called.sizes) == (5, (("n", 4), ("m", 3)))

    @pytest.mark.parametrize("proc", [kernels.matmul, kernels.through_static])
    def test_two_threads_lose_no_call(self, proc: object) -> None:
        kernel = schedsearch.kernel(proc)

        def work(number: int) -> None:
            for n in range(10_000):
                side = 2 + n % 3
                if proc is kernels.matmul:
                    kernel(*small(side))
                else:
                    kernel(np.zeros((side, 64), "f4"), np.ones((side, 64), "f4"))

        with schedsearch.record() as calls, ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))
        assert sorted(each.calls for each in calls.counted) == [6666, 6666, 6668]
        assert all(1e-9 < each.seconds / each.calls < 1e-3 for each in calls.counted)

    @pytest.mark.parametrize("folder", [True, False])
    def test_a_forked_child_counts_what_was_before_and_its_own(
        self, folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder, "_recorder", None)
        if folder:
            monkeypatch.setenv(recorder.RECORD, str(tmp_path))
        kernel = schedsearch.kernel(kernels.matmul)
        parent, child = os.pipe(), os.pipe()
        with schedsearch.record() as calls:
            for _ in range(3):
                kernel(*small())
            if pid := os.fork():
                for _ in range(100):
                    kernel(*small())
                os.write(parent[1], b"!")
                assert os.read(child[0], 9) == b"10"
                assert os.waitpid(pid, 0)[1] == 0
            else:
                os.read(parent[0], 1)
                for _ in range(7):
                    kernel(*small())
                os.write(child[1], str(sum(each.calls for each in calls.counted)).encode())
                os._exit(0)
        assert [each.calls for each in calls.counted] == [103]


SCRIPT = """
from __future__ import annotations
import os, signal, sys
import numpy as np, schedsearch
from exo import proc

@proc
def doubled(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = 2.0 * x[i]

def main():
    kernel = schedsearch.kernel(doubled)
    y, x = np.ones(8, "f4"), np.ones(8, "f4")
    kernel(y, x)
    if sys.argv[1] == "fork":
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
        else:
            for _ in range(4):
                kernel(y, x)
            os._exit(0)
    for _ in range(int(sys.argv[2])):
        kernel(y, x)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)

GUARD
    main()
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., int]:
    """Runs a program that is recorded; `guard` is how it begins its work."""

    def run(*args: str, guard: str = 'if __name__ == "__main__":', record: str = "calls") -> int:
        file = tmp_path / "doubled.py"
        file.write_text(SCRIPT.replace("GUARD", guard))
        root = str(Path(schedsearch.__file__).parents[1])
        env = {**os.environ, "PYTHONPATH": root, recorder.RECORD: str(tmp_path / record)}
        command = [sys.executable, str(file), *args]
        return subprocess.run(command, env=env, check=False, timeout=120).returncode

    return run


@pytest.mark.normal
class TestProcesses:
    def test_a_killed_one_leaves_its_counts(
        self, program: Callable[..., int], tmp_path: Path
    ) -> None:
        assert program("killed", "500") == -signal.SIGKILL
        [found] = read_recordings(tmp_path / "calls").counted
        assert (found.called.proc, found.calls) == ("doubled", 501)
        assert found.seconds > 0

    def test_several_in_one_directory(self, program: Callable[..., int], tmp_path: Path) -> None:
        for args in (("ended", "10"), ("killed", "20")):
            program(*args)
        assert len(list((tmp_path / "calls").iterdir())) == 2
        [found] = read_recordings(tmp_path / "calls").counted
        assert found.calls == 32

    def test_a_forked_child_counts_for_itself(
        self, program: Callable[..., int], tmp_path: Path
    ) -> None:
        assert program("fork", "10") == 0
        files = list((tmp_path / "calls").iterdir())
        assert len(files) == 2
        assert sorted(e.calls for f in files for e in entries(f.read_bytes())) == [4, 11]

    def test_a_program_is_a_file_to_load_if_it_is_guarded(
        self, program: Callable[..., int], tmp_path: Path
    ) -> None:
        program("ended", "1")
        program("ended", "1", guard="if True:", record="unguarded")
        [guarded] = read_recordings(tmp_path / "calls").counted
        assert guarded.called.file == str(tmp_path / "doubled.py")
        [unguarded] = read_recordings(tmp_path / "unguarded").counted
        written = Path(unguarded.called.file)
        assert written.name.startswith("doubled-")
        assert "def doubled(" in written.read_text()
        assert guarded.called.key == unguarded.called.key
        assert doubt(written) is None

    def test_a_place_that_cannot_be_written(
        self, program: Callable[..., int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "file").write_text("")
        assert program("ended", "1", record="file/calls") == 1
        assert "SCHEDSEARCH_RECORD=" in capfd.readouterr().err


@pytest.mark.normal
def test_only_what_was_executed_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_to_load(kernels.matmul) == Path(kernels.__file__).resolve()
    assert doubt(Path(kernels.__file__)) is None
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")  # it cannot be noted
    assert file_to_load(kernels.row) == Path(kernels.__file__).resolve()
    monkeypatch.undo()
    (tmp_path / "mine.py").write_text("import exo")
    assert doubt(tmp_path / "mine.py") is not None
