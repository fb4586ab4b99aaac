"""A stored schedule, with what every question about it needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from schedsearch import __version__
from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import ReplayError, UserError
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.openmp import with_openmp
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.lookup import caveats, stored_roof
from schedsearch.search.reloading import differs, load_tuned, require_tuned
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.targets import TargetRequest, require_native, resolve_target
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import Source
from schedsearch.transforms.replay import Replayer, State
from schedsearch.transforms.vector.instruction_sets import not_shipped


@dataclass(frozen=True)
class Schedule:
    """A candidate as its store had it when this was made.

    The user's file is loaded when a question needs it: `file`, or where it was when it was tuned,
    with the user's `instructions`. Such questions raise UserError for what the user can mend.
    """

    stored: StoredCandidate
    workload: Workload
    target: Target
    roof: Roof | None
    file: Path | None = None
    instructions: tuple[Path, ...] = ()
    store: Store = field(repr=False, kw_only=True)
    """It has to be open for questions."""

    @classmethod
    def of(
        cls,
        store: Store,
        stored: StoredCandidate,
        file: Path | None = None,
        instructions: Sequence[Path] = (),
    ) -> Self:
        workload, target = store.workload(stored.scope), store.target_of(stored)
        roof = stored_roof(store, stored.scope)
        return cls(stored, workload, target, roof, file, tuple(instructions), store=store)

    @property
    def id(self) -> int:
        return self.stored.id

    @property
    def scope(self) -> Scope:
        return self.stored.scope

    @property
    def trace(self) -> Trace:
        return self.stored.record.trace

    @cached_property
    def _loaded(self) -> tuple[Source, Any]:
        return load_tuned(self.workload, self.file, self.instructions)

    @property
    def source(self) -> Source:
        return self._loaded[0]

    @property
    def unscheduled(self) -> Any:
        """The procedure as written, with the sizes that are constants bound."""
        return self._loaded[1]

    @cached_property
    def _replayer(self) -> Replayer:
        return Replayer(self.unscheduled, fp=self.target.fp)

    def replayed(self, trace: Trace) -> State:
        """The procedure at the end of `trace`; Exo checks every rewrite again."""
        try:
            return self._replayer.state(trace)
        except ReplayError as error:
            raise UserError(
                f"the recorded schedule does not replay: {error}; `schedsearch run` tunes anew"
            ) from error

    @property
    def state(self) -> State:
        return self.replayed(self.trace)

    @cached_property
    def code(self) -> GeneratedC:
        """The C as the store has it, else generated."""
        known = self.store.code(self.stored.record.keys.code or "")
        return known or self.generate()

    def generate(self) -> GeneratedC:
        """The C of the schedule as it replays now."""
        state = self.state
        return generate_c(state.procedure, state.build)

    def as_recorded(self) -> str:
        """Says how the schedule, replayed, equals its record. Raises UserError if it differs."""
        state, keys = self.state, self.stored.record.keys
        if ast_key(state.ast, state.build) != keys.ast:
            raise differs("schedule")
        if not keys.code:
            return f"schedule as recorded (ast_key {keys.ast}); it has not been built"
        if self.generate().key != keys.code:
            raise differs("C")
        return f"C as recorded (code_key {keys.code})"

    @property
    def caveats(self) -> tuple[str, ...]:
        """Its limits that callers have to know (`not re-entrant: ...`), if it was measured."""
        code = self.store.code(self.stored.record.keys.code or "")
        return caveats(self.store, self.scope, code)

    @cached_property
    def here(self) -> Target:
        """Its target, with the compilers of this machine. Raises UserError if it is another."""
        return here(self.store.target(self.scope), self.instructions)

    def options(self, budget: Budget) -> Options:
        """Options of an inline run that goes on with this search: the same file, sizes, target and
        settings. Raises UserError also if this machine or its compilers are not the target."""
        workload, scope = self.workload, self.scope
        target = self.store.target(scope)
        settings = self.store.runs(scope)[-1].settings
        files = self.instructions or _own_instructions(target)
        return Options(
            file=self.source.path,
            proc=workload.proc,
            sizes=workload.fixed if workload.specialized else dict(workload.sizes),
            budget=budget,
            store=self.store.location,
            cc=_here(target, files)[0],
            target=target.isa,
            instructions=files,
            executor="inline",
            transforms=tuple(settings["transforms"]),
            threads=target.threads,
            fp=target.fp,
            specialize=bool(workload.specialized),
            warm_start=False,
            cache=Cache(settings.get("cache", Cache.WARM)),
            align=target.align or ALLOCATED,
            tree=scope.tree,
        )


@contextmanager
def opened(
    where: Path | str,
    candidate_id: int,
    file: Path | None = None,
    instructions: Sequence[Path] | None = None,
) -> Iterator[Schedule]:
    """The candidate with this id, of a store that is open as long as the context lasts."""
    with Store.open(where, create=False) as store:
        yield Schedule.of(store, store.candidate(candidate_id), file, instructions or ())


SCHEMA = 1
"""Of `schedule_json`; raised when a field changes its meaning."""


def schedule_json(schedule: Schedule, code: GeneratedC) -> dict[str, Any]:
    """A verified schedule, and everything that is needed to build the kernel again; `code` is the
    generated C.

    The trace replays from the procedure of the source's text with the `specialized` sizes bound;
    the C of `source` after `header` is compiled with `flags`. No paths of this machine.
    """
    workload, target, record = schedule.workload, schedule.target, schedule.stored.record
    assert record.measurement is not None, "it was verified and timed"
    compiler = target.compiler_for(code.build) or target.compiler
    return {
        "schema": SCHEMA,
        "schedsearch": __version__,
        "proc": workload.proc,
        "proc_key": workload.proc_key,
        "sizes": dict(workload.sizes),
        "specialized": list(workload.specialized),
        "source": {"text": schedule.source.text, "sha": workload.source_sha},
        "target": target.to_json(paths=False),
        "trace": [step.to_json() for step in record.trace.steps],
        "keys": {"trace": record.trace.key, "ast": record.keys.ast, "code": code.key},
        "c": {
            "function": code.proc,
            "header": code.header,
            "source": code.source,
            "compiler": f"{compiler.kind} {compiler.version}",
            "flags": list(code.build.flags(target.flags)),
        },
        "speedup": record.measurement.speedup.to_json(),
        "measurement": record.measurement.to_json(),
    }


def here(target: Target, instructions: Sequence[Path] = ()) -> Target:
    """The same target, with the compilers of this machine. Raises UserError if it is another."""
    return _here(target, instructions or _own_instructions(target))[1]


def _own_instructions(target: Target) -> tuple[Path, ...]:
    """Raises UnnamedFileError for a file that is only named by the store."""
    files = tuple(Path(each.path) for each in not_shipped(target.instructions))
    for file in files:
        require_tuned(file, "--instructions")
    return files


def _here(target: Target, files: Sequence[Path]) -> tuple[str | None, Target]:
    """The compiler to ask for, so that this machine is the target: none, or its only one; and the
    target then. What the store calls a compiler is executed only if PATH has it."""
    differences: dict[str, None] = {}
    path = target.compiler.path
    there = shutil.which(Path(path).name) == path
    request = TargetRequest({"isa": target.isa})
    for cc in (None, path) if there else (None,):
        here = resolve_target(request, cc, target.threads, files, target.fp)
        here = replace(here, align=target.align or ALLOCATED)
        require_native(here)
        if target.threads > 1:
            here = with_openmp(here)
        if here.key == target.key:
            return cc, here
        names = [*target.identity, *here.identity]
        unlike = (n for n in names if target.identity.get(n) != here.identity.get(n))
        differences |= dict.fromkeys(unlike)
    words = ", ".join(name.replace("_", " ") for name in differences)
    raise UserError(
        f"it was tuned on another target; here these differ: {words}. "
        "`schedsearch run` tunes it here"
    )
