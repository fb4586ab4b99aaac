"""`schedsearch.kernel`: a procedure as a Python function on arrays."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exo.API import Procedure

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_path, given_place, optional
from schedsearch.deploy import caller, recorder
from schedsearch.deploy.choose import Choice, Offer, Request, Source, choose
from schedsearch.deploy.explanation import Explanation
from schedsearch.deploy.first_use import tune_seconds, tuned
from schedsearch.deploy.no_forks import no_forks
from schedsearch.deploy.recorded import LAYOUTS, Called
from schedsearch.deploy.refusals import as_buffer
from schedsearch.deploy.sources import USING, Sources, Tuned, Using, offered
from schedsearch.deploy.variants import (
    NotLoadedError,
    Written,
    builder,
    here,
    load,
    load_as_written,
)
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.frontends.lowered import Lowered
from schedsearch.search.caches import in_use
from schedsearch.search.setup.procedure_file import (
    file_of,
    file_to_load,
    procedure_of,
    write_for,
)
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

    def torch_op(self, name: str) -> Any:
        """Register this kernel as an operator of PyTorch, `namespace::name`, for tensors on the
        CPU, and return it (`deploy/torch_op.py`). Needs the extra `torch`. Raises UserError if it
        is missing, for a name that PyTorch does not take or has already, and as a first call does.
        """
        from schedsearch.deploy.torch_op import register  # importing torch takes seconds

        self._made()
        return register(name, self, self._variants.written)

    def __repr__(self) -> str:
        arguments = ", ".join(str(arg.name()) for arg in self.proc.args())
        return f"<schedsearch kernel {self.__name__}({arguments})>"


@dataclass(frozen=True)
class _Variants:
    """The machine code of a kernel, by sizes and what is in use."""

    procedure: Any
    sources: Sources
    known: dict[tuple[tuple[int, ...], tuple[Offer, ...]], tuple[Choice, int]] = field(
        default_factory=dict
    )
    failed: dict[Offer, str] = field(default_factory=dict)
    locks: dict[int, Any] = field(default_factory=dict)

    @property
    def lock(self) -> Any:
        """That of this process: of a parent's, a thread that is not here may hold it."""
        return self.locks.setdefault(os.getpid(), threading.RLock())

    @cached_property
    def written(self) -> Written:
        return Written.of(self.procedure)

    def functions(self) -> tuple[_Call, _Sizes]:
        """What calls the kernel, and what checks arguments and returns their sizes. They keep this
        object, which must not keep them: garbage collection does not see into them."""
        tune_seconds()  # nonsense is said by the first call
        recorder.begin_if_asked()
        with self.lock, in_use(), no_forks():
            written, target = self.written, here()
            own = builder(target, target.compiler.kind)
            module = caller.load(caller.built(own, written.proc, written.parameters))
            refuse = caller.described(written.proc, written.parameters)
        made: tuple[_Call, _Sizes] = module.caller(
            self.resolve, refuse, as_buffer, USING, recorder.EPOCH
        )
        return made

    def resolve(self, sizes: tuple[int, ...], using: Using | None, layouts: int) -> tuple[int, int]:
        """Where the kernel for these sizes is, and where calls with these layouts of its windows
        are counted (0: nowhere), as `Recorder.address`."""
        address = self._loaded(sizes, using)[1]
        if not recorder.is_on():
            return address, 0
        with no_forks():
            called = self._called(sizes, layouts)
        return address, recorder.address(called)

    def _called(self, sizes: tuple[int, ...], layouts: int) -> Called:
        windows = [arg.var.name for arg in self.written.proc.args if arg.window]
        lie = ((name, LAYOUTS[layouts >> 2 * n & 3]) for n, name in enumerate(windows[:32]))
        named = tuple(zip(self._size_names, sizes, strict=True))
        return replace(self._recorded_as, sizes=named, layouts=tuple(lie))

    @cached_property
    def _recorded_as(self) -> Called:
        """Without sizes and layouts."""
        proc = self.written.proc
        data = [arg for arg in proc.args if arg.type not in q.CONTROL_TYPES]
        dtypes = tuple((arg.var.name, ELEMENT_TYPES[arg.type].numpy) for arg in data)
        file = file_to_load(self.procedure)
        return Called(proc.name, proc_key(proc), str(file or ""), dtypes, (), ())

    def explained(self, sizes: tuple[int, ...], using: Using | None) -> Explanation:
        choice = self._loaded(sizes, using)[0]
        with no_forks():
            return Explanation(self._request(sizes), choice)

    def _loaded(self, sizes: tuple[int, ...], using: Using | None) -> tuple[Choice, int]:
        used = self.sources.used(using)  # every `with using(...)` makes a `Using` of its own
        with self.lock:
            if (sizes, used) not in self.known:
                with in_use():
                    self.known[sizes, used] = self._load(sizes, using)
            return self.known[sizes, used]

    def _load(self, sizes: tuple[int, ...], using: Using | None) -> tuple[Choice, int]:
        """The first choice that can be loaded. What a search would find comes last."""
        searched: Sequence[Source] | None = None
        while True:
            with no_forks():
                request = self._request(sizes)
                choice = choose(request, chain(self.sources(using), searched or ()))
                if choice.offer is not None:
                    try:
                        return choice, load(self.written, choice.offer)
                    except NotLoadedError as error:
                        self.failed[choice.offer] = str(error)
                        continue
                if searched is not None:
                    return choice, load_as_written(self.written)
            searched = self._tuned(request)

    def _tuned(self, request: Request) -> Sequence[Source]:
        """What a search finds that begins now, if `SCHEDSEARCH_TUNE` asks for one."""
        seconds, store = tune_seconds(), self.sources.where
        if seconds is None or store is None:
            return ()
        return (tuned(request, self._write, store, seconds),)

    def _write(self) -> Path:
        """A file of the procedure alone."""
        with no_forks():
            return write_for(self.procedure)

    @property
    def _size_names(self) -> list[str]:
        return [arg.var.name for arg in self.written.proc.args if arg.type == "size"]

    def _request(self, sizes: tuple[int, ...]) -> Request:
        proc, target = self.written.proc, here()
        return Request(
            proc.name,
            proc_key(proc),
            dict(zip(self._size_names, sizes, strict=True)),
            target.cpu,
            frozenset(target.features),
            (target.compiler, *target.other_compilers),
            self.failed,
            len(usable_cores()),
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
    fits, it is tuned for as many seconds as the variable `SCHEDSEARCH_TUNE` says; without it, the
    procedure runs as written. Lock and store are read once, by the first call.

    Raises UserError for what is no Exo procedure, store, lock or schedule.
    """
    if not isinstance(proc, Procedure):
        raise UserError(f"a kernel is made of an Exo procedure, not of {type(proc).__name__}")
    if use is not None:
        offered(use)
    return _kernel(proc, file_of(proc), use, lock, store)


def lowered_kernel(
    lowered: Lowered, *, store: Path | str | None = None, lock: Path | str | None = None
) -> Kernel:
    """What a front end made as a kernel. Its lock file is looked for at and above the user's
    file."""
    with no_forks():
        procedure = procedure_of(lowered)
    return _kernel(procedure, Path(lowered.file), None, lock, store)


def _kernel(
    proc: Any,
    file: Path,
    use: Tuned | None,
    lock: Path | str | None,
    store: Path | str | None,
) -> Kernel:
    where, path = optional(given_place, "store=", store), optional(given_path, "lock=", lock)
    return Kernel(proc, Sources(proc.name(), file, use, path, where))
