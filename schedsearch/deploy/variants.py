"""Machine code of a schedule, loaded into this process.

A store or a lock is data: its traces are replayed, with every check of Exo, and never is C of
theirs compiled. The C that a replay gave is kept in the user's cache, so that other processes
need not replay it.
"""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.analysis.conversions import float_of_integers
from schedsearch.analysis.independence import races
from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.core import ast as q
from schedsearch.core.build import Build, has_threads
from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.core.lasting import lasting_memory
from schedsearch.core.records import Failure, GeneratedC, Target
from schedsearch.core.text_file import write_text
from schedsearch.core.trace import AS_WRITTEN
from schedsearch.deploy import forks, one_at_a_time
from schedsearch.deploy.choose import Offer
from schedsearch.deploy.parameters import declared, with_own_names
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags
from schedsearch.locks.isolated_replay import NoReplayError, replay_isolated
from schedsearch.search.reloading import require_tuned
from schedsearch.search.setup.subject import cache_dir
from schedsearch.search.setup.targets import TargetRequest, read_target, resolve_target
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.transforms.contract import Parameter, parameters
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.generated import code_key
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.vector.instruction_sets import load_instructions

REPLAYED = "replayed"
"""The folder of the cache with the C of replayed schedules."""

OURS = "schedsearch_"
"""How names of C begin that are not the user's."""

_ENTRY = f"{OURS}entry"


class NotLoadedError(Exception):
    """A schedule gives no machine code here; the message says why."""


@dataclass(frozen=True)
class Written:
    """A procedure as written, looked at for calling it: its C, and its parameters there."""

    procedure: Any
    proc: q.Proc
    code: GeneratedC
    parameters: Sequence[Parameter]

    @staticmethod
    def of(procedure: Any) -> Written:
        """Raises UserError for what no schedule makes right, for what Exo has no C for, and for
        state that lasts from call to call."""
        proc = mirror(procedure)
        if problem := out_of_bounds(proc) or float_of_integers(proc) or next(races(proc), None):
            raise UserError(f"{proc.name} cannot be called: {problem}")
        try:
            code = generate_c(procedure)
        except CodegenError as error:
            raise UserError(f"Exo cannot generate C for {proc.name}: {error}") from error
        if "kernel_Context" in code.header:
            raise UserError(
                f"{proc.name} reads or writes configuration fields, for which calls from Python "
                "have no place; give it arguments instead"
            )
        if found := re.search(rf"\b{OURS}\w*(?=\()", code.source):
            raise UserError(
                f"{found[0]} is a name of schedsearch's own, as all that begin with {OURS}: rename "
                "the procedure"
            )
        return Written(procedure, proc, code, parameters(proc, code))


@cache
def here() -> Target:
    """This machine, with the compilers on PATH. What is not tuned is built so that it computes what
    is written."""
    return resolve_target(TargetRequest({}), fp=FloatingPoint.STRICT)


@cache
def target_for(isa: str, fp: FloatingPoint) -> Target:
    """This machine, for code of an ISA that it has."""
    if isa == here().isa:  # asking the compilers again takes as long as all else
        return replace(here(), flags=default_flags(fp), fp=fp)
    return resolve_target(read_target(isa), fp=fp)


def builder(target: Target, kind: str) -> Builder:
    """What builds for a target, with the compiler of this kind if a schedule asks for none."""
    compilers = (target.compiler, *target.other_compilers)
    first = next((each for each in compilers if each.kind == kind), target.compiler)
    others = tuple(each for each in compilers if each != first)
    return Builder(first, target.flags, cache_dir() / "artifacts", others)


def load_as_written(written: Written) -> int:
    """The address of the procedure as written. Raises UserError if it does not compile."""
    target = here()
    return _loaded(builder(target, target.compiler.kind), _with_entry(written, written.code, {}))


