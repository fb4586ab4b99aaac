"""How large Python's whole numbers in storage may be. Python's have no bound; kernels keep them as
f64, where they are exact below 2**53, and elements of integers have the bounds of their type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schedsearch.frontends import graph as g

FASTEST = 2**22
"""How much a variable may grow in one round: 2**31 rounds stay exact then."""

INDEX = 2**20
"""How large an index or a size is taken to be."""


@dataclass(frozen=True)
class Span:
    """From `lo` to `hi`, more than what storage holds if `relative`."""

    lo: float
    hi: float
    relative: bool = False


Holds = Mapping[g.Array, tuple[g.Value, ...]]
"""Values that scalars in storage may have."""


def span(
    node: g.Value, holds: Holds, base: frozenset[g.Array] = frozenset(), index: Span | None = None
) -> Span | None:
    """Where a scalar lies, more than what `base` holds, if indices and sizes lie in `index`; None
    if that is not known."""

    def inner(each: g.Value, base: frozenset[g.Array] = base) -> Span | None:
        return span(each, holds, base, index)

    match node:
        case g.Count():
            return index
        case g.Constant():
            return Span(node.value, node.value)
        case g.View() | g.Cast():
            return inner(node.source)
        case g.Load() if node.array in base:
            return Span(0, 0, relative=True)
        case g.Load() if node.array in holds:
            own = base | {node.array}
            return _either(*(inner(each, own) for each in holds[node.array]))
        case g.Select():
            return _either(inner(node.then), inner(node.other))
        case g.Apply():
            parts = [inner(each) for each in node.args]
            known = [each for each in parts if each is not None]
            return _applied(node.function, known) if len(known) == len(parts) else None
        case _:
            return None


def _either(*parts: Span | None) -> Span | None:
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    least, most = min(each.lo for each in known), max(each.hi for each in known)
    return Span(least, most, any(each.relative for each in known))


def _applied(function: str, args: list[Span]) -> Span | None:
    match function, args:
        case "+", [a, b] if not (a.relative and b.relative):
            return Span(a.lo + b.lo, a.hi + b.hi, a.relative or b.relative)
        case "-", [a, b] if not b.relative:
            return Span(a.lo - b.hi, a.hi - b.lo, a.relative)
        case "neg", [a] if not a.relative:
            return Span(-a.hi, -a.lo)
        case "*", [a, b] if not (a.relative or b.relative):
            ends = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
            return Span(min(ends), max(ends))
        case _:
            return None


def counts(node: g.Value, array: g.Array, holds: Holds) -> bool:
    """Whether a round that leaves `node` in storage for the next one stays exact."""
    found = span(node, holds, frozenset({array}), Span(-INDEX, INDEX))
    return found is not None and max(abs(found.lo), abs(found.hi)) <= FASTEST
