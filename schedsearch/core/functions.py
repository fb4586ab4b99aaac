"""External functions of data: Exo's own, and those that front ends define
(`frontends/functions.py`). A row is all that is known of one, but its rule for intervals, `hs_NAME`
in `evaluate/runtime/enclosure.h`.

Exo 1.0.0 has seven. C computes some of them in another type than that of their arguments, so
those of front ends that do the same in one type have another name: `sqrt_` is `sqrtf` of f32.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from schedsearch.core.element_types import INTEGERS

LETTERS = "abcd"
"""Names of arguments in C expressions."""


@dataclass(frozen=True)
class Function:
    """`c`: its value in C, of arguments `a`, `b`, ...; `{f}` ends the names of C's functions of
    floats, `{single}` converts to float; empty if it is one of integers only. `whole`: the same of
    integers, which C computes in `int`; empty if there is none.

    `precision`: the type in which C computes it; empty if in that of the arguments. `returns`: the
    type of its result in C, likewise. `own`: it is one of Exo's.

    `rounds`: its result is rounded. `correctly`: to the nearest number. `scale`: other faults show
    with inputs of other size. `instruction`: processors have one; others take about as long as an
    exponential. `extreme`: it is the smaller or the larger one of two. `chooses`: the comparison
    of the first two arguments by which it is the third or the fourth.

    `numpy`, `torch`: the function of that name does it element by element. `loop`: Python of
    numbers `{0}`, `{1}`, ..., of 0 and 1 in their type, `{zero}` and `{one}`.
    """

    name: str
    arity: int
    c: str
    whole: str = ""
    precision: Literal["", "f32", "f64"] = ""
    returns: Literal["", "f32", "f64"] = ""
    own: bool = False
    rounds: bool = True
    correctly: bool = False
    scale: bool = False
    instruction: bool = False
    extreme: Literal["", "min", "max"] = ""
    chooses: str = ""
    numpy: str = ""
    torch: str = ""
    loop: str = ""

    def c_of(self, kind: str, argument: str = "{}") -> str:
        """C of the function of arguments of a type; `argument` is what they look like."""
        single = kind == "f32"
        c = self.whole if kind in INTEGERS else self.c
        text = c.format(f="f" if single else "", single="" if single else "(float)")
        return re.sub(r"\b([a-d])\b", lambda found: argument.format(found[1]), text)


_EXO = (
    Function(
        "relu",
        1,
        "a > 0 ? a : 0",
        own=True,
        rounds=False,
        instruction=True,
        loop="max({0}, {zero})",
    ),
    Function(
        "select",
        4,
        "a < b ? c : d",
        "a < b ? c : d",
        own=True,
        rounds=False,
        instruction=True,
        chooses="<",
        loop="({2} if {0} < {1} else {3})",
    ),
    Function(
        "sqrt",
        1,
        "sqrt{f}(a)",
        precision="f64",
        returns="f64",
        own=True,
        correctly=True,
        instruction=True,
        numpy="sqrt",
        torch="sqrt",
        loop="np.sqrt({0})",
    ),
    Function(
        "fmaxf",
        2,
        "{single}a > {single}b || b != b ? {single}a : {single}b",  # of a NaN and a number, that
        precision="f32",
        returns="f32",
        own=True,
        rounds=False,
        instruction=True,
        extreme="max",
        numpy="maximum",
        torch="maximum",
        loop="max({0}, {1})",
    ),
    Function(
        "expf",
        1,
        "expf(a)",
        precision="f32",
        returns="f32",
        own=True,
        scale=True,
        numpy="exp",
        torch="exp",
        loop="np.exp({0})",
    ),
    Function(
        "sin",
        1,
        "sin{f}(a)",
        precision="f64",
        returns="f64",
        own=True,
        scale=True,
        numpy="sin",
        torch="sin",
        loop="np.sin({0})",
    ),
    Function(
        "sigmoid",
        1,
        "1 / (1 + exp{f}(-a))",
        precision="f64",
        own=True,
        scale=True,
        loop="({one} / ({one} + np.exp(-{0})))",
    ),
)


def _curve(name: str, own: str = "") -> Function:
    """A function of one number of C's library, NumPy and PyTorch."""
    loop = f"np.{name}({{0}})"
    return Function(
        own or name, 1, f"{name}{{f}}(a)", scale=True, numpy=name, torch=name, loop=loop
    )