def load(written: Written, offer: Offer) -> int:
    """The address of a function with the signature of `written` that runs the offered schedule.
    Raises NotLoadedError."""
    try:
        for file in offer.files:
            require_tuned(file, "--instructions")
            load_instructions(file)
        procedure = specialize(written.procedure, offer.workload.fixed)
        if proc_key(mirror(procedure)) != offer.workload.proc_key:
            raise NotLoadedError("of another text of the procedure")
        code = _replayed(procedure, offer)
        if offer.code_key not in (None, code.key):
            raise NotLoadedError("another C than was verified comes of it, with these versions")
        target = target_for(offer.isa, offer.fp)
        own = builder(target, offer.compiler.kind)
        return _loaded(own, _with_entry(written, code, offer.workload.fixed))
    except (NoReplayError, CodegenError, UserError) as error:
        raise NotLoadedError(str(error)) from error


def _replayed(procedure: Any, offer: Offer) -> GeneratedC:
    """The C of a schedule, from the cache if it is there and intact."""
    target = here()
    versions = [__version__, target.exo_version, target.z3_version]
    sets = [each.digest for each in offer.instructions]
    key = digest_of([versions, offer.workload.proc_key, offer.trace.key, offer.fp, sets])
    place = cache_dir() / REPLAYED / key[:2] / f"{key}.json"
    found = _recall(place)
    if found is None:
        if offer.trace == AS_WRITTEN:
            return generate_c(procedure)
        found = replay_isolated(procedure, offer.trace, fp=offer.fp).code
        place.parent.mkdir(parents=True, exist_ok=True)
        kept = {"proc": found.proc, "header": found.header, "source": found.source}
        write_text(place, json.dumps({**kept, "build": found.build.to_json(), "key": found.key}))
    return found


def _recall(place: Path) -> GeneratedC | None:
    """None if there is nothing, or something damaged."""
    try:
        data = json.loads(place.read_text())
        build = Build.from_json(data["build"])
        found = GeneratedC(data["proc"], data["header"], data["source"], data["key"], build)
        return found if code_key(found.header, found.source, build) == found.key else None
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return None


def _with_entry(written: Written, code: GeneratedC, fixed: dict[str, int]) -> GeneratedC:
    """The kernel, where it cannot be called as the procedure as written: an entry leaves out the
    sizes that are constants. If it has static memory, one call at a time passes: the lock is where
    the memory is. If it has threads, it minds forks."""
    static, threads = bool(lasting_memory(code.source)), has_threads(code.source)
    if not static and not threads and not fixed:
        return code
    own = with_own_names(written.code)
    given = declared(own)
    passed = [each for each in parameters(written.proc, own) if each.arg.var.name not in fixed]
    lock = f"{_ENTRY}_lock"
    call = f"{code.proc}( {', '.join(['ctxt', *(each.name for each in passed)])} );"
    entry = f"void {_ENTRY}( {', '.join(given)} )"
    lines = [
        code.source,
        *([one_at_a_time.INCLUDE, *one_at_a_time.declared([lock])] if static else ()),
        f"{entry};",
        *([forks.TEXT, *forks.defined(_ENTRY, _ENTRY, given)] if threads else ()),
        f"{entry} {{",
        *(forks.left_to_helper(_ENTRY, given) if threads else ()),
        *(one_at_a_time.around(lock, call) if static else (call,)),
        "}",
    ]
    source = "\n".join(lines) + "\n"
    key = code_key(code.header, source, code.build)
    return replace(code, proc=_ENTRY, source=source, key=key)


def _loaded(own: Builder, code: GeneratedC) -> int:
    """Raises UserError. What is loaded stays: addresses are handed out."""
    built = own.build(code, BUILD_TIMEOUT_S)
    if isinstance(built, Failure):
        raise UserError(f"it does not compile here: {built.message}")
    try:
        function = getattr(ctypes.CDLL(built.path), code.proc)
    except OSError as error:
        raise UserError(f"it cannot be loaded: {error}") from error
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None, "it is a function"
    return address
