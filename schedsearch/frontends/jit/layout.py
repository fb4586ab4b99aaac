"""Where NumPy's reshapes are views: strides of views, as polynomials of sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.jit.making import copied
from schedsearch.frontends.jit.proxies import Data

_Poly = Counter[tuple[q.Atom, ...]]


def _times(a: _Poly, b: _Poly) -> _Poly:
    found: _Poly = Counter()
    for x, m in a.items():
        for y, n in b.items():
            found[tuple(sorted((*x, *y), key=q.atom_order))] += m * n
    return found


def _poly(value: q.Affine) -> _Poly:
    return Counter({(): value.const} | {(atom,): n for atom, n in value.terms})


def _same(a: _Poly, b: _Poly) -> bool:
    return all(a[each] == b[each] for each in (*a, *b))


def _strides(data: Data) -> list[_Poly] | None:
    """How far apart neighbours along each axis are in the array that a view is of. None if that
    is not everywhere the same."""
    resolved = data.builder.sizes.resolved
    names = [g.fresh("") for _ in data.lengths]
    offset: dict[q.Atom, _Poly] = {}
    stride = _poly(q.Affine(1))

    def add(value: q.Affine, by: _Poly) -> None:
        for atom, n in value.terms:
            offset.setdefault(atom, Counter()).update(_times(by, Counter({(): n})))

    places = data.places(list(map(q.as_affine, names)))
    for place, n in zip(reversed(places), reversed(data.buffer.shape), strict=True):
        add(place, stride)
        stride = _times(stride, _poly(resolved(n)))
    while pair := _pair(offset):  # (x // d) * d + x % d is x
        whole, rest = pair
        by = offset.pop(rest)
        del offset[whole]
        add(rest.num, by)
    parts = [atom for atom in offset if not isinstance(atom, q.Var)]
    if any(q.expr_vars(q.as_affine(atom)) & {*names} for atom in parts):
        return None
    return [offset.get(name, Counter()) for name in names]


def _pair(offset: dict[q.Atom, _Poly]) -> tuple[q.FloorDiv, q.Mod] | None:
    for rest in offset:
        if isinstance(rest, q.Mod):
            whole = q.FloorDiv(rest.num, rest.den)
            if _same(offset.get(whole, Counter()), _times(offset[rest], _poly(q.Affine(rest.den)))):
                return whole, rest
    return None


def joins(data: Data, groups: Iterable[Sequence[int]], *, dense: bool = False) -> bool | None:
    """Whether NumPy joins these axes without a copy; `dense`: and the last one has no gaps. None:
    it depends on the call."""
    if not isinstance(data.view, g.View):
        return True
    strides = _strides(data)
    for group in groups:
        axes = [axis for axis in group if data.lengths[axis] != views.ONE]
        if strides is None:
            if len(axes) > 1 or (dense and axes):
                return None
            continue
        good = not dense or not axes or _same(strides[axes[-1]], _poly(q.Affine(1)))
        for one, other in pairwise(axes):
            span = _times(_poly(data.lengths[other]), strides[other])
            good = good and _same(strides[one], span)
        if not good:
            return False if all(n.is_const for n in data.lengths) else None
    return True


def copied_or_not(data: Data, view: Callable[[Data], Any], shares: bool | None) -> Any:
    """A view of `data`, or of a copy. Where it depends on the call which of both NumPy gives,
    neither may be written from here on."""
    if shares or not data.ndim:
        return view(data)
    made = view(copied(data.builder, data))
    if shares is None:
        for each in (data.buffer, made.buffer):
            data.builder.fix(each, "NumPy copies it in some calls, and in others does not")
    return made
