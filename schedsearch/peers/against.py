"""The peers of a kernel, and the comparison with them."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedsearch.analysis.conversions import truncated
from schedsearch.core import ast as q
from schedsearch.core.build import ALWAYS, COMPILERS, NO_WRAP, Build, compile_flags
from schedsearch.core.decision import decide
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Failure, GeneratedC, PeerComparison, Target
from schedsearch.core.stats import median_with_interval
from schedsearch.core.suggest import did_you_mean
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.build.host import measuring_cores
from schedsearch.evaluate.oracle.harness import context_fields
from schedsearch.peers.agreement import differences, distance, not_comparable
from schedsearch.peers.array_text import NUMPY, TORCH, array_text
from schedsearch.peers.arrays import Array
from schedsearch.peers.arraywise import NotArraywise, arraywise
from schedsearch.peers.blas_text import blas_text
from schedsearch.peers.child import REPEATED
from schedsearch.peers.configurations import USUAL, Configuration, of_openblas, of_torch
from schedsearch.peers.contender import Contender, PeerError, Terms, What, directing
from schedsearch.peers.described import arguments
from schedsearch.peers.loops_text import loops_text
from schedsearch.peers.rounds import (
    Plan,
    Samples,
    clock_of,
    ratios,
    seconds,
    time_interleaved,
)
from schedsearch.peers.trial import Entered, Peer, enter
from schedsearch.transforms.exo.generated import with_build

LIBRARIES = ("numpy", "scipy", "torch", "numba")
FORMS = "numpy, scipy, torch, numba, cc=COMPILER, FILE.so:SYMBOL or FILE.py:FUNCTION"

_BUILD_S = 120.0
PLAN = Plan(rounds=20, seconds=20.0)

_REPEAT = f"""\
void repeat(long n, void (*call)({", ".join(["long"] * REPEATED)}), const long *a)
{{
    for (long i = 0; i < n; i++)
        call({", ".join(f"a[{number}]" for number in range(REPEATED))});
}}
"""
"""Integers and pointers are passed alike, and a function leaves alone what it does not take."""
_FILE = re.compile(r"(?P<file>.+\.(?P<kind>so|py)):(?P<name>\w+)")
_CALLS_BLAS = re.compile(r"np\.(matmul|einsum)|blas\.")


@dataclass(frozen=True)
class Kernel:
    """The built kernel (its function is `name`) and its origin: `code` is the C of the baseline,
    `written` C of the user's own with the same arguments, if that is where the baseline is from."""

    proc: q.Proc
    binding: Binding
    code: GeneratedC
    target: Target
    artifact: Artifact
    name: str
    cache: Path
    written: str = ""


def parse_against(requests: Sequence[str]) -> tuple[str, ...]:
    """Requests, also several separated by commas. Raises UserError for an unknown one."""
    parts = (part.strip() for request in requests for part in request.split(","))
    found = list(filter(None, parts))
    if requests and not found:
        raise UserError(f"--against: it takes {FORMS}")
    for request in found:
        library = request in LIBRARIES
        file = _FILE.fullmatch(request)
        if not (library or file or re.fullmatch(r"cc=\S+", request)):
            close = did_you_mean(request, (*LIBRARIES, *(f"cc={each}" for each in COMPILERS)))
            raise UserError(f"--against {request!r}: it takes {FORMS}{close}")
        if library and request != "numpy" and importlib.util.find_spec(request) is None:
            raise UserError(f"--against {request}: it is not installed (`pip install {request}`)")
        if file and not os.path.isfile(file["file"]):  # Path.is_file raises for long names
            raise UserError(f"--against {request}: there is no file {file['file']}; check the path")
        if request.startswith("cc="):
            try:
                find_compiler(request[3:])
            except UserError as error:
                raise UserError(f"--against {request}: {error}") from error
    return tuple(dict.fromkeys(found))


