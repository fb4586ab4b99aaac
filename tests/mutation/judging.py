"""What verification makes of the mutants of a procedure."""

from __future__ import annotations

import ctypes
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mutation.emitter import Floats, Variant, artifact, c_of, compiled
from mutation.operators import Mutant, mutants
from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC, Outcome
from schedsearch.core.text import show_proc
from schedsearch.evaluate.bench import Bench
from schedsearch.evaluate.binding import Binding, bind
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.effects import written_buffers
from schedsearch.evaluate.harness import Buffer, context_fields, layout
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.preparing import prepare
from schedsearch.evaluate.work import count_steps
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.mirror import mirror

ALL = 10**6


class Fate(StrEnum):
    REFUSED = "refused"
    EQUIVALENT = "equivalent"
    WEAK = "said to be weakly verified"
    SURVIVED = "SURVIVED"


@dataclass(frozen=True)
class Judged:
    """A mutant, what became of it, and what verification or the comparison says of it."""

    operator: str
    fate: Fate
    reason: str


@dataclass(frozen=True)
class Verdicts:
    """Of one procedure: its mutants, and what the bench says that it can tell."""

    name: str
    judged: tuple[Judged, ...]
    weak: tuple[str, ...]

    @property
    def score(self) -> float:
        """Refused mutants of those that are wrong and said to be verified."""
        fates = [each.fate for each in self.judged]
        refused, survived = fates.count(Fate.REFUSED), fates.count(Fate.SURVIVED)
        return refused / (refused + survived) if refused + survived else 1.0


def judge(procedure: Any, builder: Builder, sizes: dict[str, int], most: int = ALL) -> Verdicts:
    """Verify mutants of an Exo procedure, about `most`, evenly picked.

    Raises UserError if it cannot be prepared, and AssertionError if the procedure itself, in
    plain C, is not accepted.
    """
    meaning, code = mirror(procedure), generate_c(procedure)
    with TemporaryDirectory() as folder:
        bench = prepare(meaning, code, bind(meaning, sizes), builder, Path(folder))
        return judged(bench, meaning, code, Path(folder), most)


