"""The alphabet of the search: every module of `transforms/library/primitives` (one Exo operator)
and `transforms/library/composites` (several) is one transform, and so is every row of
`primitives/rows.py`.

A transform module defines

- `VERSION`: raised whenever the same arguments would give another result;
- `propose(proc, target)`: yields `(statement or None for the whole procedure,
  arguments)` for every place where the rewrite looks applicable;
- `NORMAL_FORM = 1`, `2` ..., if it brings a procedure to its normal form, which a search measures
  first of all. Those with a smaller number come first. With `NORMAL_ARGS = {"aligned": True}` only
  rewrites with these arguments do. With `IF_CHEAPER = True`, a rewrite is part of it only where the
  estimate says that it gains;
- `BLOCKS = True`, if it keeps sums in registers: what others gain after it is another matter;
- `ops(path, args)`: the Exo operators that carry it out; or, if they depend on
  what the ones before made of the procedure, `steps(ast, path, args)`: a
  generator that yields operators and is sent the procedure after each (`operators/cursors.py`
  holds statements meanwhile).

Adding a transform is adding one such file. What a notebook or a program defines is made known to
its process by `register` (`own.py`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import Any

from schedsearch.analysis.conditions import in_dead_branch
from schedsearch.analysis.conversions import without_precision
from schedsearch.analysis.independence import has_threads, races
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.fields import brief
from schedsearch.core.floats import FloatingPoint, forbidden_flags
from schedsearch.core.records import Target
from schedsearch.core.suggest import did_you_mean
from schedsearch.core.text import header
from schedsearch.core.trace import ArgValue, Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library import composites, primitives
from schedsearch.transforms.library.primitives.rows import ROWS
from schedsearch.transforms.operators.floating_point import run_within
from schedsearch.transforms.operators.ops import Args, Op, Proposal, Steps


@dataclass(frozen=True)
class Transform:
    """A named rewrite rule; `doc` starts with its `before -> after`."""

    name: str
    version: int
    doc: str
    propose: Callable[[q.Proc, Target], Iterator[Proposal]]
    steps: Callable[[q.Proc, q.Path, Args], Steps]
    normal_form: int = 0
    normal_args: tuple[tuple[str, ArgValue], ...] = ()
    if_cheaper: bool = False
    blocks: bool = False

    def rewrites(self, proc: q.Proc, target: Target) -> Iterator[Rewrite]:
        """Every proposal of this transform as a Rewrite."""
        for stmt, args in self.propose(proc, target):
            path = stmt.path if stmt else ()
            if in_dead_branch(proc, path):
                continue
            for name, value in args.items():
                if not isinstance(value, ArgValue):
                    raise UserError(
                        f"{self.name} proposes {name}={brief(value)}, which no trace can keep: "
                        "arguments are integers, texts and truth values"
                    )
            yield Rewrite(self.name, self.version, path, label(stmt), tuple(sorted(args.items())))


def label(stmt: q.Stmt | None) -> str:
    """What replay expects to find at a rewrite's path."""
    return header(stmt) if stmt else "procedure"


_MODULES = {
    info.name: f"{package.__name__}.{info.name}"
    for package in (primitives, composites)
    for info in pkgutil.iter_modules(package.__path__)
    if info.name != "rows"
}

LIBRARY = frozenset({*_MODULES, *(row.propose.__name__ for row in ROWS)})
"""Names of the transforms that everybody has."""


@cache
def registry() -> dict[str, Transform]:
    """All transforms by name: those of the library, and what was registered in this process."""
    found = {}
    for row in ROWS:
        name, doc = row.propose.__name__, cleandoc(row.propose.__doc__ or "")
        found[name] = Transform(name, row.version, f"{doc}\n", row.propose, _in_turn(row.op))
    for name, place in _MODULES.items():
        module = importlib.import_module(place)
        steps = getattr(module, "steps", None) or _in_turn(module.ops)
        found[name] = Transform(
            name,
            module.VERSION,
            module.__doc__ or "",
            module.propose,
            steps,
            getattr(module, "NORMAL_FORM", 0),
            tuple(getattr(module, "NORMAL_ARGS", {}).items()),
            getattr(module, "IF_CHEAPER", False),
            getattr(module, "BLOCKS", False),
        )
    return dict(sorted(found.items()))


