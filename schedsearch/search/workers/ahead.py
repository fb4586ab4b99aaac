"""The way to the normal form, looked for in a process of its own while the procedure as written is
verified. What is at its end is compiled there, too, so that building it finds that in the cache.

That process is off the cores that kernels are timed on, and it stands still while the procedure as
written is timed (`paused`); its compiler, which would stay if both died then, is ended and begins
again. So would a process that is only starting: it ends, as it would not be waited for. Like Ray's
workers it loads the user's file. If anything goes wrong in it, the job is done as if it had never
been there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from schedsearch.core.errors import UserError
from schedsearch.core.machine import collect_rarely
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.process import (
    child_environment,
    has_ended,
    kill_group,
    kill_marked,
)
from schedsearch.evaluate.run.runner import was_killed
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import MeasuringPlace
from schedsearch.search.workers.jobs import ExpandWorker, Job, Loaded, NormaliseJob, WorkSpec
from schedsearch.transforms.children import Replay
from schedsearch.transforms.registry import select

_START = (
    "import sys; sys.path[:] = sys.argv[3:]\n"
    "from schedsearch.search.workers.ahead import run; run(int(sys.argv[1]), int(sys.argv[2]))"
)
_MARK = "SCHEDSEARCH_AHEAD"  # in the environment of the process and its compiler
_BEGUN = b"b"  # before the result in its file
_POLL_S = 0.01
_ENDING_S = 0.3
_PR_SET_PDEATHSIG = 1


class Ahead:
    """Does `job` of `spec` from now on, until `close`. `failed`: nothing will come of it."""

    def __init__(self, spec: WorkSpec, job: NormaliseJob) -> None:
        self.spec, self.job, self.failed = spec, job, False
        own = secrets.token_hex(8)
        self._mark = f"{_MARK}={own}"
        self._found = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        found, parent = self._found.fileno(), os.getpid()
        with tempfile.TemporaryFile() as given:
            pickle.dump((spec, job), given)
            given.seek(0)
            self._child = subprocess.Popen(
                [sys.executable, "-c", _START, str(found), str(parent), *sys.path],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[found],
                start_new_session=True,
                env=child_environment({_MARK: own}),
            )

    def is_for(self, spec: WorkSpec, job: Job) -> bool:
        """Whether that is its job, in whatever time."""
        return isinstance(job, NormaliseJob) and (spec, job.trace) == (self.spec, self.job.trace)

    @property
    def begun(self) -> bool:
        """Whether it has loaded the procedure."""
        return not self._found.closed and os.fstat(self._found.fileno()).st_size > 0

    def result(self, timeout_s: float) -> Replay | None:
        """What came of it; None if that takes longer, or if it `failed`."""
        if not self._ends(timeout_s):
            return None
        if self._child.wait() == 0:
            self._found.seek(len(_BEGUN))
            with contextlib.suppress(EOFError, pickle.UnpicklingError):
                if isinstance(found := pickle.load(self._found), Replay):
                    return found
        self.failed = True
        return None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It stands still meanwhile. If it has not `begun`, it is ended: it does not end with this
        process yet, whatever that dies of, and what is stopped would stay."""
        if not self.begun:
            self.close()
        try:
            self._signal(signal.SIGSTOP)
            kill_marked(self._mark, spared=self._child.pid)
            yield
        finally:
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, at once unless it has to end its compiler and remove the files of that first."""
        if self._child.returncode is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            try:
                self._ends(_ENDING_S)
            finally:
                kill_group(self._child)
        if self._child.returncode != 0:
            kill_marked(self._mark)
        self._found.close()

    def _ends(self, timeout_s: float) -> bool:
        """Whether it has ended by then."""
        until = time.monotonic() + timeout_s
        while not (ended := has_ended(self._child)) and (left_s := until - time.monotonic()) > 0:
            time.sleep(min(_POLL_S, left_s))
        return ended

    def _signal(self, number: signal.Signals) -> None:
        if self._child.returncode is None:  # not reaped: the number is its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)


def run(found: int, parent: int) -> None:
    """In the process: do the job on stdin, and write the result to the file `found`."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # with the thread that started it
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    spec, job = pickle.load(sys.stdin.buffer)
    MeasuringPlace.of(spec.target).leave()
    collect_rarely()
    worker = ExpandWorker(Loaded(spec))
    assert worker.loaded.replayer, "loads the procedure"
    with open(found, "wb") as file:
        file.write(_BEGUN)
        file.flush()
        result = worker.run(job)
        if isinstance(result, Replay) and result.steps and (made := result.steps[-1].made):
            _compile(spec.builder, made.code)
        pickle.dump(result, file)


def _compile(builder: Builder, code: GeneratedC) -> None:
    """Once more if that was ended (`paused`). Whoever builds it says why it cannot be built."""
    for _ in range(2):
        with contextlib.suppress(UserError):
            built = builder.build(code, BUILD_TIMEOUT_S)
            if not (isinstance(built, Failure) and was_killed(built)):
                return


def look_ahead(spec: WorkSpec, trace: Trace, patience_s: float) -> Ahead | None:
    """Look for the way from `trace` to the normal form of `spec`, for so long. None where no core
    is left for it, where there is no such form, or where no process can be started for it."""
    normal = any(each.normal_form for each in select(spec.transforms))
    if spec.own or not normal or spec.target.threads >= spec.target.cores:
        return None
    try:
        return Ahead(spec, NormaliseJob(trace, patience_s))
    except OSError:
        return None
