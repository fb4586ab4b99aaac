"""Random programs of equations, and what they mean: loops of Python over all indices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends.equations.build import Equations
from schedsearch.frontends.equations.calling import named, results, sizes

LETTERS = "ijkl"

NAMES = {
    "relu": lambda x: x if x > 0 else 0.0,
    "abs": abs,
    "tanh": math.tanh,
    "max": max,
    "min": min,
    "where": lambda condition, then, other: then if condition else other,
}

FOLD = {
    "sum": sum,
    "max": max,
    "min": min,
    "prod": math.prod,
}


@dataclass
class Random_:
    """A program as text, its inputs, and what its equations compute."""

    lengths: dict[str, int]
    lines: list[str] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def random_program(rng: Random) -> Random_:
    made = Random_({letter: rng.randint(1, 4) for letter in LETTERS})
    for number in range(rng.randint(1, 3)):
        _equation(made, f"r{number}", rng)
    return made


def _equation(made: Random_, name: str, rng: Random) -> None:
    left = rng.sample(LETTERS, rng.randint(0, 2))
    project = rng.choice(["sum", "sum", "sum", "max", "min", "prod"])
    terms = [_term(made, rng, left) for _ in range(rng.randint(1, 3) if project == "sum" else 1)]
    used = {letter for term in terms for letter in _letters(term)}
    for letter in (*left, *sorted(used - {*left})):
        # each index is alone in one access at least
        where = rng.randrange(len(terms))
        owner = terms[where] if letter in left else next(t for t in terms if letter in _letters(t))
        place = terms.index(owner)
        terms[place] = f"{owner} * {_access(made, rng, [letter])}"
    value = " + ".join(terms)
    sign = "=" if project == "sum" else f"{project}="
    target = f"{name}[{', '.join(left)}]" if left else name
    made.lines.append(f"{target} {sign} {value}")
    made.values[name] = _evaluated(made, left, terms, project)


def _letters(text: str) -> set[str]:
    """Indices are single letters, and names of functions have more."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return {word for word in words if word in LETTERS}


def _term(made: Random_, rng: Random, left: list[str]) -> str:
    found = _expr(made, rng, rng.randint(0, 3))
    return f"1 * {found}" if found.startswith("(") else found  # terms of a sum are terms


def _expr(made: Random_, rng: Random, depth: int) -> str:
    if depth == 0:
        kind = rng.random()
        if kind < 0.1:
            return rng.choice(["2", "0.5", "3"])
        if kind < 0.2:
            return _access(made, rng, [])
        return _access(made, rng, [_place(rng) for _ in range(rng.randint(1, 2))])
    one, two = (_expr(made, rng, depth - 1) for _ in range(2))
    match rng.randrange(8):
        case 0:
            return f"({one} - {two})"
        case 1:
            return f"({one} + {two})"
        case 2:
            return f"{rng.choice(['relu', 'abs', 'tanh'])}({one})"
        case 3:
            return f"{rng.choice(['max', 'min'])}({one}, {two})"
        case 4:
            return f"where({one} {rng.choice(['<', '>=', '=='])} {two}, {one}, {two})"
        case 5:
            a, b = rng.sample(LETTERS, 2)
            # both are bounded, as they are indices of an array too
            extra = _access(made, rng, [a, b])
            return f"where({a} {rng.choice(['<', '<=', '!='])} {b} + 1, {one}, {extra})"
        case 6:
            return f"(-{one})"
        case _:
            return f"({one} * {two})"


def _place(rng: Random) -> str:
    a, b = rng.sample(LETTERS, 2)
    return rng.choice([a, a, a, f"{a} + {b}", f"{a} + 1", f"2*{a}", f"3*{a} + {b}"])


def _access(made: Random_, rng: Random, index: list[str]) -> str:
    """An earlier result with plain indices, or an array of its own."""
    fitting = [
        name
        for name, value in made.values.items()
        if value.shape == tuple(made.lengths.get(place, -1) for place in index)
    ]
    if fitting and rng.random() < 0.5:
        name = rng.choice(fitting)
    else:
        name = f"a{len(made.arrays)}"
        ends = [{letter: n - 1 for letter, n in made.lengths.items()}] * len(index)
        shape = [
            int(eval(place, {}, end)) + 1 + (rng.randint(0, 2) if "*" in place else 0)
            for place, end in zip(index, ends, strict=True)
        ]
        numbers = [rng.uniform(-1.5, 1.5) for _ in range(math.prod(shape))]
        made.arrays[name] = np.array(numbers).reshape(shape)
    return f"{name}[{', '.join(index)}]" if index else name


def _evaluated(made: Random_, left: list[str], terms: list[str], project: str) -> Any:
    known = {**NAMES, **made.arrays, **made.values}
    out = np.zeros([made.lengths[letter] for letter in left])
    codes = [(compile(term, "term", "eval"), sorted(_letters(term) - {*left})) for term in terms]
    for at in itertools.product(*(range(made.lengths[letter]) for letter in left)):
        kept = dict(zip(left, at, strict=True))
        total = 0.0
        for code, own in codes:
            ranges = [range(made.lengths[letter]) for letter in own]
            found = [
                float(eval(code, known, {**kept, **dict(zip(own, places, strict=True))}))
                for places in itertools.product(*ranges)
            ]
            total += float(FOLD[project](found))
        out[at] = total
    return out


def call_of(
    of: Equations, args: Sequence[Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[q.Var, int]]:
    """All arrays of a call, with those of results, and the sizes."""
    held = named(of, args, given)
    known = sizes(of, held)
    return held | {name: np.empty(*made) for name, made in results(of, known).items()}, known
