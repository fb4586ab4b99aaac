"""The kernels of the group `tvm` as TVM tensor expressions, and their calls as MetaSchedule tuned
them: `python -m benchmarks.suite.metaschedule` does that before.

TVM needs arrays that begin at a cache line, so that these have copies of the callers' arrays; the
copying is not timed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import tvm
from tvm import te
from tvm.s_tir import meta_schedule as ms

Call = Callable[[], Any]

_START_S = 180.0

PIXELS, DEPTHWISE, ROWS, COLUMNS = 56, 112, 512, 1024


def _gemm() -> Any:
    a, b = (te.placeholder((512, 512), "float32", name=name) for name in "ab")
    k = te.reduce_axis((0, 512), name="k")
    c = te.compute((512, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    return te.create_prim_func([c, a, b])


def _conv2d() -> Any:
    side = PIXELS + 2
    inp = te.placeholder((side, side, 64), "float32", name="inp")
    w = te.placeholder((3, 3, 64, 64), "float32", name="w")
    ky, kx, ci = (
        te.reduce_axis((0, n), name=name) for name, n in zip("yxc", (3, 3, 64), strict=True)
    )
    out = te.compute(
        (PIXELS, PIXELS, 64),
        lambda y, x, co: te.sum(inp[y + ky, x + kx, ci] * w[ky, kx, ci, co], axis=[ky, kx, ci]),
        name="out",
    )
    return te.create_prim_func([out, inp, w])


def _depthwise() -> Any:
    side = DEPTHWISE + 2
    inp = te.placeholder((side, side, 64), "float32", name="inp")
    w = te.placeholder((3, 3, 64), "float32", name="w")
    ky, kx = (te.reduce_axis((0, 3), name=name) for name in "yx")
    out = te.compute(
        (DEPTHWISE, DEPTHWISE, 64),
        lambda y, x, c: te.sum(inp[y + ky, x + kx, c] * w[ky, kx, c], axis=[ky, kx]),
        name="out",
    )
    return te.create_prim_func([out, inp, w])


def _softmax() -> Any:
    x = te.placeholder((ROWS, COLUMNS), "float32", name="x")
    j, k = (te.reduce_axis((0, COLUMNS), name=name) for name in "jk")
    top = te.compute((ROWS,), lambda i: te.max(x[i, j], axis=j), name="top")
    power = te.compute((ROWS, COLUMNS), lambda i, j: te.exp(x[i, j] - top[i]), name="power")
    total = te.compute((ROWS,), lambda i: te.sum(power[i, k], axis=k), name="total")
    out = te.compute((ROWS, COLUMNS), lambda i, j: power[i, j] / total[i], name="out")
    return te.create_prim_func([out, x])


FORMS = {"gemm": _gemm, "conv2d": _conv2d, "depthwise": _depthwise, "softmax": _softmax}


def target() -> Any:
    cpu = tvm.target.codegen.llvm_get_system_cpu()
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": 1})


def tune(form: str, folder: str) -> None:
    """Until it is ended; what has been measured is kept in the folder from round to round."""
    shutil.rmtree(folder, ignore_errors=True)
    ms.tune_tir(
        FORMS[form](),
        target=target(),
        work_dir=folder,
        max_trials_global=1_000_000,
        num_trials_per_iter=16,
        # Each of their processes spends up to a minute on imports first.
        builder=ms.builder.LocalBuilder(max_workers=2, timeout_sec=_START_S),
        runner=ms.runner.LocalRunner(timeout_sec=_START_S),
    )


@cache
def _tuned(form: str) -> Any:
    """The compiled function. Raises LookupError if nothing has been tuned."""
    # Not above: to tune, this is imported where nothing of ours is installed.
    from benchmarks.suite.metaschedule import folder

    database = ms.database.JSONDatabase(work_dir=str(folder(form)), allow_missing=True)
    schedule = ms.tir_integration.compile_tir(database, FORMS[form](), target())
    if schedule is None:
        raise LookupError(f"not tuned: python -m benchmarks.suite.metaschedule --only {form}")
    return compiled(schedule.mod)


def compiled(function: Any) -> Any:
    return tvm.compile(function, target())["main"]


def _call(form: str, *arrays: Any) -> Call:
    return call_of(_tuned(form), *arrays)


def call_of(function: Any, *arrays: Any) -> Call:
    own = [tvm.runtime.tensor(each) for each in arrays]
    result = np.from_dlpack(own[0])

    def call() -> Any:
        function(*own)
        return result

    return call


gemm = partial(_call, "gemm")
conv2d = partial(_call, "conv2d")
depthwise = partial(_call, "depthwise")
softmax = partial(_call, "softmax")
