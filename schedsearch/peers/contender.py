"""A contender in a process of its own, in an environment that slows no contender down."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.process import child_environment, kill_group
from schedsearch.peers.arrays import Argument, Array

_ROOT = Path(__file__).parents[2]

# Time for imports and other compilers, and for calls of slow peers.
_PREPARE_S, _CALL_S = 300.0, 300.0

# Variables that limit or direct other libraries; the number of threads is set anew.
_DIRECTING = (
    *("OPENBLAS_", "GOTO_", "MKL_", "OMP_", "KMP_", "GOMP_", "BLIS_", "NVPL_", "NUMEXPR_"),
    *("NPY_", "DNNL_", "ONEDNN_", "ATEN_", "NUMBA_", "VECLIB_"),
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class PeerError(UserError):
    """A contender could not be prepared, or ended."""


@dataclass(frozen=True)
class What:
    """The code of a contender.

    `native`: the function `name` of the library at `path`, with a context first or not.
    `text`: Python that defines `prepare`; `module`: such a function `name` of the module `path`:
    called with the arrays, it returns the call. `file`: the function `name` of a Python file, which
    is called with the arrays itself. `library` is what computes, if it is but one.
    """

    kind: str
    name: str
    path: str = ""
    text: str = ""
    context: bool = False
    library: str = ""


@dataclass(frozen=True)
class Terms:
    """Parts that all contenders share. `repeat`: a library whose `repeat` calls compiled code in a
    loop; without it Python does."""

    arguments: tuple[Argument, ...]
    cores: tuple[int, ...]
    clock: str
    seed: int = 0
    paths: tuple[str, ...] = ()
    repeat: str = ""


def directing(environment: Mapping[str, str]) -> list[str]:
    """Variables of an environment that no contender gets."""
    return sorted(name for name in environment if name.startswith(_DIRECTING))


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """This process's, without what directs libraries, and `own`."""
    environment = child_environment({})
    for name in directing(environment):
        del environment[name]
    path = [str(_ROOT), environment.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, path)), **own}


class Contender:
    """A process that is told when to compute. Use as a context. Raises PeerError if it fails."""

    def __init__(
        self, what: What, terms: Terms, variables: Mapping[str, str] | None = None
    ) -> None:
        own = {**dict.fromkeys(_THREADS, str(len(terms.cores))), **(variables or {})}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        self._buffer = b""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "schedsearch.peers.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env=_environment(own),
        )
        job = {
            "arguments": [argument.to_json() for argument in terms.arguments],
            "cores": terms.cores,
            "clock": terms.clock,
            "seed": terms.seed,
            "paths": terms.paths,
            "repeat": terms.repeat,
            "what": asdict(what),
        }
        try:
            ready = self._ask(job, _PREPARE_S)
        except BaseException:
            self.close()
            raise
        self.libraries: Sequence[str] = ready["libraries"]
        self.versions: Mapping[str, str] = ready["versions"]

    def __enter__(self) -> Contender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """May be called again."""
        if not self._errors.closed:
            kill_group(self._child)
            self._errors.close()

    def sample(self, calls: int, *, warm: bool) -> float:
        """Seconds per call of some calls in a row, from the arrays' start; `warm`: after one
        that is not timed."""
        answer = self._ask({"do": "sample", "calls": calls, "warm": warm}, _CALL_S)
        return float(answer["seconds"])

    def renew(self) -> None:
        self._ask({"do": "renew"}, _CALL_S)

    def results(self) -> dict[str, Array]:
        """Outputs of one call from the arrays' start, by argument."""
        with tempfile.TemporaryDirectory() as place:
            to = str(Path(place, "results.npz"))
            self._ask({"do": "results", "to": to}, _CALL_S)
            with np.load(to, allow_pickle=False) as loaded:
                return dict(loaded)

    def _ask(self, command: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(command).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._ended()) from None
        answer: dict[str, Any] = json.loads(self._line(timeout_s))
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def _line(self, timeout_s: float) -> bytes:
        assert self._child.stdout is not None
        out = self._child.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise PeerError(f"no answer within {timeout_s:.0f} s")
            read = os.read(out, 1 << 16)
            if not read:
                raise PeerError(self._ended())
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _ended(self) -> str:
        code = self._child.wait()
        if code < 0:
            return f"it ended by signal {-code}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {code}"
