"""The command as users run it: other processes, real compiler, real measurements."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from faults.processes import descendants

from schedsearch.core.records import Outcome, RunStatus
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.search import session
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

from .invoke import COMMAND, KERNELS, MATMUL, SMALL, Answer, environment, found_much, invoke

pytestmark = pytest.mark.slow

Run = Callable[..., Answer]

ESCAPE = "\x1b"
FILES = ("matmul32.c", "matmul32.h", "matmul32.schedule.py")


def candidates(home: Path) -> list[StoredCandidate]:
    with Store.open(home / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        return store.load(scope)


def test_a_run_reports_what_it_found_and_writes_it(first: tuple[Path, Answer]) -> None:
    home, said = first
    assert said.code == 0, said.err
    assert re.search(r"^\d.*x \[.*\] the speed of matmul32 as written: ", said.out, re.MULTILINE)
    assert "Verified on data, confirmed on" in said.out
    assert "reorder_loops(p, " in said.out
    assert "trial budget used up: 4 measured" in said.out
    assert "continue: schedsearch run mm.py --executor inline" in said.out
    for name in FILES:
        assert name in said.out
        assert (home / name).stat().st_size > 0


def test_progress_is_plain_lines_on_standard_error(first: tuple[Path, Answer]) -> None:
    _, said = first
    assert ESCAPE not in said.err + said.out
    lines = said.err.splitlines()
    assert lines[0] == "measuring the baseline ..."
    assert any(line.startswith("matmul32 from mm.py") for line in lines)
    assert any(line.startswith("baseline: ") and "of its roofline" in line for line in lines)
    assert any("searching: best" in line for line in lines)


def test_the_schedule_runs_on_its_own(tuned: Path, tmp_path: Path) -> None:
    text = (tuned / "matmul32.schedule.py").read_text()
    assert "import schedsearch" not in text
    (elsewhere := tmp_path / "elsewhere").mkdir()
    script = shutil.copy(tuned / "matmul32.schedule.py", elsewhere)
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, script], cwd=elsewhere, env=bare, check=True)


def test_the_c_compiles(tuned: Path, tmp_path: Path) -> None:
    command = ["gcc", "-Wall", "-Werror", "-c", tuned / "matmul32.c", "-o", tmp_path / "out.o"]
    subprocess.run(command, check=True)


def test_the_same_command_resumes(tuned: Path) -> None:
    before = {c.id: c.measurements for c in candidates(tuned) if c.measurements}
    again = invoke(tuned, ["run", "mm.py", *SMALL])
    assert again.code == 0
    assert re.search(r"resuming: \d+ candidates known, \d+ measured", again.err)
    after = {c.id: c.measurements for c in candidates(tuned)}
    for candidate_id, measurements in before.items():
        assert [m.kind for m in after[candidate_id]].count("confirm") <= 2, (
            "the best once more in each run"
        )
        assert after[candidate_id][: len(measurements)] == measurements


def test_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    options = ["--executor", "inline", "--budget", "150", "--transforms", "reorder", "--json"]
    answer = invoke(tmp_path, ["run", KERNELS / "talkative.py", *options])
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["proc"] == "fill_one"
    assert found["stop"] == "search space exhausted"
    assert found["outcomes"]["correct"] == found["measured"] + 1
    assert ("fill_one.c" in os.listdir(tmp_path)) == bool(found["files"])
    assert "imit" in found["limited_by"]
    if found["best"] is not None:
        assert found["best"]["speedup"]["value"] > 1.0
    assert "importing the kernel library" in answer.err


def test_a_procedure_that_cannot_be_improved_is_said_to_be_so(tmp_path: Path) -> None:
    options = ["--executor", "inline", "--budget", "150", "--transforms", "fuse"]
    answer = invoke(tmp_path, ["run", KERNELS / "two.py", "fill", *options])
    assert answer.code == 0
    assert "No schedule faster than fill as written was found." in answer.out
    assert "search space exhausted: 0 measured, 1 expanded" in answer.out
    assert "No files are written, as no schedule is faster for certain." in answer.out
    said = [line for line in answer.out.splitlines() if "imits it" in line or "imited by" in line]
    assert len(said) == 1
    assert "continue:" not in answer.out
    assert os.listdir(tmp_path) == ["schedsearch.sqlite"]


# -- looking at what is known ---------------------------------------------------------


def test_list_best_and_show(tuned: Path, run: Run) -> None:
    listed = run("list")
    assert listed.code == 0
    title, row = listed.out.splitlines()[:2]
    assert title.split() == [
        "procedure",
        "on",
        "runs",
        "candidates",
        "measured",
        "best",
        "best",
        "id",
    ]
    assert row.split()[0] == "matmul32"
    assert max(map(len, listed.out.splitlines())) <= 80
    best = run("best", "--json")
    top = json.loads(best.out)[0]
    assert top["outcome"] == "correct"
    shown = run("show", str(top["id"]), "--c")
    assert shown.out.startswith(f"candidate {top['id']} of matmul32: correct\n")
    assert "1. reorder" in shown.out
    assert re.search(r"^confirm: .* calls$", shown.out, re.MULTILINE)
    assert re.search(r"^timed in (cpu|wall) time, warm caches", shown.out, re.MULTILINE)
    assert (
        f"{100 * top['of_roof']['share']:.0f} % of its roofline ({top['of_roof']['name']})"
        in shown.out
    )
    assert "void matmul32(" in shown.out
    (listing,) = json.loads(run("list", "--json").out)
    assert listing["best_id"] == top["id"]
    (finished,) = listing["runs"]
    assert (finished["id"], finished["status"]) == (1, "finished")


@pytest.mark.parametrize("args", [["list"], ["best"], ["show", "1"], ["replay", "2"]], ids=" ".join)
def test_output_into_a_pipe_is_plain(tuned: Path, run: Run, args: list[str]) -> None:
    answer = run(*args)
    assert (answer.code, answer.err) == (0, "")
    assert ESCAPE not in answer.out


def test_show_tells_the_fate_of_every_child(tuned: Path, run: Run) -> None:
    assert "reorder" not in run("show", "1").out
    answer = run("show", "1", "--children")
    children = [c for c in candidates(tuned) if c.parent_id == 1]
    assert f"{len(children)} children:" in answer.out
    for child in children:
        assert re.search(
            rf"^  {child.id} [a-z ,]+: {child.record.trace.steps[-1].transform}",
            answer.out,
            re.MULTILINE,
        )


def test_replay_ends_at_the_recorded_c(tuned: Path, run: Run) -> None:
    deepest = max(candidates(tuned), key=lambda c: len(c.record.trace) * bool(c.record.keys.code))
    answer = run("replay", str(deepest.id))
    assert answer.code == 0
    assert f"C as recorded (code_key {deepest.record.keys.code})" in answer.out
    assert f"{len(deepest.record.trace)}. reorder" in answer.out
    start = run("replay", str(deepest.id), "--step", "0")
    assert start.out.splitlines()[0].startswith("def matmul32(")
    assert "C as recorded" not in start.out


def test_replay_knows_schedules_that_were_not_built(tuned: Path, run: Run) -> None:
    legal = (c for c in candidates(tuned) if c.record.keys.ast and not c.record.keys.code)
    deepest = max(legal, key=lambda c: c.id)
    answer = run("replay", str(deepest.id))
    assert answer.code == 0
    assert f"schedule as recorded (ast_key {deepest.record.keys.ast})" in answer.out


def test_export_writes_the_best(tuned: Path, run: Run) -> None:
    answer = run("export", "--out", tuned / "new" / "kernels")
    assert answer.code == 0
    assert sorted(Path(line).name for line in answer.out.splitlines()) == sorted(FILES)
    for name in ("matmul32.c", "matmul32.h"):
        assert (tuned / "new" / "kernels" / name).read_text() == (tuned / name).read_text()
    exported = (tuned / "new" / "kernels" / "matmul32.schedule.py").read_text()
    assert "the speed of the procedure as written, confirmed" in exported


# -- processes that end early ------------------------------------------------------------


def start(home: Path, *options: str) -> subprocess.Popen[str]:
    """A long search of the matrix product, once it has found something that is faster for
    certain."""
    command = [*COMMAND, "run", MATMUL, "--budget", "200", "--transforms", "reorder,split"]
    process = subprocess.Popen(
        [*command, *options],
        cwd=home,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found_much(line):
            return process
    raise AssertionError(said)


@pytest.mark.parametrize("executor", ["inline", "ray"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_ends_a_search_keeps_everything(
    tmp_path: Path, executor: str, number: signal.Signals, code: int
) -> None:
    """Ctrl-C, and what `timeout`, service managers and batch systems send."""
    process = start(tmp_path, "--executor", executor)
    os.killpg(process.pid, number)  # as a terminal does
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "SIGTERM" not in err
    assert "interrupted: " in out
    assert "not confirmed yet" in out
    assert "continue: schedsearch run" in out
    for name in FILES:
        assert (tmp_path / name).exists()
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        assert store.runs(scope)[0].status is RunStatus.INTERRUPTED
        assert store.outcomes(scope)[Outcome.CORRECT] > 1


def test_sigterm_is_ours_once_ray_is_there(tmp_path: Path) -> None:
    """Ray's library has a handler of its own, which prints a stack."""
    process = start(tmp_path, "--executor", "ray")
    assert process.stderr is not None
    deadline = time.monotonic() + 150
    while not any("ray::BenchWorker" in name for name in started_by(process.pid)):
        assert time.monotonic() < deadline, "Ray does not start"
        time.sleep(0.1)
    process.stderr.readline()  # the search has gone on since
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 143, err
    assert "SIGTERM" not in err
    assert "Traceback" not in err
    assert "interrupted: " in out


