"""What generated C computes, in a child process, against what the procedure means: within
enclosures that the tests' interpreter finds, as the plain interpreter has to be."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transforms.helpers import arguments
from transforms.interpret import interpret

from fuzz.comparison import Case, compare
from fuzz.enclosure import Undefined, enclosures, loose, within
from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC

TIMEOUT_S = 120.0
"""For compiling and running all of a procedure's schedules."""


class Disagreement(Exception):
    """The two references differ, or an access of the procedure is out of bounds."""


def cases(meaning: q.Proc, sizes: Sequence[Mapping[str, int]]) -> tuple[list[Case], Counter[str]]:
    """Arguments with what the procedure may make of them, where that is defined; and how many
    sizes are left out or say little, by reason.

    Raises Disagreement if the plain interpreter computes what the bounds exclude.
    """
    found: list[Case] = []
    left_out: Counter[str] = Counter()
    for controls in sizes:
        reason = ""
        for most, parts in ((3, 4), (1, 1)):
            given, wanted = (_arguments(meaning, controls, most, parts) for _ in range(2))
            try:
                bounds = enclosures(meaning, given)
                with np.errstate(all="ignore"):
                    interpret(meaning, wanted)
            except Undefined as error:
                reason = reason or f"sizes with undefined results: {error}"
                continue
            except AssertionError as error:
                raise Disagreement(f"{type(error).__name__}: {error}") from error
            if not all(map(within, wanted, bounds)):
                raise Disagreement(f"interpreter: {wanted}, enclosures: {bounds}")
            found.append((controls, given, bounds))
            reason = "sizes with loose bounds, compared" if loose(bounds) else ""
            break
        left_out.update([reason] if reason else [])
    return found, left_out


def _arguments(meaning: q.Proc, controls: Mapping[str, int], most: int, parts: int) -> list[Any]:
    """Numbers from `-most` to `most`: for floats multiples of 1 / `parts`."""
    rng = np.random.default_rng(3)
    args = arguments(meaning, controls, 3)
    for number, value in enumerate(args):
        if isinstance(value, np.ndarray):
            divisor = parts if value.dtype.kind == "f" else 1
            least = 0 if value.dtype.kind == "u" else -most * divisor
            drawn = rng.integers(least, most * divisor + 1, value.shape)
            args[number] = np.asarray(drawn / divisor, value.dtype)
    return args


def differences(
    meaning: q.Proc,
    codes: Sequence[GeneratedC],
    data: Sequence[Case],
    folder: Path,
    flags: Sequence[str],
) -> dict[int, str]:
    """What is wrong with which of `codes`."""
    found = _in_child(meaning, codes, data, folder, flags)
    if isinstance(found, dict):
        return found
    if len(codes) == 1:
        return {0: found}
    alone = (_in_child(meaning, [code], data, folder, flags) for code in codes)
    return {
        number: result if isinstance(result, str) else result[0]
        for number, result in enumerate(alone)
        if result
    }


def _in_child(*work: Any) -> dict[int, str] | str:
    """What is wrong with which function; or what became of the process.

    It is no fork of this process: if OpenMP ran here, its threads would be missing there, and
    a parallel kernel would wait for them without end.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numpy", "schedsearch.core.records"])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=compare, args=(sender, *work))
    child.start()
    sender.close()
    try:
        if not receiver.poll(TIMEOUT_S):
            child.kill()
            return f"no answer after {TIMEOUT_S:g} s"
        found: dict[int, str] | str = receiver.recv()
        return found
    except EOFError:
        child.join()
        return f"the process ended with {child.exitcode}"
    finally:
        child.join()
        child.close()
        receiver.close()
