"""Values for a procedure's control arguments, configuration and window strides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.suggest import did_you_mean
from schedsearch.evaluate.arguments.constraints import Constraints, control_kinds

_SIZE = 256
# Row padding of windows, in elements: a kernel that ignores strides is caught.
# 16 keeps rows of four-byte elements on cache-line boundaries for timing.
_TIMED_PAD = 16
_ODD_PAD = 3
# Sizes that divide nothing, below, between and above usual vector and tile sizes.
_ODD_SIZES = (7, 13, 37, 5, 19, 3, 23, 11)


@dataclass(frozen=True)
class Binding:
    """The arguments of a call, except for its data.

    `values`: control arguments by name (booleans as 0 and 1). `config`:
    configuration fields read or written as control values, as `Config.field`.
    `strides`: of each window argument, in elements. All sorted by name.
    """

    values: tuple[tuple[str, int], ...]
    config: tuple[tuple[str, int], ...] = ()
    strides: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def value(self, name: str) -> int:
        return dict(self.values)[name]

    def to_json(self) -> dict[str, Any]:
        return {name: dict(pairs) for name, pairs in asdict(self).items()}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in (*self.values, *self.config))


@dataclass(frozen=True)
class _Preferences:
    """Wanted values of sizes that nobody requested, as near as the asserts allow."""

    sizes: tuple[int, ...]
    index: int
    truth: int
    innermost: int
    pad: int
    named: tuple[tuple[str, int], ...] = ()  # sizes by name, before those by position


_TIMED = _Preferences(sizes=(_SIZE,), index=1, truth=1, innermost=1, pad=_TIMED_PAD)
_SMALL = (
    _Preferences(sizes=(1,), index=0, truth=1, innermost=1, pad=_ODD_PAD),
    _Preferences(sizes=_ODD_SIZES, index=1, truth=0, innermost=2, pad=_ODD_PAD),
    _Preferences(sizes=_ODD_SIZES[2::-1], index=-3, truth=1, innermost=1, pad=0),
)
# Several whole register tiles and a rest in every dimension, the most that is affordable.
_TAILS = tuple(
    _Preferences(sizes=sizes, index=29, truth=1, innermost=1, pad=_ODD_PAD)
    for sizes in ((131, 197, 71, 139), (67, 73, 41, 37))
)


def bind(proc: q.Proc, requested: Mapping[str, int]) -> Binding:
    """Values that satisfy the asserts of `proc`, with those in `requested` fixed.

    Unrequested sizes are 256 or as near as possible, indices 1. `requested` is
    keyed by argument name, or `Config.field`.

    Raises UserError for an unknown name, a size below 1, and values that no
    choice of the others reconciles with the asserts.
    """
    return _solve(Constraints(proc), proc, requested, _TIMED)


def verification_bindings(
    proc: q.Proc, binding: Binding, affordable: Callable[[Binding], bool]
) -> tuple[Binding, ...]:
    """Additional cases on which a candidate must also be right.

    A size that is still an argument may be anything its asserts allow, however
    it was bound for timing: 1 (Exo has no size 0), sizes that divide nothing,
    smaller than usual tiles and, if `affordable`, larger; both truth values, indices
    0, 1, 2 and 29, and windows whose innermost stride is 2 where that is allowed.
    """
    found = [_solve(Constraints(proc), proc, {}, preferences) for preferences in _SMALL]
    tails = (_solve(Constraints(proc), proc, {}, preferences) for preferences in _TAILS)
    found += list(islice(filter(affordable, tails), 1))
    return tuple(dict.fromkeys(b for b in found if b != binding))


def near(proc: q.Proc, sizes: Mapping[str, int]) -> Binding:
    """A call with these sizes, or as near to them as the asserts allow. Raises UserError if they
    allow none."""
    if not proc.asserts and all(arg.type == "size" or _is_plain(arg) for arg in proc.args):
        names = {arg.var.name for arg in proc.args if arg.type == "size"}
        if names == sizes.keys() and not control_kinds(proc).keys() - names:
            return Binding(tuple(sorted(sizes.items())))
    preferences = replace(_SMALL[1], innermost=1, truth=1, named=tuple(sorted(sizes.items())))
    return _solve(Constraints(proc), proc, {}, preferences)


def _is_plain(arg: q.Arg) -> bool:
    """Whether the argument is data whose extents are sizes themselves, so that nothing is to be
    solved."""
    if arg.type in q.CONTROL_TYPES or arg.window:
        return False
    return all(extent.is_const or extent.as_var is not None for extent in arg.shape or ())


def _solve(
    constraints: Constraints,
    proc: q.Proc,
    requested: Mapping[str, int],
    preferences: _Preferences,
) -> Binding:
    _check_names(constraints, requested)
    for name, value in requested.items():
        constraints.fix(name, value)
    constraints.require_satisfiable(requested)
    # Strides come before the values compared with them: `assert stride(A, 0) == s`.
    kinds = constraints.kinds
    late = [name for name, kind in kinds.items() if kind == "stride" or "." in name]
    early = [name for name in kinds if name not in late]
    preferred = {
        name: dict(preferences.named).get(name, _preferred(kinds[name], position, preferences))
        for position, name in enumerate((*early, *late))
    }
    chosen = {name: constraints.choose(name, preferred[name]) for name in early}
    strides = _strides(constraints, proc, preferences)
    chosen |= {name: constraints.choose(name, preferred[name]) for name in late}
    pairs = sorted(chosen.items())
    return Binding(
        values=tuple((name, value) for name, value in pairs if "." not in name),
        config=tuple((name, value) for name, value in pairs if "." in name),
        strides=tuple(sorted(strides)),
    )


def _preferred(kind: str, position: int, preferences: _Preferences) -> int:
    match kind:
        case "size":
            return preferences.sizes[position % len(preferences.sizes)]
        case "bool":
            return preferences.truth
        case "stride":
            return 1
        case _:
            return preferences.index


def _strides(
    constraints: Constraints, proc: q.Proc, preferences: _Preferences
) -> list[tuple[str, tuple[int, ...]]]:
    found = []
    for arg in proc.args:
        if not arg.window or arg.shape is None:
            continue
        extents = [constraints.extent(extent) for extent in arg.shape]
        strides: list[int] = []
        for dim in reversed(range(len(extents))):
            inner = strides[0] * extents[dim + 1] if strides else preferences.innermost
            pad = preferences.pad if strides else 0
            strides.insert(0, constraints.choose_stride(arg.var, dim, inner, pad))
        found.append((arg.var.name, tuple(strides)))
    return found


def _check_names(constraints: Constraints, requested: Mapping[str, int]) -> None:
    for name, value in requested.items():
        if name not in constraints.kinds:
            known = ", ".join(constraints.kinds) or "none: all its sizes are constants"
            raise UserError(
                f"{constraints.proc.name} has no size called {name!r}. Its sizes: {known}"
                f"{did_you_mean(name, constraints.kinds) or '.'}"
            )
        if constraints.kinds[name] == "size" and value < 1:
            raise UserError(
                f"size {name}={value} of {constraints.proc.name} must be at least 1; give for "
                f"example --size {name}=64"
            )


def control_values(proc: q.Proc, binding: Binding) -> dict[q.Atom, int]:
    """Values of the atoms a binding determines: arguments, window strides, configuration."""
    values: dict[q.Atom, int] = {}
    bound, strides = dict(binding.values), dict(binding.strides)
    for arg in proc.args:
        if arg.var.name in bound:
            values[arg.var] = bound[arg.var.name]
    for arg in proc.args:
        if arg.shape is not None:
            own = strides.get(arg.var.name) or dense_strides(extents(arg, values))
            for dim, stride in enumerate(own):
                values[q.StrideOf(arg.var, dim)] = stride
    for name, value in binding.config:
        config, field = name.split(".")
        values[q.ConfigField(config, field)] = value
    return values


def extents(arg: q.Arg, values: Mapping[q.Atom, int]) -> tuple[int, ...]:
    return tuple(q.evaluate_affine(extent, values.__getitem__) for extent in arg.shape or ())


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1]
    for extent in shape[:0:-1]:
        strides.insert(0, strides[0] * extent)
    return tuple(strides) if shape else ()