def started_by(pid: int) -> list[str]:
    """Command lines of the processes that a process has started, directly or not."""
    found = []
    for child in descendants(pid):
        with suppress(OSError):
            found.append(Path(f"/proc/{child}/cmdline").read_text())
    return found


def test_ctrl_c_before_the_search_has_begun(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", MATMUL, "--executor", "inline"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "measuring the baseline ...\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted; what was measured is kept, the same command continues\n"


def test_ctrl_c_after_the_best_is_known_keeps_it(
    tuned: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the noise of the session is measured."""

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "session_noise", interrupted)
    for name in FILES:
        (tuned / name).unlink()
    answer = run("run", "mm.py", *SMALL, "--trials", "1")
    assert answer.code == 130, answer.err
    assert "interrupted: " in answer.out
    assert "confirmed on" in answer.out
    for name in FILES:
        assert (tuned / name).exists()
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        last = store.runs()[-1]
    assert last.status is RunStatus.INTERRUPTED
    assert (last.summary or {})["best"] is not None


def test_ctrl_c_while_the_command_is_loaded() -> None:
    press = """
import os, signal, sys
from schedsearch.__main__ import main
class Press:
    def find_spec(self, name, *rest):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
main()
"""
    ended = subprocess.run([sys.executable, "-c", press], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_what_cannot_be_loaded_is_no_regression() -> None:
    """1 would be one, to `check`."""
    broken = "import sys; sys.modules['typer'] = None; import schedsearch.__main__ as m; m.main()"
    ended = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True)
    assert ended.returncode == 70
    assert "import of typer halted" in ended.stderr


def test_a_killed_run_continues(tmp_path: Path) -> None:
    process = start(tmp_path, "--executor", "inline")
    process.kill()
    process.communicate()
    known = [c for c in candidates(tmp_path) if c.measurements]
    options = ["--executor", "inline", "--trials", "1", "--transforms", "reorder,split"]
    answer = invoke(tmp_path, ["run", MATMUL, *options])
    assert answer.code == 0, answer.err
    assert f"{len(known) - 1} measured; nothing known is measured again" in answer.err
    assert "confirmed on" in answer.out
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        statuses = [run.status for run in store.runs()]
    assert statuses == [RunStatus.INTERRUPTED, RunStatus.FINISHED]


# -- Ray -----------------------------------------------------------------------------------


def test_a_run_on_ray(tmp_path: Path) -> None:
    options = ["--budget", "150", "--trials", "4", "--transforms", "reorder,fission"]
    answer = invoke(tmp_path, ["run", MATMUL, *options])
    assert answer.code == 0, answer.err
    assert "the speed of matmul32 as written" in answer.out
    assert ESCAPE not in answer.out + answer.err
    assert not re.search(r"\bray\b", answer.err.lower())


def test_ray_that_cannot_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ray's sockets would have longer names than Unix allows.
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    answer = invoke(tmp_path, ["run", MATMUL, "--budget", "60"])
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert "the workers cannot start: Ray did not start" in answer.err
    assert "--executor inline" in answer.err


def test_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # a cluster that runs would not join
    answer = invoke(tmp_path, ["doctor", "--json"])
    assert answer.code == 0, answer.err
    found = {line.split()[0]: line for line in answer.err.splitlines() if line.strip()}
    assert re.search(r"(gcc|clang) \d", found["compiler"])
    assert "A/A ratio" in found["noise"]
    assert "answers" in found["ray"]
    assert "RAY_AUTH_MODE" not in answer.out + answer.err
    assert "registers" in found["isa"]
    assert "limits" in found["sandbox"]
    assert {"flags", "cpu", "caches", "sets", "exo", "peak", "bandwidth", "host"} <= found.keys()
    assert "f32 multiply-adds, GFLOP/s" in answer.err
    assert "memory copy, GB/s" in answer.err
    facts = json.loads(answer.out)
    assert facts["native"] is True
    assert facts["target"]["cpu"] in found["cpu"]
    first = facts["peaks"][0]
    assert f"{first['giga_operations_per_s']['f32']:.0f}" in answer.err
    assert {("memory", "copy"), ("L1", "copy")} <= {
        (each["level"], each["way"]) for each in first["bandwidths"]
    }
    assert f"{facts['noise']['ratio']['value']:.2f}" in found["noise"]
    assert facts["ray"]["answers"] is True
    assert ", ".join(facts["sandbox"]["layers"]) in found["sandbox"]
    assert all(f"{name} {value}" in found["host"] for name, value in facts["host"].items())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="NEON is native here")
def test_foreign_targets_are_described_but_not_timed(tmp_path: Path) -> None:
    described = invoke(tmp_path, ["doctor", "--target", "neon", "--cc", "gcc"])
    assert described.code == 0, described.err
    assert "neon, 32 128-bit registers" in described.out
    assert "neon (46)" in described.out
    assert "timing  not on this machine" in described.out
    assert "peak" not in described.out
    refused = invoke(tmp_path, ["run", MATMUL, "--target", "neon", "--cc", "gcc"])
    assert refused.code == 2
    assert "cannot be timed" in refused.err


@pytest.mark.skipif(len(usable_cores()) < 2, reason="two threads need two cores")
def test_two_threads(tmp_path: Path) -> None:
    """Only parallel loops are offered; they are verified, timed, and compile on their own."""
    (tmp_path / "mm.py").write_text(MATMUL.read_text().replace("32", "128").replace("f128", "f32"))
    options = ("--threads", "2", "--transforms", "parallelize", "--executor", "inline", "--json")
    said = invoke(tmp_path, ["run", "mm.py", *options, "--budget", "150", "--trials", "1"])
    assert said.code == 0, said.err
    assert "2 threads" in said.err
    assert json.loads(said.out)["roof"]["threads"] == 2
    _, *found = candidates(tmp_path)
    traces = [[step.transform for step in c.record.trace.steps] for c in found]
    assert traces == [["parallelize"]]
    assert found[0].record.outcome is Outcome.CORRECT
    exported = invoke(tmp_path, ["export", str(found[0].id), "--out", "out"])
    assert exported.code == 0, exported.err
    code = tmp_path / "out" / "matmul128.c"
    header = code.with_suffix(".h").read_text()
    assert "// - OMP_NUM_THREADS says on how many threads it runs" in header
    lines = dict(re.findall(r"^// - (compile|link): (.*)$", header, re.MULTILINE))
    for line in lines.values():
        assert " -fopenmp " in line
        subprocess.run(shlex.split(line), cwd=code.parent, check=True)