def compare(
    kernel: Kernel, requests: Sequence[str], plan: Plan | None = None
) -> list[PeerComparison]:
    """Time the kernel and all peers in the same rounds, on arrays of the same contents. Each is a
    process of its own on the same cores. A short trial finds the fastest of a peer's
    configurations, which competes. A peer that cannot compete says why. Compiled code alone is
    called from C; beside libraries of Python, all are called from Python.
    """
    if context_fields(kernel.code.header):
        reason = "the procedure has configuration fields"
        return [PeerComparison(request, failure=reason) for request in requests]
    threads = kernel.target.threads
    compiled = all(request.startswith("cc=") or ".so:" in request for request in requests)
    terms = Terms(
        arguments(kernel.proc, kernel.binding),
        measuring_cores(threads),
        clock_of(threads),
        repeat=_repeat(kernel) if compiled else "",
    )
    ours = What("native", kernel.name, kernel.artifact.path, context=True)
    with ExitStack() as stack:
        own = stack.enter_context(Contender(ours, terms))
        expected = own.results()
        if why := not_comparable(expected):
            return [PeerComparison(request, failure=why) for request in requests]
        beside = {buf.name for buf in truncated(kernel.proc)}
        entered: dict[str, tuple[Peer, Entered, float]] = {}
        found: dict[str, PeerComparison] = {}
        for request in requests:
            try:
                peer = _peer(request, kernel)
                best = enter(peer, terms)
                stack.enter_context(best.contender)
                got = best.contender.results()
                if problem := differences(expected, got, beside):
                    raise PeerError(f"its results are others: {problem}")
                entered[request] = peer, best, _off(expected, got)
            except UserError as error:
                found[request] = PeerComparison(request, failure=str(error))
        try:
            contenders = {"": own} | {name: each[1].contender for name, each in entered.items()}
            samples = time_interleaved(contenders, plan or PLAN, threads=threads) if entered else {}
        except PeerError as error:
            samples = {}
            for request in entered:
                found[request] = PeerComparison(request, failure=f"while timed: {error}")
        for request, (peer, best, off) in entered.items() if samples else ():
            found[request] = PeerComparison(
                request,
                best.ran,
                off=off,
                text=peer.what.text,
                configurations=best.tried,
                without=tuple(directing(os.environ)),
                **_compared(samples[request], samples[""]),
            )
    return [found[request] for request in requests]


def _repeat(kernel: Kernel) -> str:
    """The library that calls from C; empty if it is not compiled."""
    builder = Builder(find_compiler(), default_flags(kernel.target.fp), kernel.cache)
    built = builder.build(GeneratedC("repeat", "", _REPEAT, digest(_REPEAT)), _BUILD_S)
    return built.path if isinstance(built, Artifact) else ""


def _compared(theirs: Samples, ours: Samples) -> dict[str, Any]:
    each = ratios(theirs, ours)
    return {
        "ratio": median_with_interval(each),
        "decision": decide(each),
        "rounds": len(each),
        "ours_s": seconds(ours),
        "theirs_s": seconds(theirs),
    }


def _off(expected: Mapping[str, Array], got: Mapping[str, Array]) -> float:
    return max((distance(array, got[name]) for name, array in expected.items()), default=0.0)


def _peer(request: str, kernel: Kernel) -> Peer:
    features = frozenset(kernel.target.features)
    file = _FILE.fullmatch(request)
    if file:
        path = os.path.abspath(file["file"])
        if file["kind"] == "so":
            return Peer(request, What("native", file["name"], path), "called as the exported C is")
        what = What("file", file["name"], path)
        return Peer(request, what, configurations=tuple(of_openblas(features)))
    if request.startswith("cc="):
        return _compiled(request, kernel)
    text = _TEXTS[request](kernel)
    what = What("text", f"{request} of {kernel.proc.name}", text=text, library=request)
    ways: Iterator[Configuration] = iter((USUAL,))
    if request == "torch":
        ways = of_torch(features)
    elif _CALLS_BLAS.search(text):
        ways = of_openblas(features)
    how = {"scipy": "scipy.linalg.blas", "numba": "loops as written"}.get(request, "derived")
    return Peer(request, what, how, tuple(ways))


def _arrays(library: Any) -> Callable[[Kernel], str]:
    def text(kernel: Kernel) -> str:
        try:
            return array_text(arraywise(kernel.proc, kernel.binding), library)
        except NotArraywise as error:
            raise PeerError(f"{error}. Give what you would write as FILE.py:FUNCTION.") from error

    return text


_TEXTS: Mapping[str, Callable[[Kernel], str]] = {
    "numpy": _arrays(NUMPY),
    "torch": _arrays(TORCH),
    "scipy": lambda kernel: blas_text(arraywise(kernel.proc, kernel.binding)),
    "numba": lambda kernel: loops_text(kernel.proc, kernel.binding),
}


def as_experts_compile(code: GeneratedC) -> GeneratedC:
    """The same C, its array arguments declared not to overlap: Exo's do not, its C does not say
    so."""
    return with_build(code.proc, code.header, code.source, Build(restrict=True))


def _compiled(request: str, kernel: Kernel) -> Peer:
    compiler = find_compiler(request.removeprefix("cc="))
    flags = default_flags(kernel.target.fp)
    if kernel.target.threads > 1:
        flags = kernel.target.flags
    if kernel.written:
        flags = (*flags, NO_WRAP)
    builder = Builder(compiler, flags, kernel.cache)
    if kernel.written:
        code = GeneratedC(kernel.code.proc, "", kernel.written, digest(kernel.written))
        what = "the file as written"
    else:
        code = as_experts_compile(kernel.code)
        what = "Exo's C of it as written, restrict added"
    built = builder.build(code, _BUILD_S)
    if isinstance(built, Failure):
        raise PeerError(f"{compiler.kind} does not compile it: {built.message}")
    flags = compile_flags(flags, code.source, compiler.kind)
    flags = tuple(each for each in flags if each not in (*ALWAYS, NO_WRAP))
    how = f"{what}, {compiler.kind} {compiler.version} {' '.join(flags)}"
    return Peer(request, What("native", kernel.code.proc, built.path, context=True), how)
