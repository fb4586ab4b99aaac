"""What a nest of loops reads, and which values are better in arrays before it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.bounds import Loop
from schedsearch.frontends.views import ONE, replaced

At = tuple[q.Affine, ...]

OPERATORS = frozenset({"+", "-", "*", "/", "neg"})


@dataclass
class Reads:
    """The elements of values that a nest computes: places in terms of the variables of `loops`,
    and how often each is used."""

    loops: list[Loop] = field(default_factory=list)
    uses: Counter[tuple[g.Value, At]] = field(default_factory=Counter)


def loops_over(shape: g.Shape) -> list[Loop]:
    return [Loop(g.fresh(""), q.Affine(), n) for n in shape]


def places(loops: list[Loop]) -> At:
    return tuple(q.as_affine(loop.var) for loop in loops)


def axes_joined(value: g.Reduce, kept: At, reduced: At) -> At:
    """The place in the source of a reduction."""
    left, gone = iter(kept), iter(reduced)
    axes = range(len(value.source.shape))
    return tuple(next(gone) if axis in value.axes else next(left) for axis in axes)


def operands(value: g.Value, at: At) -> Iterator[tuple[g.Value, At]]:
    """The elements that one element of a value depends on; not of reductions and scans."""
    match value:
        case g.View():
            names = dict(zip(value.vars, at, strict=True))
            yield value.source, tuple(replaced(each, names) for each in value.index)
        case g.Apply():
            for each in value.args:
                yield each, at
        case g.Cast():
            yield value.source, at
        case g.Select():
            for each in compared(value.condition):
                yield each, at
            yield value.then, at
            yield value.other, at
        case _:
            pass


def compared(condition: g.Condition) -> Iterator[g.Value]:
    """The data that a condition depends on."""
    match condition:
        case g.Compare():
            yield condition.lhs
            yield condition.rhs
        case g.Logical():
            for each in condition.args:
                yield from compared(each)
        case g.Inside():
            pass


def sources(value: g.Value) -> tuple[g.Value, ...]:
    if isinstance(value, g.Reduce | g.Scan):
        return (value.source,)
    dummy = tuple(q.Affine() for _ in value.shape)
    return tuple(each for each, _ in operands(value, dummy))


def reads(root: g.Value, at: At, loops: list[Loop], stored: Collection[g.Value]) -> Reads:
    """What the nest of `root` reads: stored values, and reductions, are not looked into."""
    found = Reads(list(loops))
    if isinstance(root, g.Reduce) and root not in stored:
        inner = loops_over(tuple(root.source.shape[axis] for axis in sorted(root.axes)))
        found.loops += inner
        todo = [(root.source, axes_joined(root, at, places(inner)))]
    elif isinstance(root, g.Scan) and root not in stored:
        todo = [(root.source, at)]
    else:
        todo = [(root, at)]
    while todo:
        value, at = todo.pop()
        found.uses[value, at] += 1
        enter = value not in stored and not isinstance(value, g.Reduce | g.Scan)
        if enter and found.uses[value, at] == 1:
            todo += reversed(list(operands(value, at)))
    return found


def innermost(value: g.Reduce, kept: At, target: At, stored: Collection[g.Value]) -> int | None:
    """The axis of a reduction's result that its nest is to have innermost: one that goes along rows
    of arrays and down columns of none, if the last axis that is reduced goes down columns of any.
    Else the reduction is. `target` is the place of the element `kept` in its array."""
    gone = loops_over(tuple(value.source.shape[axis] for axis in sorted(value.axes)))
    found = reads(value.source, axes_joined(value, kept, places(gone)), gone, stored)
    arrays = (at for each, at in found.uses if isinstance(each, g.Load) or each in stored)
    indices = [at for at in (target, *arrays) if at]

    def along(var: q.Affine) -> bool:
        return any(q.expr_vars(var) <= q.expr_vars(at[-1]) for at in indices)

    def down(var: q.Affine) -> bool:
        return any(q.expr_vars(var) & q.expr_vars(each) for at in indices for each in at[:-1])

    if not down(places(gone)[-1]):
        return None
    axes = [axis for axis in range(len(kept)) if value.shape[axis] != ONE]
    return next((axis for axis in axes[::-1] if along(kept[axis]) and not down(kept[axis])), None)


def needed_first(root: g.Value, stored: Collection[g.Value]) -> list[g.Value]:
    """The values that are stored before the nest of `root` begins, those first that others use:
    reductions and scans, and what would be computed more than once for one element."""
    kept: list[g.Value] = []
    while several := _in_several_nests(root, stored, kept):
        kept.append(max(several, key=height))
    loops = loops_over(root.shape)
    while True:
        found = reads(root, places(loops), loops, {*stored, *kept})
        variables = {loop.var for loop in found.loops if loop.hi - loop.lo != ONE}
        at_places = Counter(value for value, _ in found.uses)
        for value, at in found.uses:
            if value in stored or value in kept or value is root:
                continue
            used = frozenset().union(*map(q.expr_vars, at)) & variables
            again = used != variables or len(used) > len(value.shape)
            if (
                isinstance(value, g.Reduce | g.Scan)
                or (again and _works(value))
                or (at_places[value] > 1 and _calls(value))
            ):
                kept.append(value)
                break
        else:
            return sorted(kept, key=height)


def _in_several_nests(
    root: g.Value, stored: Collection[g.Value], kept: Collection[g.Value]
) -> list[g.Value]:
    """Calls of functions that more than one nest needs: the root's, and those of reductions and of
    what is kept."""
    leaves = {*stored, *kept}
    roots = {root: None}
    todo = [root, *kept]
    seen: set[g.Value] = set()
    while todo:
        value = todo.pop()
        if value in seen or value in stored:
            continue
        seen.add(value)
        if isinstance(value, g.Reduce | g.Scan) or value in kept:
            roots[value] = None
        todo += sources(value)
    nests: Counter[g.Value] = Counter()
    for each in roots:
        loops = loops_over(each.shape)
        found = reads(each, places(loops), loops, leaves - {each})
        nests.update({value for value, _ in found.uses if value not in leaves and _calls(value)})
    return [value for value, count in nests.items() if count > 1 and value is not root]


def _works(value: g.Value) -> bool:
    """Whether an element costs more than to read it again."""
    match value:
        case g.Apply():
            return value.function != "neg"
        case g.Cast():
            return not value.shape
        case _:
            return isinstance(value, g.Select)


def _calls(value: g.Value) -> bool:
    return isinstance(value, g.Apply) and value.function not in OPERATORS


def shared(root: g.Value, stored: Collection[g.Value]) -> frozenset[g.Value]:
    """Values that a nest computes once for each element, though it uses them several times."""
    loops = loops_over(root.shape)
    uses: Counter[g.Value] = Counter()
    for (value, _), count in reads(root, places(loops), loops, stored).uses.items():
        uses[value] = max(uses[value], count)
    weights: dict[g.Value, int] = {}
    return frozenset(
        value
        for value, count in uses.items()
        if value not in stored and (count - 1) * _weight(value, weights) > 4
    )


def _weight(value: g.Value, known: dict[g.Value, int]) -> int:
    if value not in known:
        own = 0
        if isinstance(value, g.Apply | g.Select | g.Cast):
            own = 5 if not isinstance(value, g.Apply) or _calls(value) else 1
        if isinstance(value, g.Reduce | g.Scan):
            known[value] = 0
        else:
            known[value] = own + sum(_weight(each, known) for each in sources(value))
    return known[value]


def reductions(value: g.Value) -> list[g.Value]:
    """The reductions and scans in a value, those first that others use."""
    found: dict[g.Value, None] = {}
    todo, seen = [value], set[g.Value]()
    while todo:
        top = todo.pop()
        if top not in seen:
            seen.add(top)
            todo += sources(top)
            if isinstance(top, g.Reduce | g.Scan):
                found[top] = None
    return sorted(found, key=height) if len(found) > 1 else [*found]


def made_of(value: g.Value, known: dict[g.Value, frozenset[g.Array]]) -> frozenset[g.Array]:
    """The arrays that a value reads."""
    todo = [value]
    while todo:
        top = todo[-1]
        missing = [each for each in sources(top) if each not in known]
        if missing and top not in known:
            todo += missing
            continue
        own = frozenset({top.array}) if isinstance(top, g.Load) else frozenset()
        known.setdefault(top, own.union(*(known[each] for each in sources(top))))
        todo.pop()
    return known[value]


def height(value: g.Value) -> int:
    """The longest way down to what is read from arrays."""
    known: dict[g.Value, int] = {}
    todo = [value]
    while todo:
        top = todo[-1]
        missing = [each for each in sources(top) if each not in known]
        if missing:
            todo += missing
        else:
            known[top] = 1 + max((known[each] for each in sources(top)), default=0)
            todo.pop()
    return known[value]