def _in_turn(ops: Callable[[q.Path, Args], Op | tuple[Op, ...]]) -> Callable[..., Steps]:
    def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
        given = ops(path, args)
        # Not `yield from`: a tuple's iterator takes no `send`.
        for op in (given,) if isinstance(given, Op) else given:  # noqa: UP028
            yield op

    return steps


def normalises(rewrite: Rewrite) -> int:
    """Its place among the rewrites that bring a procedure to its normal form; 0 for others."""
    transform = registry().get(rewrite.transform)
    if transform is None or not set(transform.normal_args) <= set(rewrite.args):
        return 0
    return transform.normal_form


def comes_next(rewrite: Rewrite, before: Sequence[Rewrite]) -> bool:
    """Whether a rewrite is the next on the way to the normal form, after those `before`."""
    return normalises(rewrite) >= max(normalises(before[-1]) if before else 0, 1)


def blocks(rewrite: Rewrite) -> bool:
    """Whether it keeps sums in registers."""
    transform = registry().get(rewrite.transform)
    return transform is not None and transform.blocks


def select(names: Sequence[str] | None) -> tuple[Transform, ...]:
    """The named transforms, or all if None.

    Raises UserError for an unknown name.
    """
    known = registry()
    wanted = {*(names or known)}
    for name in wanted:
        if name not in known:
            close = did_you_mean(name, known) or f"; known: {', '.join(sorted(known))}"
            raise UserError(f"unknown transform {name!r}{close}")
    return tuple(known[name] for name in sorted(wanted))


def propose(proc: q.Proc, target: Target, transforms: Sequence[Transform]) -> Iterator[Rewrite]:
    """Every rewrite that looks applicable to `proc`, in a fixed order."""
    for transform in transforms:
        yield from transform.rewrites(proc, target)


def apply(
    procedure: Any, ast: q.Proc, rewrite: Rewrite, fp: FloatingPoint = FloatingPoint.FAST
) -> Any:
    """Apply one rewrite to an Exo procedure whose query AST is `ast`.

    Raises RewriteError if the transform is unknown, the label does not match
    what is at the path, Exo finds the rewrite illegal, or it breaks the floating-point
    contract `fp`. A contract changes nothing in the result of what it allows.
    """
    for _, after in carry_out(procedure, ast, rewrite, fp):
        procedure = after
    return procedure


def carry_out(
    procedure: Any, ast: q.Proc, rewrite: Rewrite, fp: FloatingPoint = FloatingPoint.FAST
) -> Iterator[tuple[Op, Any]]:
    """The Exo operators of a rewrite, each with the procedure after it.

    Raises RewriteError as `apply` does, at the end if the result has a parallel loop
    that may race (Exo's operators treat parallel loops as sequential ones), an array
    whose length depends on a variable that is gone, or a buffer without precision.
    """
    if wrong := forbidden_flags(fp, str(dict(rewrite.args).get("options", "")).split()):
        raise RewriteError(f"{rewrite.transform}: --fp {fp} rules out {wrong[0]}")
    steps = _transform_of(rewrite, ast).steps(ast, rewrite.path, dict(rewrite.args))
    parallel = has_threads(ast)
    try:
        op = next(steps)
        while True:
            if op is not None:
                procedure = run_within(procedure, op, fp)
                yield op, procedure
            op = steps.send(procedure)
    except StopIteration:
        result = mirror(procedure)
        reason = without_precision(result) or (next(races(result), None) if parallel else None)
        if reason:
            raise RewriteError(reason) from None
    except KeyError as error:
        raise RewriteError(f"argument {error} is missing") from error


def _transform_of(rewrite: Rewrite, ast: q.Proc) -> Transform:
    """The rewrite's transform, after checking that the rewrite fits `ast`."""
    transform = registry().get(rewrite.transform)
    if transform is None:
        raise RewriteError(
            f"unknown transform {rewrite.transform!r}; if a notebook or a program defines it, "
            "schedsearch.register it first"
        )
    if transform.version != rewrite.version:
        raise RewriteError(
            f"{rewrite.transform} is at version {transform.version} here, "
            f"the trace needs version {rewrite.version}"
        )
    if rewrite.path and rewrite.path not in ast.by_path:
        raise RewriteError("there is no such statement")
    found = label(ast.by_path[rewrite.path] if rewrite.path else None)
    if found != rewrite.label:
        raise RewriteError(f"expected `{rewrite.label}` there, found `{found}`")
    return transform
