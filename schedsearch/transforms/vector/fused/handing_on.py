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
from schedsearch.transforms.vector.fused.affine_gaps import Gap, gaps
from schedsearch.transforms.vector.fused.model import LANE
from schedsearch.transforms.vector.fused.recurrences import Recurrence
from schedsearch.transforms.vector.fused.recurring import (
    factor_of,
    first_order,
    first_values,
    scalars_of,
    second_order,
)
from schedsearch.transforms.vector.fused.scans import either
from schedsearch.transforms.vector.fused.snippets import after
from schedsearch.transforms.vector.fused.states import State, States, System
from schedsearch.transforms.vector.fused.systems import (
    free_register,
    powers,
    state_name,
    system_registers,
)
from schedsearch.transforms.vector.fused.values import Values, extreme_register


def begun(law: Recurrence | States, values: Values) -> Iterator[str]:
    """The scalars that are handed on from register to register, and the factors."""
    if isinstance(law, Recurrence):
        yield from first_values(law, values)
        return
    for state in law.each:
        kind = ELEMENT_TYPES[state.read.type].c
        for read in state.places:
            element = values.element(read.buf, first_place(read))
            yield f"{kind} c{state_name(read, values)} = {element};"
        if isinstance(state, System):
            yield from powers(state, values)
            continue
        if isinstance(state, Gap):
            yield from _first_of_gap(state, values)
            continue
        name = state_name(state.read, values)
        factors = scalars_of(state, state.read.type)
        if state.partner:
            factors |= {"across": state.partner.across, "back": state.partner.back}
        for letter, factor in factors.items():
            text = values.expr(factor, state.read.type)[0]
            yield f"const {kind} {letter}{name} = {text};"
        if state.partner:
            other = state_name(state.partner.read, values)
            yield f"{kind} e{name} = 0, later{name} = across{name} * c{other};"


def state_registers(states: States, values: Values) -> Iterator[str]:
    """What the states are before the iterations of all lanes, as registers that statements change.
    What they are after the last one is left in the scalars."""
    for read in states.places:
        if first_place(read) != read.idx:
            values.past[read] = extreme_register(state_name(read, values), 0)
    for state in states.each:
        if isinstance(state, System):
            yield from system_registers(state, values)
            continue
        if isinstance(state, Gap):
            yield from _gap_registers(state, values)
            continue
        vec, name = values.vec(state.read.type), state_name(state.read, values)
        free = free_register(state.free, state.read.type, values)
        if state.follows:
            yield f"const {vec} next{name} = {free};"
            yield from _moved(state.read, values)
            continue
        yield from _solved(state, free, values)
        if state.partner:
            other = state_name(state.partner.read, values)
            more = free_register(state.partner.free, state.read.type, values)
            value = f"back{name} * {extreme_register(name, 0)} + {more}"
            yield f"const {vec} next{other} = {value};"
            yield from _moved(state.partner.read, values)


def ended(law: Recurrence | States, values: Values) -> Iterator[str]:
    """Scalars as they are after the last iteration."""
    if isinstance(law, States):
        for read in law.places:
            if first_place(read) != read.idx:
                continue  # an array has it
            yield f"{values.element(read.buf, read.idx)} = c{state_name(read, values)};"
    elif law.carried:
        yield f"{values.element(law.stmt.buf, law.stmt.idx)} = c;"


def first_place(read: q.Read) -> tuple[q.Affine, ...]:
    """Where a state is before the first iteration."""
    if not any(LANE in q.expr_vars(index) for index in read.idx):
        return read.idx
    *outer, last = read.idx
    return (*outer, last - q.as_affine(LANE))


def _solved(state: State, free: str, values: Values) -> Iterator[str]:
    """A state that needs itself."""
    kind, lanes, name = state.read.type, values.fused.lanes, state_name(state.read, values)
    vec, shift = values.vec(kind), values.need(after(kind, lanes), kind)
    element = ELEMENT_TYPES[kind].c
    args = ", ".join([*factor_of(state, kind, values, name), f"&c{name}"])
    helper = first_order(state, kind, lanes)
    if state.partner:
        given = free_register(state.partner.free, kind, values)
        yield f"const {vec} given{name} = across{name} * {given};"
        free = f"{free} + {shift}(given{name}, later{name})"
        args = f"b{name}, across{name} * back{name}, &c{name}, &e{name}"
        helper = second_order(kind, lanes, state.known)
    yield f"const {element} before{name} = c{name};"
    yield f"const {vec} next{name} = {values.need(helper, kind)}({free}, {args});"
    if state.partner:
        yield f"later{name} = given{name}[{lanes - 1}];"
    yield f"{vec} {extreme_register(name, 0)} = {shift}(next{name}, before{name});"
    if values.masked:
        yield f"c{name} = next{name}[{values.count} - 1];"


def _first_of_gap(state: Gap, values: Values) -> Iterator[str]:
    """The costs, and what the state becomes in the first iteration if there is another one."""
    kind, name = state.read.type, state_name(state.read, values)
    element = ELEMENT_TYPES[kind].c
    for letter, cost in {"extend": state.extend, "begin": state.begin}.items():
        yield f"const {element} {letter}{name} = {values.expr(cost, kind)[0] if cost else '0'};"
    if state.other:
        straight, around = f"c{name} + extend{name}", f"c{state_name(state.other, values)}"
        sign = ">" if state.extreme == "max" else "<"
        around += f" + begin{name}"
        yield f"{element} first{name} = {straight} {sign} {around} ? {straight} : {around};"


def _gap_registers(state: Gap, values: Values) -> Iterator[str]:
    """The states of an alignment with affine gaps."""
    kind, lanes, name = state.read.type, values.fused.lanes, state_name(state.read, values)
    vec, call = values.vec(kind), values.need(either(state.extreme)(kind, lanes), kind)
    helper, register = values.need(gaps(kind, lanes, state.extreme), kind), f"gap{name}"
    carried = f"first{name}" if state.other else f"c{name}"
    yield f"const {vec} free{name} = {free_register(state.free, kind, values)};"
    args = f"free{name}, extend{name}, begin{name}, &{carried}"
    yield f"const {vec} {register} = {helper}({args});"
    whole = f"{call}(free{name}, {register})"
    if state.other:
        yield f"const {vec} next{name} = {register};"
        yield f"const {vec} next{state_name(state.other, values)} = {whole};"
        yield from _moved(state.read, values)
        yield from _moved(state.other, values)
        return
    yield f"{vec} {extreme_register(name, 0)} = {register};"
    if values.masked:
        value = f"{call}({register} + extend{name}, {whole} + begin{name})"
        yield f"c{name} = ({value})[{values.count} - 1];"


def _moved(read: q.Read, values: Values) -> Iterator[str]:
    """A state whose values after all iterations are known."""
    kind, lanes, name = read.type, values.fused.lanes, state_name(read, values)
    shift = values.need(after(kind, lanes), kind)
    last = f"{values.count} - 1" if values.masked else str(lanes - 1)
    yield f"{values.vec(kind)} {extreme_register(name, 0)} = {shift}(next{name}, c{name});"
    yield f"c{name} = next{name}[{last}];"
