"""A run that goes on with a scope the store has: the same file, sizes, target and settings."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import UserError
from schedsearch.core.records import Target
from schedsearch.evaluate.openmp import with_openmp
from schedsearch.evaluate.timing import Cache
from schedsearch.search.budget import Budget
from schedsearch.search.kept import load_kept, require_tuned
from schedsearch.search.options import Options
from schedsearch.search.subject import cache_dir
from schedsearch.search.targets import TargetRequest, require_native, resolve_target
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms.instruction_sets import not_shipped


def options_again(
    store: Store,
    where: Path | str,
    scope: Scope,
    budget: Budget,
    file: Path | None,
    instructions: Sequence[Path],
) -> Options:
    """Options of an inline run of this scope of the store at `where`. Raises UserError if the
    procedure has changed, or if this machine or its compilers are not what it was tuned on."""
    workload, target = store.workload(scope), store.target(scope)
    source, _ = load_kept(workload, file)
    settings = store.runs(scope)[-1].settings
    sizes = workload.fixed if workload.specialized else dict(workload.sizes)
    files = tuple(instructions) or _own_instructions(target)
    return Options(
        source.path,
        workload.proc,
        sizes,
        budget,
        where,
        cc=_compiler(target, files),
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


def _own_instructions(target: Target) -> tuple[Path, ...]:
    """Raises UnnamedFileError for a file that is only named by the store."""
    files = tuple(Path(each.path) for each in not_shipped(target.instructions))
    for file in files:
        require_tuned(file, "--instructions")
    return files


def _compiler(target: Target, files: Sequence[Path]) -> str | None:
    """The compiler to ask for, so that this machine is the target: none, or its only one. What
    the store calls a compiler is executed only if PATH has it."""
    differences: dict[str, None] = {}
    path = target.compiler.path
    there = shutil.which(Path(path).name) == path
    request = TargetRequest({"isa": target.isa})
    for cc in (None, path) if there else (None,):
        here = resolve_target(request, cc, target.threads, files, target.fp)
        here = replace(here, align=target.align or ALLOCATED)
        require_native(here)
        if target.threads > 1:
            here = with_openmp(here, cache_dir() / "artifacts")
        if here.key == target.key:
            return cc
        names = [*target.identity, *here.identity]
        unlike = (n for n in names if target.identity.get(n) != here.identity.get(n))
        differences |= dict.fromkeys(unlike)
    words = ", ".join(name.replace("_", " ") for name in differences)
    raise UserError(f"it was tuned on another target; here these differ: {words}")
