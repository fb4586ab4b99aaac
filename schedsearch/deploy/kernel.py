"""`schedsearch.kernel`: a procedure as a Python function on arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exo.API import Procedure

from schedsearch.core.errors import UserError
from schedsearch.deploy import caller
from schedsearch.deploy.choose import Choice, Offer, Request, choose
from schedsearch.deploy.explanation import Explanation
from schedsearch.deploy.refusals import Refusals, as_buffer
from schedsearch.deploy.sources import USING, Sources, Tuned, Using
from schedsearch.deploy.variants import (
    NotLoadedError,
    Written,
    builder,
    here,
    load,
    load_as_written,
)
from schedsearch.search.caches import in_use
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.transforms.exo.identity import proc_key

_Call = Callable[..., None]
_Sizes = Callable[..., tuple[int, ...]]


class Kernel:
    """A procedure that runs on arrays, in its best known schedule: `k(C, A, B)`.

    Arrays come in the procedure's order, or by name; sizes are read from their shapes, and control
    values that no shape tells are given by name. Arrays are whatever has the buffer protocol, or
    DLPack on the CPU; numbers do for scalars that are only read. A call writes into the arrays, and
    returns None. Meanwhile other Python threads run.

    It raises TypeError or ValueError, and changes nothing, unless types, shapes, strides, alignment
    and the procedure's asserts are as they should be, and outputs can be written and lie apart
    from all else. The first call for some sizes may compile; it raises UserError if it cannot.
    """

    # An instance's own `__call__` is the C function: a method of Python would take 70 ns more.
    __slots__ = ("__call__", "__name__", "_functions", "_variants", "proc")

    if TYPE_CHECKING:
        __call__: _Call

    def __init__(self, proc: Any, sources: Sources) -> None:
        self.proc = proc
        self.__name__ = proc.name()
        self._variants = _Variants(proc, sources)
        self._functions: tuple[_Call, _Sizes] | None = None
        self.__call__ = self._first

    def _first(self, *arrays: Any, **controls: Any) -> None:
        self.__call__ = self._made()[0]
        self.__call__(*arrays, **controls)

    def _made(self) -> tuple[_Call, _Sizes]:
        if self._functions is None:
            self._functions = self._variants.functions()
        return self._functions

    def explain(self, *arrays: Any, **controls: Any) -> Explanation:
        """What a call with these arguments would run, why, and what was passed over. Nothing is
        written; refused arguments raise as a call does."""
        sizes = self._made()[1](*arrays, **controls)
        return self._variants.explained(sizes, USING.get())

    def __repr__(self) -> str:
        arguments = ", ".join(str(arg.name()) for arg in self.proc.args())
        return f"<schedsearch kernel {self.__name__}({arguments})>"


@dataclass(frozen=True)
class _Variants:
    """The machine code of a kernel, by sizes and what is in use."""

    procedure: Any
    sources: Sources
    known: dict[tuple[tuple[int, ...], Using | None], tuple[Choice, int]] = field(
        default_factory=dict
    )
    failed: dict[Offer, str] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)

    @cached_property
    def written(self) -> Written:
        return Written.of(self.procedure)

    def functions(self) -> tuple[_Call, _Sizes]:
        """What calls the kernel, and what checks arguments and returns their sizes. They keep this
        object, which must not keep them: garbage collection does not see into them."""
        with self.lock, in_use():
            written, target = self.written, here()
            sources = caller.sources(written.proc, list(written.parameters))
            own = builder(target, target.compiler.kind)
            module = caller.load(own.python_module(sources, BUILD_TIMEOUT_S))
            refuse = Refusals(written.proc, written.parameters)
        made: tuple[_Call, _Sizes] = module.caller(self.address, refuse, as_buffer, USING)
        return made

    def address(self, sizes: tuple[int, ...], using: Using | None) -> int:
        """Where the kernel for these sizes is."""
        return self._loaded(sizes, using)[1]

    def explained(self, sizes: tuple[int, ...], using: Using | None) -> Explanation:
        return Explanation(self._request(sizes), self._loaded(sizes, using)[0])

    def _loaded(self, sizes: tuple[int, ...], using: Using | None) -> tuple[Choice, int]:
        with self.lock:
            if (sizes, using) not in self.known:
                with in_use():
                    self.known[sizes, using] = self._load(sizes, using)
            return self.known[sizes, using]

    def _load(self, sizes: tuple[int, ...], using: Using | None) -> tuple[Choice, int]:
        """The first choice that can be loaded."""
        while True:
            choice = choose(self._request(sizes), self.sources(using))
            if choice.offer is None:
                return choice, load_as_written(self.written)
            try:
                return choice, load(self.written, choice.offer)
            except NotLoadedError as error:
                self.failed[choice.offer] = str(error)

    def _request(self, sizes: tuple[int, ...]) -> Request:
        proc, target = self.written.proc, here()
        names = [arg.var.name for arg in proc.args if arg.type == "size"]
        return Request(
            proc.name,
            proc_key(proc),
            dict(zip(names, sizes, strict=True)),
            target.cpu,
            frozenset(target.features),
            (target.compiler, *target.other_compilers),
            self.failed,
        )


def kernel(
    proc: Any,
    *,
    store: Path | str | None = None,
    lock: Path | str | None = None,
    use: Tuned | None = None,
) -> Kernel:
    """Make a procedure callable on arrays; also a decorator, above Exo's `@proc`.

    Of the schedules that are known, verified and fit the sizes and this CPU, the first of these
    runs: `use` (a result of `tune`, a candidate of `open`); those of `schedsearch.using`; what was
    tuned in this process; the `lock` file, by default the nearest `schedules.lock` at or above the
    procedure's file; the `store`, by default that of the variable `SCHEDSEARCH_STORE`. If none
    fits, the procedure runs as written. Both are read once, by the first call.

    Raises UserError for what is no Exo procedure.
    """
    if not isinstance(proc, Procedure):
        raise UserError(f"a kernel is made of an Exo procedure, not of {type(proc).__name__}")
    file = Path(proc._loopir_proc.srcinfo.filename)
    sources = Sources(proc.name(), file, use, Path(lock) if lock else None, store)
    return Kernel(proc, sources)
