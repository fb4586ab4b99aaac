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

from mutation.emitter import WATCHED, Floats, Variant, artifact, c_of, compiled
from mutation.operators import Mutant, mutants
from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC, Outcome
from schedsearch.core.text import show_proc
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.evaluate.arguments.layout import Buffer, layout
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.harness import context_fields
from schedsearch.evaluate.roof.work import count_steps
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

ALL = 10**6


class Fate(StrEnum):
    REFUSED = "refused"
    EQUIVALENT = "equivalent"
    WEAK = "said to be weakly verified"
    UNDECIDED = "undefined on all data"
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
    outputs = {var.name for var in written_buffers(own.body)}
    weak = {text.split()[0] for text in bench.agreement.weak}
    for number, (_, mutant) in enumerate(accepted, 1):
        differs = exact.differences(number)
        if not exact.wanted:
            fate = Fate.WEAK if weak else Fate.UNDECIDED
        elif not differs:
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
# Of floats, and the largest integers.
_RANGES = ((-1.0, 1.0, 2), (0.5, 1.5, 8), (-8.0, 8.0, 8), (-1e-3, 1e-3, 1), (-100.0, 100.0, 100))
# What roundings in double precision may do: of an element, and of the largest one.
_RELATIVE, _ABSOLUTE = 1e-11, 1e-13
_NARROWING = frozenset(("as_f16", "as_f32"))
_DTYPES = {
    **{"R": np.float32, "f16": np.float16, "f32": np.float32, "f64": np.float64},
    **{"i8": np.int8, "ui8": np.uint8, "ui16": np.uint16, "i32": np.int32},
}


@dataclass(frozen=True)
class _Run:
    """A call, and the range of its floats and integers."""

    binding: Binding
    lo: float
    hi: float
    most: int


class Comparison:
    """Variants of a procedure against the first one, floats all in double precision, on dense
    data of every size that the bench has: what differs there is no rounding.

    A variant that converts to a narrower type does nothing else; it is compared with all as it is
    written, where a value may have that type before, or has it afterwards anyway. Data on which C
    does not define what the procedure computes do not count.
    """

    def __init__(
        self,
        proc: q.Proc,
        code: GeneratedC,
        variants: Sequence[Variant],
        bench: Bench,
        folder: Path,
    ) -> None:
        self.proc, self.code = proc, code
        narrowing = [number for number, each in enumerate(variants) if _narrows(each.proc)]
        others = [number for number in range(1, len(variants)) if number not in narrowing]
        self.numbers = {Floats.AS_WRITTEN: [0, *narrowing], Floats.DOUBLE: [0, *others]}
        flags = (*_flags(bench, proc), WATCHED)
        self.libraries = {
            floats: compiled(
                c_of([variants[number] for number in own], code, floats, True),
                *(folder, floats.name, flags),
            )
            for floats, own in self.numbers.items()
        }
        bindings = dict.fromkeys(case.binding for case in bench.cases)
        runs = [_Run(binding, *numbers) for binding in bindings for numbers in _RANGES]
        every = {run: {floats: self.called(floats, 0, run) for floats in Floats} for run in runs}
        self.wanted = {
            run: {floats: arrays for floats, arrays in wanted.items() if arrays is not None}
            for run, wanted in every.items()
            if None not in wanted.values()
        }

    def differences(self, number: int) -> dict[str, str]:
        """What differs, by name of the output; empty if nothing does."""
        floats = next(floats for floats, own in self.numbers.items() if number in own[number > 0 :])
        found: dict[str, str] = {}
        for run, wanted in self.wanted.items():
            for name, got in (self.called(floats, number, run) or {}).items():
                right = wanted[floats][name]
                wrong = np.flatnonzero(_different(got, right, wanted[Floats.AS_WRITTEN][name]))
                if name not in found and len(wrong):
                    at = wrong[0]
                    found[name] = (
                        f"{name}: {len(wrong)} of {got.size} differ, element {at} is {got[at]:.9g} "
                        f"instead of {right[at]:.9g}, {run}"
                    )
        return found

    def called(self, floats: Floats, number: int, run: _Run) -> dict[str, Any] | None:
        """The arrays after a call, and the configuration; None if it is undefined."""
        random = np.random.default_rng(5)
        library, number = self.libraries[floats], self.numbers[floats].index(number)
        path = library.with_name(f"{library.stem}_{number}.so")
        if not path.exists():
            Path(artifact(library, number).path).rename(path)
        loaded = ctypes.CDLL(str(path))
        context = (ctypes.c_char * 4096)()
        arrays: dict[str, Any] = {}
        given: list[Any] = [ctypes.byref(context)]
        for arg, item in zip(self.proc.args, layout(self.proc, run.binding), strict=True):
            if not isinstance(item, Buffer):
                given.append((ctypes.c_bool if arg.type == "bool" else ctypes.c_long)(item))
                continue
            array = _drawn(item, random, run, floats)
            arrays[item.name] = array
            address = ctypes.c_void_p(array.ctypes.data)
            given.append(_window(address, item) if arg.window and arg.shape else address)
        undefined = ctypes.c_int.in_dll(loaded, "undefined")
        undefined.value = 0
        function = loaded[self.code.proc]
        function.restype = None
        function(*given)
        if undefined.value and number == 0:  # of a variant, that may be what is wrong
            return None
        if context_fields(self.code.header):
            arrays["configuration"] = np.frombuffer(bytes(context), np.uint8)
        return arrays


def _narrows(proc: q.Proc) -> bool:
    exprs = (expr for stmt in q.walk(proc.body) for expr in q.stmt_exprs(stmt))
    nodes = (node for expr in exprs for node in q.walk_expr(expr))
    return any(isinstance(node, q.Extern) and node.name in _NARROWING for node in nodes)


def _different(got: Any, right: Any, written: Any) -> Any:
    """By more than roundings, the one to the type of the array included. Of NaNs and infinities
    nothing is promised (`FloatingPoint.FAST`), and small numbers are flushed to zero; `written` is
    right in the types of the procedure."""
    if not np.issubdtype(got.dtype, np.floating):
        return got != right
    defined = np.isfinite(right) & np.isfinite(written)
    got, right = got.astype(np.float64), right.astype(np.float64)
    largest = np.max(np.abs(right), where=defined, initial=0.0)
    own = np.finfo(written.dtype)
    relative = max(_RELATIVE, float(own.eps) / 2)
    with np.errstate(invalid="ignore"):
        allowed = relative * np.abs(right) + _ABSOLUTE * largest + float(own.tiny)
        return defined & (got != right) & ~(np.abs(got - right) <= allowed)


def _drawn(buffer: Buffer, random: np.random.Generator, run: _Run, floats: Floats) -> Any:
    dtype = _DTYPES[buffer.type]
    if np.issubdtype(dtype, np.integer):
        least = 0 if buffer.type.startswith("u") else -run.most
        return random.integers(least, run.most + 1, buffer.elements).astype(dtype)
    drawn = random.uniform(run.lo, run.hi, buffer.elements)
    return drawn if floats is Floats.DOUBLE else drawn.astype(dtype)


def _window(address: ctypes.c_void_p, buffer: Buffer) -> ctypes.Structure:
    rank = len(buffer.shape)

    class Window(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("strides", ctypes.c_long * rank))

    return Window(address, (ctypes.c_long * rank)(*buffer.strides))
