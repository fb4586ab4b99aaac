"""C of lanes that are computed one after the other, where a recurrence allows no more."""

from __future__ import annotations

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.snippets import Snippet, function
from schedsearch.transforms.vector.registers import set_name

_IN_MEMORY = '"+m"'


def in_turn(
    name: str, kind: str, lanes: int, one: str, registers: str, scalars: str = "", handed: str = "c"
) -> Snippet:
    """A function of `registers`, `scalars` and pointers to what is `handed` on, by letters. `one`
    computes lane `l` of the result `r` from lanes, scalars and what is handed on.

    Lanes are in memory, behind an empty `asm`: gcc would take each out of its register. Results
    are not: a load of what several stores wrote waits until these have left the core.
    """
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    params = [f"{vec} {each}_" for each in registers] + [f"{element} {each}" for each in scalars]
    params += [f"{element} *{each}_" for each in handed]
    arrays = [f"{each}[{lanes}]" for each in registers]
    body = [
        f"{element} {', '.join(arrays)};",
        f"{element} {', '.join(f'{each} = *{each}_' for each in handed)};",
        f"{vec} r = {{0}};",
        *(f"*({vec}_u *){each} = {each}_;" for each in registers),
        f'__asm__("" : {", ".join(f"{_IN_MEMORY}({each})" for each in registers)});',
        f"for (int l = 0; l < {lanes}; l++) {{ {one} }}",
        *(f"*{each}_ = {each};" for each in handed),
        "return r;",
    ]
    return function(f"{vec}_{name}_in_turn", vec, ", ".join(params), "\n    ".join(body))


def taken_in_turn(condition: str, helper: Snippet, args: str) -> list[str]:
    """C that returns the lanes computed in turn where a condition holds. Data decide that, perhaps
    never so: it is no block that verification must run (`sanitize.py` counts braces)."""
    return [f"if ({condition})", f"    return {helper[0]}({', '.join(args)});"]
