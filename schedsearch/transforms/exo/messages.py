"""Exo's errors in plain words: the one place where its messages are made ours.

Exo 1.0.0 prints its own data structures, names operators that nobody called, and counts
strides among the sizes of an example. Messages that are not known here are passed on without these.
"""

from __future__ import annotations

import re
from itertools import accumulate

from exo.core.LoopIR import T
from exo.core.memory import MemGenError
from exo.frontend.parse_fragment import ParseFragmentError
from exo.frontend.pyparser import ParseError
from exo.rewrite.LoopIR_unification import UnificationError
from exo.rewrite.new_eff import SchedulingError

_ITS_OWN = (SchedulingError, ParseError, ParseFragmentError, MemGenError, UnificationError)
"""Their names say no more than their texts do."""

_NOISE = re.compile(
    r"<<<unknown directive>>>: "
    r"|Errors occurred during \w+ ?checking:\n"
    r"| *Please contact the Exo developers[^\n]*"
)
_STRIDE = re.compile(r"\w+_stride_\d+ = ")
_DUMPED = re.compile(r"Effects\.|LoopIR\.\w+\(|<exo\.\S* object at| object at 0x[0-9a-f]+")

# A tree printed by its constructors. Innermost first, each becomes what it stands for; square
# brackets are around what may need parentheses.
_EXPRESSIONS = (
    (re.compile(r",? ?srcinfo=<[^<>]*>|,? ?type=LoopIR\.\w+\(\)"), ""),
    (re.compile(r"Effects\.Var\(name=(\w+?)(?:_\d+)?\)"), r"\1"),
    (re.compile(r"Effects\.Const\(val=([^(),]*)\)"), r"\1"),
    (re.compile(r"Effects\.Stride\(name=(\w+?)(?:_\d+)?, dim=(\d+)\)"), r"stride[\1, \2]"),
    (re.compile(r"Effects\.Not\(arg=([^()]*)\)"), r"[not \1]"),
    (re.compile(r"Effects\.BinOp\(op='(\S+)', lhs=([^()]*), rhs=([^()]*)\)"), r"[\2 \1 \3]"),
)
_MINUS_ZERO = re.compile(r"^(.*\S) - 0$")

_EXPECTED = re.compile(
    r"expected expression (?P<what>.*?) to always be (?P<kind>positive|non-negative)\. "
    r"It can be (?:non positive|negative) when:\n\s*(?P<example>[^\n]*?)\.?(?=\n|$)",
    re.DOTALL,
)
_OUTSIDE = re.compile(
    r"(?P<what>\w+) is (?P<how>\w+) out-of-bounds when:\n\s*(?P<example>[^\n]*?)\.?(?=\n|$)"
)
_ASSERTED = re.compile(
    r"Could not verify assertion (?P<what>.*?) in (?P<callee>\w+) at (?P<where>\S+:\d+):\d+\.? "
    r"Assertion is false when:\n\s*(?P<example>[^\n]*?)\.?(?=\n|$)"
)
_SHAPES = re.compile(
    r"type-shape of calling argument may not equal the required type-shape: "
    r"\[(?P<given>.*?)\] vs\. \[(?P<wanted>.*?)\]\. It could be non equal when:\n"
    r"\s*(?P<example>[^\n]*?)\.?(?=\n|$)",
    re.DOTALL,
)
_TWICE = re.compile(
    r"Cannot Pass the same buffer '(?P<what>\w+)' via multiple arguments in call to "
    r"(?P<callee>\w+), since doing so would introduce aliased arguments\."
)

