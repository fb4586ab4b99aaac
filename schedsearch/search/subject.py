"""What a run tunes, loaded and bound, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.evaluate.binding import Binding, bind
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.compiler import default_flags, find_compiler, other_compilers
from schedsearch.evaluate.host import probe_target
from schedsearch.evaluate.openmp import check_openmp, check_threads
from schedsearch.evaluate.work import Work, count_work
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.identity import proc_key
from schedsearch.transforms.loader import Source, load_source, pick
from schedsearch.transforms.mirror import mirror
from schedsearch.transforms.races import races


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


def cache_dir() -> Path:
    """Where artifacts and harnesses are kept between runs."""
    return user_cache_path("schedsearch")


def load_subject(
    file: Path, proc: str | None, sizes: Mapping[str, int], cc: str | None, threads: int = 1
) -> Subject:
    """Load and bind a procedure, find the compilers, identify the machine.

    A compiler asked for (`cc`) is the only one; else every kind on PATH is a choice.

    Raises UserError for whatever the user can mend.
    """
    source = load_source(file)
    procedure = pick(source, proc)
    ast = mirror(procedure)
    if reason := next(races(ast), None):
        raise UserError(
            f"{file}: {reason}. Make the loop sequential (`seq`), or give each iteration "
            "elements of its own; what cannot be proven counts as a race."
        )
    binding = bind(ast, sizes)
    check_threads(threads)
    compiler = find_compiler(cc)
    others = () if cc else other_compilers(compiler)
    target = probe_target(compiler, default_flags(), threads, other_compilers=others)
    try:
        code = generate_c(procedure)
    except CodegenError as error:
        raise UserError(
            f"Exo cannot generate C for {ast.name} in {file}: {error}\nCorrect the procedure first."
        ) from error
    workload = Workload(
        ast.name,
        proc_key(ast),
        tuple(sorted(binding.values)),
        source=str(file),
        source_sha=source.sha,
    )
    builder = Builder(compiler, target.flags, cache_dir() / "artifacts", others)
    if threads > 1:
        check_openmp(builder)
    work = count_work(ast, binding)
    return Subject(source, procedure, ast, code, binding, workload, target, builder, work)