def judged(
    bench: Bench, meaning: q.Proc, code: GeneratedC, folder: Path, most: int = ALL
) -> Verdicts:
    """`judge` on a bench that is there."""
    own = inline_calls(meaning)
    all_mutants = list(mutants(own))
    all_mutants = all_mutants[:: max(1, len(all_mutants) // most)]
    variants = [Variant(own), *(mutant.variant for mutant in all_mutants)]
    library = compiled(c_of(variants, code), folder, "mutants", _flags(bench, meaning))
    itself = bench.verify(artifact(library, 0))
    assert itself is None, f"{code.proc} itself is refused: {itself}"
    found, accepted = list[Judged](), list[int]()
    for number, mutant in enumerate(all_mutants, 1):
        failure = bench.verify(artifact(library, number))
        if failure is None:
            accepted.append(number)
            continue
        undecided = failure.outcome not in (Outcome.INCORRECT, Outcome.CRASH)
        fate = Fate.SURVIVED if undecided else Fate.REFUSED
        found.append(Judged(mutant.operator, fate, failure.message))
    found += _accepted(bench, own, code, folder, [(n, all_mutants[n - 1]) for n in accepted])
    return Verdicts(code.proc, tuple(found), bench.agreement.weak)


def _flags(bench: Bench, proc: q.Proc) -> tuple[str, ...]:
    """What takes less time in all: compiling, or running."""
    return ("-O0",) if count_steps(proc, bench.cases[-1].binding) < _SMALL else ("-O1",)


def _accepted(
    bench: Bench,
    own: q.Proc,
    code: GeneratedC,
    folder: Path,
    accepted: Sequence[tuple[int, Mutant]],
) -> Iterator[Judged]:
    if not accepted:
        return
    variants = [Variant(own), *(mutant.variant for _, mutant in accepted)]
    exact = Comparison(own, code, variants, bench, folder)
    outputs = {var.name for var in written_buffers(own)}
    weak = {text.split()[0] for text in bench.agreement.weak}
    for number, (_, mutant) in enumerate(accepted, 1):
        differs = exact.differences(number)
        if not differs:
            fate = Fate.EQUIVALENT
        elif not weak <= outputs or differs.keys() <= weak:  # all, or these
            fate = Fate.WEAK
        else:
            fate = Fate.SURVIVED
        reason = "; ".join(differs.values()) or "no difference on dense data"
        yield Judged(mutant.operator, fate, f"{reason}\n{_changes(own, mutant.variant.proc)}")


def _changes(own: q.Proc, other: q.Proc) -> str:
    """What a mutant does otherwise, as lines of text."""
    before, after = (
        [line.strip() for line in show_proc(proc).splitlines()] for proc in (own, other)
    )
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


_SMALL = 1e6
_RANGES = ((-1.0, 1.0), (0.5, 1.5), (-8.0, 8.0), (-1e-3, 1e-3), (-100.0, 100.0))
# What roundings in double precision may do: of an element, and of the largest one.
_RELATIVE, _ABSOLUTE = 1e-11, 1e-13


class Comparison:
    """Variants of a procedure against the first one, floats all in double precision, on dense
    data of every size that the bench has: what differs there is no rounding."""

    def __init__(
        self,
        proc: q.Proc,
        code: GeneratedC,
        variants: Sequence[Variant],
        bench: Bench,
        folder: Path,
    ) -> None:
        self.proc, self.code = proc, code
        text = c_of(variants, code, Floats.DOUBLE)
        self.library = compiled(text, folder, "double", _flags(bench, proc))
        bindings = dict.fromkeys(case.binding for case in bench.cases)
        self.runs = [(binding, lo, hi) for binding in bindings for lo, hi in _RANGES]
        self.wanted = {run: self.called(0, *run) for run in self.runs}

    def differences(self, number: int) -> dict[str, str]:
        """What differs, by name of the output; empty if nothing does."""
        found: dict[str, str] = {}
        for run in self.runs:
            for name, got in self.called(number, *run).items():
                right = self.wanted[run][name]
                wrong = np.flatnonzero(_different(got, right))
                if name not in found and len(wrong):
                    at = wrong[0]
                    found[name] = (
                        f"{name}: {len(wrong)} of {got.size} differ, element {at} is {got[at]:.9g} "
                        f"instead of {right[at]:.9g}, {run[0]}, from {run[1]:g} to {run[2]:g}"
                    )
        return found

    def called(self, number: int, binding: Binding, lo: float, hi: float) -> dict[str, Any]:
        """The arrays after a call, and the configuration."""
        random = np.random.default_rng(5)
        path = self.library.with_name(f"{self.library.stem}_{number}.so")
        if not path.exists():
            Path(artifact(self.library, number).path).rename(path)
        loaded = ctypes.CDLL(str(path))
        context = (ctypes.c_char * 4096)()
        arrays: dict[str, Any] = {}
        given: list[Any] = [ctypes.byref(context)]
        for arg, item in zip(self.proc.args, layout(self.proc, binding), strict=True):
            if not isinstance(item, Buffer):
                given.append((ctypes.c_bool if arg.type == "bool" else ctypes.c_long)(item))
                continue
            array = _drawn(item, random, lo, hi)
            arrays[item.name] = array
            address = ctypes.c_void_p(array.ctypes.data)
            given.append(_window(address, item) if arg.window and arg.shape else address)
        function = loaded[self.code.proc]
        function.restype = None
        function(*given)
        if context_fields(self.code.header):
            arrays["configuration"] = np.frombuffer(bytes(context), np.uint8)
        return arrays


def _different(got: Any, right: Any) -> Any:
    """Of NaNs and infinities nothing is promised (`FloatingPoint.FAST`)."""
    if got.dtype != np.float64:
        return got != right
    defined = np.isfinite(right)
    largest = np.max(np.abs(right), where=defined, initial=0.0)
    with np.errstate(invalid="ignore"):
        allowed = _RELATIVE * np.abs(right) + _ABSOLUTE * largest
        return defined & (got != right) & ~(np.abs(got - right) <= allowed)


def _drawn(buffer: Buffer, random: np.random.Generator, lo: float, hi: float) -> Any:
    dtype = {"i8": np.int8, "ui8": np.uint8, "ui16": np.uint16, "i32": np.int32}.get(buffer.type)
    if dtype:
        least = 0 if buffer.type.startswith("u") else -8
        return random.integers(least, 9, buffer.elements).astype(dtype)
    return random.uniform(lo, hi, buffer.elements)


def _window(address: ctypes.c_void_p, buffer: Buffer) -> ctypes.Structure:
    rank = len(buffer.shape)

    class Window(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("strides", ctypes.c_long * rank))

    return Window(address, (ctypes.c_long * rank)(*buffer.strides))