def _choice(name: str, comparison: str) -> Function:
    text = f"a {comparison} b ? c : d"
    loop = f"({{2}} if {{0}} {comparison} {{1}} else {{3}})"
    return Function(
        name, 4, text, text, rounds=False, instruction=True, chooses=comparison, loop=loop
    )


def _of_bits(name: str, operator: str) -> Function:
    """An operator of whole numbers alone."""
    own = f"bitwise_{name}"
    return Function(
        f"bit_{name}",
        2,
        "",
        f"a {operator} b",
        rounds=False,
        instruction=True,
        numpy=own,
        torch=own,
        loop=f"({{0}} {operator} {{1}})",
    )


_OURS = (
    _curve("exp"),
    Function(
        "log",
        1,
        "log{f}(a)",
        scale=True,
        numpy="log",
        torch="log",
        loop="np.log({0})",
    ),
    Function(
        "sqrt_",
        1,
        "sqrt{f}(a)",
        correctly=True,
        instruction=True,
        numpy="sqrt",
        torch="sqrt",
        loop="np.sqrt({0})",
    ),
    _curve("sin", "sin_"),
    _curve("cos"),
    _curve("log1p"),
    _curve("expm1"),
    _curve("tanh"),
    # NumPy has none.
    Function("erf", 1, "erf{f}(a)", scale=True, torch="erf", loop="math.erf({0})"),
    # Neither infinity nor a difference of large numbers on the way: -ffast-math may take NaN
    # for the reciprocal of infinity.
    Function(
        "sigmoid_",
        1,
        "1 / (1 + exp{f}(-fabs{f}(a))) * (a < 0 ? exp{f}(-fabs{f}(a)) : 1)",
        scale=True,
        torch="sigmoid",
        loop="({one} / ({one} + np.exp(-{0})))",
    ),
    Function(
        "pow_",
        2,
        "pow{f}(a, b)",
        scale=True,
        numpy="power",
        torch="pow",
        loop="({0} ** {1})",
    ),
    Function(
        "abs_",
        1,
        "fabs{f}(a)",
        "a < 0 ? -a : a",
        rounds=False,
        instruction=True,
        numpy="abs",
        torch="abs",
        loop="abs({0})",
    ),
    # Of a NaN and a number, NaN: as NumPy's.
    Function(
        "min_",
        2,
        "a < b || a != a ? a : b",
        "a < b ? a : b",
        rounds=False,
        instruction=True,
        extreme="min",
        numpy="minimum",
        torch="minimum",
        loop="min({0}, {1})",
    ),
    Function(
        "max_",
        2,
        "a > b || a != a ? a : b",
        "a > b ? a : b",
        rounds=False,
        instruction=True,
        extreme="max",
        numpy="maximum",
        torch="maximum",
        loop="max({0}, {1})",
    ),
    Function(
        "floor",
        1,
        "floor{f}(a)",
        "a",
        rounds=False,
        scale=True,
        instruction=True,
        numpy="floor",
        torch="floor",
        loop="np.floor({0})",
    ),
    # To the nearest whole number, of two the even one.
    Function(
        "rint",
        1,
        "rint{f}(a)",
        rounds=False,
        scale=True,
        instruction=True,
        numpy="rint",
        torch="round",
        loop="np.rint({0})",
    ),
    Function(
        "atan2",
        2,
        "atan2{f}(a, b)",
        numpy="arctan2",
        torch="atan2",
        loop="np.arctan2({0}, {1})",
    ),
    Function(
        "relu_",
        1,
        "a > 0 || a != a ? a : 0",
        "a > 0 ? a : 0",
        rounds=False,
        instruction=True,
        loop="max({0}, {zero})",
    ),
    _of_bits("and", "&"),
    _of_bits("or", "|"),
    _of_bits("xor", "^"),
    # LLVM's names: rounded down, and towards zero. Programs have them of a constant `b`.
    Function(
        "ashr",
        2,
        "",
        "a >> b",
        rounds=False,
        instruction=True,
        numpy="right_shift",
        torch="bitwise_right_shift",
        loop="({0} >> {1})",
    ),
    Function(
        "sdiv",
        2,
        "",
        "a / b",
        rounds=False,
        instruction=True,
        loop="int({0} / {1})",
    ),
    _choice("select_lt", "<"),
    _choice("select_le", "<="),
    _choice("select_eq", "=="),
)

FUNCTIONS = {each.name: each for each in (*_EXO, *_OURS)}
"""By name."""
