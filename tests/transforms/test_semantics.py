"""Random schedules compute what the unscheduled procedure means.

The interpreter runs the query AST of the original; it also runs that of every
scheduled state, so that a difference shows whether the rewrite or the printed C
is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from transforms.helpers import CONTROLS, TARGET, arguments, kernels, walk
from transforms.interpret import interpret
from transforms.native import Library

pytestmark = pytest.mark.slow

WALKS = 4
DEPTH = 5


def close(found: list[Any], wanted: list[Any]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in pairs)


def show(trace: Trace) -> str:
    return "\n".join(map(str, trace.steps))


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_random_schedules_keep_the_meaning(name: str, tmp_path: Path) -> None:
    original = kernels()[name]
    meaning = mirror(original)
    codes: dict[str, tuple[GeneratedC, Trace]] = {}
    code = generate_c(original)
    codes[code.key] = code, Trace()
    for seed in range(WALKS):
        # Every other walk may make loops parallel.
        states = list(walk(original, seed, DEPTH, replace(TARGET, threads=1 + seed % 2)))
        for trace, state in states:
            for controls in CONTROLS[name]:
                wanted, found = arguments(meaning, controls, 1), arguments(meaning, controls, 1)
                interpret(meaning, wanted)
                interpret(state.ast, found)
                assert close(found, wanted), f"{controls}\n{show(trace)}"
        trace, state = states[-1]
        code = generate_c(state.procedure)
        codes[code.key] = code, trace
    library = Library([code for code, _ in codes.values()], tmp_path)
    for number, (_, trace) in enumerate(codes.values()):
        for controls in CONTROLS[name]:
            wanted, found = arguments(meaning, controls, 2), arguments(meaning, controls, 2)
            interpret(meaning, wanted)
            library.call(number, meaning, found)
            assert close(found, wanted), f"{controls}\n{show(trace)}"
