"""What a run tunes, loaded and bound, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from schedsearch.analysis.independence import races
from schedsearch.analysis.signature import signature
from schedsearch.core import ast as q
from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import CodegenError, DisagreementError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.openmp import check_threads, with_openmp
from schedsearch.evaluate.roof.work import Work, count_steps, count_work
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import Excerpt, prepare
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.targets import read_target, require_native, resolve_target
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.loader import Source, load_source, pick
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.part import part_of
from schedsearch.transforms.vector.fused.timed import function_loops


@dataclass(frozen=True)
class Subject:
    """What is tuned and where, loaded and bound."""

    source: Source
    procedure: Any
    ast: q.Proc
    code: GeneratedC
    binding: Binding
    workload: Workload
    target: Target
    builder: Builder
    work: Work

    @property
    def name(self) -> str:
        return self.workload.proc


PATIENCE_S = 0.5
"""For one call of the procedure as written, where no budget says."""

FEW_STEPS, EXCERPT_STEPS = 2e8, 5e7
"""Operations of a procedure that is called as it is written, some 0.1 to 1 s, and of what is timed
in the place of one that has more."""


def cache_dir() -> Path:
    """Where artifacts and harnesses are kept between runs."""
    return user_cache_path("schedsearch")


def bench_of(
    subject: Subject,
    work_dir: Path | None = None,
    cache: Cache = Cache.WARM,
    patience_s: float = PATIENCE_S,
) -> Bench:
    """What verifies and times its schedules, on the target's threads (`evaluate/run/preparing.py`).

    Its files go to `work_dir`, by default to those kept between runs. If a call of the procedure as
    written takes longer than `patience_s` seconds, only a part of it is timed. Raises UserError if
    the unscheduled procedure cannot be built, run or trusted.
    """
    try:
        return prepare(
            subject.ast,
            subject.code,
            subject.binding,
            subject.builder,
            work_dir or cache_dir() / "bench",
            threads=subject.target.threads,
            cache=cache,
            fp=subject.target.fp,
            align=subject.target.align,
            excerpt=_excerpt(subject, patience_s),
        )
    except DisagreementError as error:
        if "-ffast-math" not in subject.builder.flags:
            raise
        raise DisagreementError(
            f"{error}\nThe likely cause is -ffast-math, with which C may compute something else "
            "where a value is NaN, infinite or rounded, or divided by an equal one: "
            f"`--fp {FloatingPoint.REASSOCIATE}` compiles without it."
        ) from error


def _excerpt(subject: Subject, patience_s: float) -> Excerpt | None:
    """None of what takes no longer than that anyway, or has no C."""

    def steps(ast: q.Proc) -> int:
        return count_steps(ast, subject.binding)

    if steps(subject.ast) <= FEW_STEPS:
        return None
    procedure, scale = part_of(subject.procedure, steps, EXCERPT_STEPS)
    try:
        return Excerpt(generate_c(procedure), scale, patience_s)
    except CodegenError:
        return None


def load_subject(
    file: Path,
    proc: str | None,
    sizes: Mapping[str, int],
    cc: str | None,
    threads: int = 1,
    target_request: str | None = None,
    instructions: Sequence[Path] = (),
    specialized: bool = False,
    fp: FloatingPoint | None = None,
    align: int = ALLOCATED,
) -> Subject:
    """Load and bind a procedure, find the compilers, identify the machine.

    A compiler asked for (`cc`) is the only one; else every kind on PATH is a choice.
    `target_request` is an ISA or a file (`targets.py`), `instructions` are the user's sets.
    `specialized`: the sizes given become constants of the procedure. `fp` is the
    floating-point contract, if not that of the request; `align` is how arrays are aligned.

    Raises UserError for whatever the user can mend.
    """
    source = load_source(file)
    bound = bind_workload(source, pick(source, proc), sizes, specialized)
    check_threads(threads)
    target = resolve_target(read_target(target_request), cc, threads, instructions, fp)
    require_native(target)
    return make_subject(source, *bound, replace(target, align=align))


def make_subject(
    source: Source, procedure: Any, binding: Binding, workload: Workload, target: Target
) -> Subject:
    """The procedure ready to be tuned on a native target. Raises UserError for races, and if
    Exo cannot generate its C."""
    ast = mirror(procedure)
    if reason := next(races(ast), None):
        raise UserError(
            f"{source.path}: {reason}. Make the loop sequential (`seq`), or give each iteration "
            "elements of its own; what cannot be proven counts as a race."
        )
    if target.threads > 1:
        target = with_openmp(target)
    try:
        code = generate_c(procedure)
    except CodegenError as error:
        raise UserError(
            f"Exo cannot generate C for {ast.name} in {source.path}: {error}\n"
            "Correct the procedure first."
        ) from error
    builder, work = builder_of(target), count_work(ast, binding, target.fp)
    ours = function_loops((kind for kind, _ in work.ops), target.vector_bits)
    work = replace(work, functions=tuple(ours))
    return Subject(source, procedure, ast, code, binding, workload, target, builder, work)


def builder_of(target: Target) -> Builder:
    """Its compilers, with the cache of what they built."""
    return Builder(target.compiler, target.flags, cache_dir() / "artifacts", target.other_compilers)


def bind_workload(
    source: Source, general: Any, sizes: Mapping[str, int], specialized: bool
) -> tuple[Any, Binding, Workload]:
    """The procedure that is tuned, values for its arguments, and its identity.

    Raises UserError for sizes that the procedure does not have or allow.
    """
    whole = bind(mirror(general), sizes)
    fixed = _fixed(general.name(), whole, sizes) if specialized else {}
    rest = {name: value for name, value in sizes.items() if name not in fixed}
    return bind_fixed(source, general, rest, fixed)


def bind_fixed(
    source: Source, general: Any, sizes: Mapping[str, int], fixed: Mapping[str, int]
) -> tuple[Any, Binding, Workload]:
    """The same with the sizes `fixed` as constants; `sizes` are values of others."""
    procedure = specialize(general, fixed)
    ast = mirror(procedure)
    binding = bind(ast, sizes)
    workload = Workload(
        general.name(),
        proc_key(ast),
        tuple(sorted((*fixed.items(), *binding.values))),
        source=str(source.path),
        source_sha=source.sha,
        specialized=tuple(fixed),
        signature=signature(ast),
    )
    return procedure, binding, workload


def _fixed(name: str, binding: Binding, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes given, of those that are arguments, in the order of `binding`."""
    fixed = {arg: value for arg, value in binding.values if arg in sizes}
    if not fixed:
        known = ", ".join(arg for arg, _ in binding.values) or "none: all its sizes are constants"
        raise UserError(
            f"--specialize needs the sizes to bind, as --size NAME=VALUE; {name} has: {known}"
        )
    return fixed
