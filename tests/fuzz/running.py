"""What generated C computes, in a child process, against what the procedure means: by the
product's NumPy reference, which has to agree with the tests' plain interpreter."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transforms.helpers import arguments
from transforms.interpret import interpret

from fuzz.comparison import Case, compare
from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate import reference

TIMEOUT_S = 120.0
"""For compiling and running all of a procedure's schedules."""

EXACT = 2**20
"""Larger results may have been rounded on the way."""


class Disagreement(Exception):
    """The two references differ, or an access of the procedure is out of bounds."""


def cases(meaning: q.Proc, sizes: Sequence[Mapping[str, int]]) -> list[Case]:
    """Arguments with what the procedure makes of them, where that is exact and defined.

    Raises Disagreement if the product's reference and the plain interpreter differ.
    """
    found = []
    for controls in sizes:
        for most in (3, 1):
            given, wanted, plain = (_arguments(meaning, controls, most) for _ in range(3))
            try:
                reference.run(meaning, wanted)
                with np.errstate(all="ignore"):
                    interpret(meaning, plain)
            except (OverflowError, ValueError):  # infinite or undefined, as an integer
                continue
            except (reference.OutOfBounds, AssertionError) as error:
                raise Disagreement(f"{type(error).__name__}: {error}") from error
            if not all(_exact(value) for value in wanted if isinstance(value, np.ndarray)):
                continue
            if not all(map(np.array_equal, wanted, plain)):
                raise Disagreement(f"reference: {wanted}, interpreter: {plain}")
            found.append((controls, given, wanted))
            break
    return found


def _arguments(meaning: q.Proc, controls: Mapping[str, int], most: int) -> list[Any]:
    """Whole numbers from `-most` to `most`."""
    drawn = arguments(meaning, controls, 3)
    return [np.asarray(v.clip(-most, most)) if isinstance(v, np.ndarray) else v for v in drawn]


def _exact(values: Any) -> bool:
    return bool(np.all(np.abs(values.astype(np.float64)) <= EXACT))


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
