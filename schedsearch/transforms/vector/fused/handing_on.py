"""C of scalars that iterations hand on, over lanes (`states.py`).

The registers are what each state is before the iterations of all lanes. A state that needs only
others is what they make of it, one lane on. One that needs itself is a recurrence of first order.
With a partner it is one of second order: what the partner gives, `across * free`, comes one lane
later.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.recurrences import Recurrence
from schedsearch.transforms.vector.fused.recurring import first_values, linear, second_order
from schedsearch.transforms.vector.fused.snippets import after
from schedsearch.transforms.vector.fused.states import State, States
from schedsearch.transforms.vector.fused.values import Values, extreme_register


def begun(law: Recurrence | States, values: Values) -> Iterator[str]:
    """The scalars that are handed on from register to register, and the factors."""
    if isinstance(law, Recurrence):
        yield from first_values(law, values)
        return
    for state in law.each:
        kind = ELEMENT_TYPES[state.read.type].c
        for read in state.places:
            element = values.element(read.buf, read.idx)
            yield f"{kind} c{_name(read, values)} = {element};"
        name = _name(state.read, values)
        factors = {"b": state.factor}
        if state.partner:
            factors |= {"across": state.partner.across, "back": state.partner.back}
        for letter, factor in factors.items():
            if factor is not None:
                text = values.expr(factor, state.read.type)[0]
                yield f"const {kind} {letter}{name} = {text};"
        if state.partner:
            other = _name(state.partner.read, values)
            yield f"{kind} e{name} = 0, later{name} = across{name} * c{other};"


def state_registers(states: States, values: Values) -> Iterator[str]:
    """What the states are before the iterations of all lanes, as registers that statements change.
    What they are after the last one is left in the scalars."""
    for state in states.each:
        vec, name = values.vec(state.read.type), _name(state.read, values)
        free = _register(state.free, state.read.type, values)
        if state.factor is None:
            yield f"const {vec} next{name} = {free};"
            yield from _moved(state.read, values)
            continue
        yield from _solved(state, free, values)
        if state.partner:
            other = _name(state.partner.read, values)
            more = _register(state.partner.free, state.read.type, values)
            value = f"back{name} * {extreme_register(name, 0)} + {more}"
            yield f"const {vec} next{other} = {value};"
            yield from _moved(state.partner.read, values)


def ended(law: Recurrence | States, values: Values) -> Iterator[str]:
    """Scalars as they are after the last iteration."""
    if isinstance(law, States):
        for read in law.places:
            yield f"{values.element(read.buf, read.idx)} = c{_name(read, values)};"
    elif law.carried:
        yield f"{values.element(law.stmt.buf, law.stmt.idx)} = c;"


def _solved(state: State, free: str, values: Values) -> Iterator[str]:
    """A state that needs itself."""
    kind, lanes, name = state.read.type, values.fused.lanes, _name(state.read, values)
    vec, shift = values.vec(kind), values.need(after(kind, lanes), kind)
    element = ELEMENT_TYPES[kind].c
    args, make = f"b{name}, &c{name}", linear
    if state.partner:
        given = _register(state.partner.free, kind, values)
        yield f"const {vec} given{name} = across{name} * {given};"
        free = f"{free} + {shift}(given{name}, later{name})"
        args, make = f"b{name}, across{name} * back{name}, &c{name}, &e{name}", second_order
    helper = values.need(make(kind, lanes, state.known), kind)
    yield f"const {element} before{name} = c{name};"
    yield f"const {vec} next{name} = {helper}({free}, {args});"
    if state.partner:
        yield f"later{name} = given{name}[{lanes - 1}];"
    yield f"{vec} {extreme_register(name, 0)} = {shift}(next{name}, before{name});"
    if values.masked:
        yield f"c{name} = next{name}[{values.count} - 1];"


def _moved(read: q.Read, values: Values) -> Iterator[str]:
    """A state whose values after all iterations are known."""
    kind, lanes, name = read.type, values.fused.lanes, _name(read, values)
    shift = values.need(after(kind, lanes), kind)
    last = f"{values.count} - 1" if values.masked else str(lanes - 1)
    yield f"{values.vec(kind)} {extreme_register(name, 0)} = {shift}(next{name}, c{name});"
    yield f"c{name} = next{name}[{last}];"


def _register(expr: q.Expr | None, kind: str, values: Values) -> str:
    return values.spread(values.expr(expr, kind))[0] if expr else f"({values.vec(kind)}){{0}}"


def _name(read: q.Read, values: Values) -> str:
    return values.shared(read.buf, read.idx)