_PLAIN = {
    "expected for loop condition to be in the form 'par(...,...)' or 'seq(...,...)'": (
        "a loop is written `for i in seq(0, n):`"
    ),
    "par() and seq() expects exactly 2 arguments": (
        "a loop has a first value and an end, and steps of 1; for every other element write "
        "`for i in seq(0, n / 2):` and `x[2 * i]`"
    ),
    "only += reductions currently supported": (
        "Exo has `+=` only; write `x[i] = x[i] * y` for `x[i] *= y`"
    ),
    "unknown result from z3": (
        "Exo's solver does not find out whether this is legal (unknown result from z3)"
    ),
    "expected tensor type to be of the form 'R[...]', 'f32[...]', etc.": (
        "that is no type of Exo; arrays are of f16, f32, f64, i8, ui8, ui16 or i32, as `f32[n]`"
    ),
    "unsupported type of statement": (
        "Exo has no such statement; it has assignments, `+=`, `for i in seq(lo, hi):`, `if`, "
        "`pass`, and calls"
    ),
    "Exo does not support function return types": (
        "a procedure returns nothing; give it an argument for the result, as `result: f32`"
    ),
    "all extern arguments must have a same type, got R and": (
        "the argument of a function may not begin with a number: write `f(x * -2.0)` for "
        "`f(-2.0 * x)` and `f(-x + 1.0)` for `f(1.0 - x)`; its type is"
    ),
    "expected argument to be typed, i.e. 'x : T'": (
        "an argument needs a type, as `n: size` or `x: f32[n]`"
    ),
}
"""Sentences of Exo's, and what they mean or what is to be written instead."""


def said(error: BaseException) -> str:
    """What is wrong and what to do about it, where that is known; else what the error says,
    with the name of its kind unless that is one of Exo's."""
    if isinstance(error, AttributeError) and isinstance(error.obj, T.Window):
        return (
            "Exo cannot make a window of a named window (w = x[0:4], then w[1:3], or w[1] where w "
            "has two dimensions); make it of the array"
        )
    text = _NOISE.sub("", str(error)).strip()
    known = _TWICE.sub(_twice, _ASSERTED.sub(_asserted, _OUTSIDE.sub(_outside, text)))
    known = _SHAPES.sub(_shapes, _EXPECTED.sub(_expected, known))
    for its, ours in _PLAIN.items():
        known = known.replace(its, ours)
    if _DUMPED.search(known):
        return f"Exo refuses it ({type(error).__name__}), with nothing that explains it"
    its_own = isinstance(error, _ITS_OWN) or known != str(error)
    return known if its_own else f"{type(error).__name__}: {known}".strip()


def _expected(found: re.Match[str]) -> str:
    what = _expression(found["what"])
    least, may = (">= 0", "negative") if "non" in found["kind"] else ("> 0", "zero or less")
    return f"`{what}` may be {may}{_example(found)}; if it never is, `assert {what} {least}`"


def _outside(found: re.Match[str]) -> str:
    return (
        f"{found['what']} is {found['how']} outside of its bounds{_example(found)}; change the "
        "bounds, or assert what excludes that"
    )


def _asserted(found: re.Match[str]) -> str:
    return (
        f"{found['callee']} asserts `{found['what']}` ({found['where']}), which does not hold "
        f"here{_example(found)}; assert what it needs"
    )


def _shapes(found: re.Match[str]) -> str:
    given, wanted = map(_expression, (found["given"], found["wanted"]))
    return (
        f"an argument has the shape [{given}], the call needs [{wanted}]{_example(found)}; give it "
        "a window of that shape, or assert that they are equal"
    )


def _example(found: re.Match[str]) -> str:
    """Each value once, without strides; nothing if that is all there is."""
    values = dict.fromkeys(found["example"].rstrip(".").split(", "))
    told = [value for value in values if not _STRIDE.match(value)]
    return f", as with {', '.join(told)}" if told else ""


def _twice(found: re.Match[str]) -> str:
    return (
        f"{found['callee']} is given parts of {found['what']} for two arguments, and Exo takes "
        "arguments to be distinct; write the call out, or copy one of them"
    )


def _expression(dump: str) -> str:
    """`Effects.BinOp(op='-', lhs=Effects.Var(name=n_1, ...), ...)  ->  n - m`"""
    before = None
    while dump != before:
        before = dump
        for pattern, plain in _EXPRESSIONS:
            dump = pattern.sub(plain, dump)
    bare = _MINUS_ZERO.sub(r"\1", _without_outer(dump))
    return _without_outer(bare).replace("[", "(").replace("]", ")")


def _without_outer(text: str) -> str:
    """`[a - b]  ->  a - b`, but not `[a] - [b]`."""
    inner = text[1:-1]
    depths = accumulate({"[": 1, "]": -1}.get(character, 0) for character in inner)
    around = text.startswith("[") and text.endswith("]") and min(depths, default=0) >= 0
    return inner if around else text
