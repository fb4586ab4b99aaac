"""The process of one contender: it makes the arrays, prepares the call, and obeys requests.

It writes each answer, a line of JSON, to its former standard output; prints of other code go to
standard error.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import mmap
import os
import random
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from schedsearch.core.suggest import did_you_mean

Call = Callable[[], object]

REPEATED = 16
"""Arguments of calls that C repeats."""

_GAP = 1 << 23
"""Bytes of addresses that are taken before new arrays, at most: else these would take turns in two
places. They are never touched."""


class _Contender:
    def __init__(self, job: Mapping[str, Any]) -> None:
        # Not before affinity is set: libraries count the cores they may use when they are loaded.
        from schedsearch.peers.arrays import Argument, make_arrays

        described = tuple(map(Argument.from_json, job["arguments"]))
        self.arrays = make_arrays(described, job["seed"])
        self.read = time.process_time if job["clock"] == "cpu" else time.perf_counter
        self.what = job["what"]
        self.random = random.Random(job["seed"])
        self.native = self.what["kind"] == "native"
        self.repeat = job["repeat"]
        self.calls: Callable[[int], object] = self.from_python
        self.prepare = self.loaded if self.native else self.preparing()
        self.call = self.prepare()

    def loaded(self) -> Call:
        """From a copy, so that the code is elsewhere each time."""
        with tempfile.NamedTemporaryFile(suffix=".so") as copy:
            copy.write(Path(self.what["path"]).read_bytes())
            copy.flush()
            function = ctypes.CDLL(copy.name)[self.what["name"]]
        function.restype = None
        # Converted once: a call then costs less than a microsecond.
        passed = (*([None] if self.what["context"] else []), *self.arrays.passed())
        words = [int(getattr(each, "value", 0) or 0) for each in passed]
        windows = any(isinstance(each, ctypes.Structure) for each in passed)
        if self.repeat and len(words) <= REPEATED and not windows:
            given = (ctypes.c_long * REPEATED)(*words)
            repeat, code = ctypes.CDLL(self.repeat)["repeat"], ctypes.c_void_p.from_buffer(function)
            self.calls = lambda calls: repeat(ctypes.c_long(calls), code, given)
        return lambda: function(*passed)

    def from_python(self, calls: int) -> None:
        call = self.call
        for _ in range(calls):
            call()

    def preparing(self) -> Callable[[], Call]:
        """What makes the call of the arrays that there are then."""
        what = self.what
        if what["kind"] == "text":
            space: dict[str, Any] = {}
            exec(compile(what["text"], f"<{what['name']}>", "exec"), space)
            function = space["prepare"]
        elif what["kind"] == "file":
            sys.path.insert(0, str(Path(what["path"]).parent))
            found = runpy.run_path(what["path"])
            if what["name"] not in found:
                raise LookupError(
                    f"no function {what['name']} in {what['path']}"
                    f"{did_you_mean(what['name'], [n for n in found if n[0] != '_'])}"
                )
            function = partial(partial, found[what["name"]])  # of the arrays: a call with them
        else:
            function = getattr(importlib.import_module(what["path"]), what["name"])
        return lambda: function(*self.arrays.arrays)

    def sample(self, calls: int, warm: bool) -> dict[str, Any]:
        read = self.read
        self.arrays.restore()
        if warm:
            self.call()
        gc.disable()
        start = read()
        self.calls(calls)
        spent = read() - start
        gc.enable()
        return {"seconds": spent / calls}

    def results(self, to: str | None) -> dict[str, Any]:
        """Outputs of one call from the arrays' initial contents: returned values, or the contents
        after the call. They are written to a file, if one is given."""
        import numpy as np

        self.arrays.restore()
        returned = self.call()
        found = dict(self.arrays.outputs)
        if returned is not None:
            given = returned if isinstance(returned, tuple) else (returned,)
            found = {name: np.asarray(value) for name, value in zip(found, given, strict=True)}
        if to:
            np.savez(to, allow_pickle=False, **found)
        return {}

    def renew(self) -> dict[str, Any]:
        self.gap = mmap.mmap(-1, self.random.randrange(1, _GAP))
        self.arrays = self.arrays.elsewhere()
        self.call = self.prepare()
        return {}


def _libraries(library: str) -> list[str]:
    """The BLAS and its kernels: `openblas 0.3.30, SkylakeX`. For `library`, its own one if it has
    one: SciPy loads NumPy's too."""
    from threadpoolctl import threadpool_info

    if library == "numba":
        return []  # loops of its own
    known = [each for each in threadpool_info() if each["user_api"] == "blas"]
    own = [each for each in known if library and f"{library}.libs" in each["filepath"]]
    found = []
    for each in own or known:
        name = f"{each['internal_api']} {each['version'] or ''}".strip()
        found.append(", ".join(filter(None, [name, each.get("architecture")])))
    if "torch" in sys.modules:
        found.append(f"ATen {sys.modules['torch'].backends.cpu.get_cpu_capability()}")
    return found


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "torch", "numba")
    return {name: sys.modules[name].__version__ for name in names if name in sys.modules}


def main() -> None:
    """The first line on stdin is the job, each one after it a command."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: Mapping[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    contender: _Contender | None = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if contender is None:
                os.sched_setaffinity(0, command["cores"])
                sys.path[:0] = command["paths"]
                contender = _Contender(command)
                contender.results(None)  # the first call may compile or choose: it is not timed
                native = contender.native
                say(
                    {
                        "libraries": [] if native else _libraries(contender.what["library"]),
                        "versions": {} if native else _versions(),
                    }
                )
            elif command["do"] == "sample":
                say(contender.sample(command["calls"], command["warm"]))
            elif command["do"] == "results":
                say(contender.results(command["to"]))
            else:
                say(contender.renew())
        except Exception as error:  # of other people's code: said, not a traceback
            text = str(error).strip().splitlines()
            say({"error": f"{type(error).__name__}: {text[0] if text else ''}".rstrip(": ")})


if __name__ == "__main__":
    main()
