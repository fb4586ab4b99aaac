"""Random calls, right and wrong, of kernels and callers with AddressSanitizer: a program of
test_sanitized.py. Its argument is the number of calls, or `fault`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import schedsearch
from deploy.calls import SPOILERS, SUBJECTS
from schedsearch.deploy import caller, variants
from schedsearch.evaluate.build import builder

del os.environ["LD_PRELOAD"]  # compilers have limited memory, and are not what is tested

SANITIZE = ("-fsanitize=address", "-g")

builder._PROGRAM_FLAGS = (*builder._PROGRAM_FLAGS, *SANITIZE)
here = variants.here
variants.here = lambda: replace(here(), flags=(*here().flags, *SANITIZE))  # type: ignore[assignment]


def without_shape_check(*args: Any) -> dict[str, str]:
    """A caller that takes arrays of every shape."""
    files = sources(*args)
    text = files["signature.c"]
    head, tail = text.index("int wrong_shape"), text.index("int broken")
    unchecked = "int wrong_shape(const struct arg *args, int *dim) { return -1; }\n"
    return {**files, "signature.c": text[:head] + unchecked + text[tail:]}


sources = caller.sources
if sys.argv[1] == "fault":
    caller.sources = without_shape_check  # type: ignore[assignment]
count = 500 if sys.argv[1] == "fault" else int(sys.argv[1])
kernels = {name: schedsearch.kernel(subject.proc) for name, subject in SUBJECTS.items()}
ended = {"returned": 0, "refused": 0}


@settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(SUBJECTS)),
    st.integers(-5, len(SPOILERS) - 1),
    st.integers(0, 2**32 - 1),
)
def call(name: str, spoiler: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = SUBJECTS[name].make(rng)
    spoiled = SPOILERS[spoiler](made, rng) if spoiler >= 0 else None
    made = spoiled[0] if spoiled else made
    try:
        kernels[name](*made.arrays.values(), **made.controls)
    except (TypeError, ValueError):
        ended["refused"] += 1
    else:
        ended["returned"] += 1


call()
print(ended["returned"], ended["refused"])
