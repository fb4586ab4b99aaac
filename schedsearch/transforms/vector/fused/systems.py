"""C of states that need each other (`states.py`), over lanes.

An iteration makes `M c + a` of the states `c`. In a register each lane adds `M` times what is one
lane below, then `M^2` times what is two below, and so on; then powers of `M` times the states
before the register. The lanes of `p` are the powers, from `M` on.

Powers of some `M` grow, those of others are too small for normal numbers: there all iterations are
done one after the other, as in `recurring.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.linear import LARGEST_POWER, smallest
from schedsearch.transforms.vector.fused.scans import below, turns
from schedsearch.transforms.vector.fused.snippets import after
from schedsearch.transforms.vector.fused.states import System
from schedsearch.transforms.vector.fused.values import Values, extreme_register


def powers(system: System, values: Values) -> Iterator[str]:
    """The matrix, and its powers over lanes."""
    kind, lanes, names = system.read.type, values.fused.lanes, _names(system, values)
    element, vec = ELEMENT_TYPES[kind].c, values.vec(kind)
    for name, row in zip(names, system.matrix, strict=True):
        for other, factor in zip(names, row, strict=True):
            text = values.expr(factor, kind)[0] if factor else "0"
            yield f"const {element} b{name}_{other} = {text};"
    pairs = [f"{name}_{other}" for name in names for other in names]
    yield f"{vec} {', '.join(f'p{pair}' for pair in pairs)};"
    for pair in pairs:
        yield f"p{pair}[0] = b{pair};"
    yield f"for (int i = 1; i < {lanes}; i++) {{"
    for name in names:
        for other in names:
            terms = _product(name, names, "b{}", f"p{{}}_{other}[i - 1]")
            yield f"    p{name}_{other}[i] = {terms};"
    yield "}"
    if system.known:
        return
    grown = f"grown{names[0]}"
    yield f"int {grown} = 0;"
    yield f"for (int i = 0; i < {lanes}; i++) {{"
    for pair in pairs:
        yield f"    {grown} |= !(p{pair}[i] <= {LARGEST_POWER} && p{pair}[i] >= -{LARGEST_POWER});"
    yield "}"
    # What a state counts after a register, without what cancels, in a type in which it is not lost.
    for pair in pairs:
        yield f"const long double m{pair} = b{pair} < 0 ? -b{pair} : b{pair};"
        yield f"long double w{pair} = m{pair};"
    yield f"for (int i = 1; i < {lanes}; i++) {{"
    for name in names:
        for other in names:
            terms = _product(name, names, "m{}", f"w{{}}_{other}")
            yield f"    const long double v{name}_{other} = {terms};"
    yield from (f"    w{pair} = v{pair};" for pair in pairs)
    for pair in pairs:
        yield f"    {grown} |= w{pair} != 0 && w{pair} < {smallest(kind)};"
    yield "}"


def system_registers(system: System, values: Values) -> Iterator[str]:
    """What the states are before the iterations of all lanes, and after the last one."""
    kind, lanes, names = system.read.type, values.fused.lanes, _names(system, values)
    element, vec = ELEMENT_TYPES[kind].c, values.vec(kind)
    shift = values.need(after(kind, lanes), kind)
    for name, free in zip(names, system.free, strict=True):
        yield f"{vec} next{name} = {free_register(free, kind, values)};"
        yield f"const {element} before{name} = c{name};"
    if system.known:
        yield from _in_parallel(vec, lanes, names)
    else:
        yield from (f"if (grown{names[0]})", "{")  # data decide: no block that must be run
        yield from (f"    {line}" for line in _in_turn(element, lanes, names))
        yield from ("} else", "{")
        yield from (f"    {line}" for line in _in_parallel(vec, lanes, names))
        yield "}"
    for name in names:
        yield f"{vec} {extreme_register(name, 0)} = {shift}(next{name}, before{name});"
        if values.masked:
            yield f"c{name} = next{name}[{values.count} - 1];"


def _in_turn(element: str, lanes: int, names: Sequence[str]) -> Iterator[str]:
    yield from (f"for (int i = 0; i < {lanes}; i++)", "{")
    for name in names:
        terms = _product(name, names, "b{}", "c{}")
        yield f"    const {element} t{name} = next{name}[i] + {terms};"
    for name in names:
        yield f"    next{name}[i] = c{name} = t{name};"
    yield "}"


def _in_parallel(vec: str, lanes: int, names: Sequence[str]) -> Iterator[str]:
    for by in turns(lanes):
        for name in names:
            yield f"const {vec} below{name}_{by} = {below(vec, lanes, by, f'next{name}')};"
        for name in names:
            terms = _product(name, names, f"p{{}}[{by - 1}]", f"below{{}}_{by}")
            yield f"next{name} += {terms};"
    for name in names:
        terms = _product(name, names, f"p{{}}[{lanes - 1}]", "before{}")
        yield f"c{name} = next{name}[{lanes - 1}] + {terms};"
    for name in names:
        yield f"next{name} += {_product(name, names, 'p{}', 'before{}')};"


def _product(name: str, names: Sequence[str], factor: str, other: str) -> str:
    """C of a row of a matrix times a vector."""
    return " + ".join(f"{factor.format(f'{name}_{each}')} * {other.format(each)}" for each in names)


def _names(system: System, values: Values) -> list[str]:
    return [state_name(read, values) for read in system.places]


def state_name(read: q.Read, values: Values) -> str:
    return values.shared(read.buf, read.idx)


def free_register(expr: q.Expr | None, kind: str, values: Values) -> str:
    return values.spread(values.expr(expr, kind))[0] if expr else f"({values.vec(kind)}){{0}}"
