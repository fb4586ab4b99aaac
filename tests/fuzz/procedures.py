"""Random procedures as source text: nests of loops, branches, windows, calls, temporaries.

What is drawn is kept small (some hundred iterations), and numbers are small quarters, so that
most arithmetic is exact in any order, and conversions to integers truncate. Not everything
that is drawn passes Exo's front end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fuzz.indices import SIZES, Buffer
from fuzz.storage import HELPERS, Storage
from fuzz.writer import TYPES, VALUES, Lines, Scope, indent
from schedsearch.core.element_types import PLAIN
from schedsearch.frontends.functions import module_text

OF_INTEGERS = ("ashr", "sdiv", "bit_and", "bit_xor")
"""Functions that are not Exo's."""


@dataclass(frozen=True)
class Generated:
    """The text of a module with the procedure `fuzzed`, and sizes to call it with."""

    text: str
    sizes: tuple[Mapping[str, int], ...]


@st.composite
def procedures(draw: st.DrawFn, extremes: bool = False) -> Generated:
    """With `extremes`, contractions are mostly minima and maxima."""
    return (_Extremes if extremes else _Module)(draw).module()


def drawn(number: int, count: int, *strategies: st.SearchStrategy[Any]) -> list[tuple[Any, ...]]:
    """What is drawn from the seed `number`, `count` times: of procedures, not all pass Exo's front
    end."""
    found = list[tuple[Any, ...]]()

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*strategies))
    def each(values: tuple[Any, ...]) -> None:
        found.append(values)

    each()
    return found


class _Module(Storage):
    def first(self) -> str:
        """What a procedure begins with."""
        return str(self.pick("item", "item", "contraction", "pipeline", "item", "contraction"))

    def module(self) -> Generated:
        self.sizes = SIZES[: self.pick(0, 0, 0, 1, 1, 2)]
        self.type = self.pick("f32", "f32", "f32", "f64", "i32", "i8", "f16", "ui8")
        self.configured = self.chance(12)
        args = self.arguments()
        scope = Scope(buffers=tuple(args))
        body: Lines = ["Mode.limit = 3"] if self.configured else []
        body += getattr(self, self.first())(scope)
        for _ in range(self.pick(0, 0, 1, 2)):
            body += self.item(scope)
        head = ", ".join(
            [f"{size}: size" for size in self.sizes] + [f"{b.name}: {b.type}{b.tag}" for b in args]
        )
        asserts = [self.sized(size) for size in self.sizes]
        text = "\n".join(
            [
                "from __future__ import annotations",
                "from exo import proc, config, DRAM",
                "from exo.libs.memories import DRAM_STACK",
                "from exo.libs.externs import relu, select",
                module_text([name for name in OF_INTEGERS if f"{name}(" in " ".join(body)]),
                *(["@config", "class Mode:", "    limit: size"] if self.configured else []),
                *(HELPERS[name].format(t=self.type) for name in sorted(self.called)),
                "@proc",
                f"def fuzzed({head}):",
                *indent([*(f"assert {text}" for text, _ in asserts if text), *body]),
            ]
        )
        for buffer in self.buffers:
            if not buffer.fixed:
                shape = ", ".join(map(str, buffer.shape))
                text = text.replace(buffer.tag, f"[{shape}]" if shape else "")
        return Generated(text + "\n", self.calls([fits for _, fits in asserts]))

    def sized(self, size: str) -> tuple[str, tuple[int, ...]]:
        """An assert about a size, and the sizes that hold it."""
        by = self.number(2, 4)
        conditions = {
            "": VALUES,
            f"{size} % {by} == 0": tuple(by * v for v in VALUES[:5]),
            f"{size} > {by}": tuple(v for v in VALUES if v > by),
            f"{size} <= {by + 4}": tuple(v for v in VALUES if v <= by + 4),
        }
        chosen = self.pick("", *conditions)
        return chosen, conditions[chosen]

    def calls(self, values: list[tuple[int, ...]]) -> tuple[Mapping[str, int], ...]:
        """The least sizes, and two others."""
        if not values:
            return ({},)
        found = [dict(zip(self.sizes, (v[0] for v in values), strict=True))]
        for _ in range(2):
            chosen = [self.pick(*v) for v in values]
            found.append(dict(zip(self.sizes, chosen, strict=True)))
        return tuple({tuple(each.items()): each for each in found}.values())

    def arguments(self) -> list[Buffer]:
        ranks = self.pick(None, None, (2, 2, 2), (1, 2, 1), (1, 1), (3, 2, 2))
        if ranks is None:
            return [self.argument(letter) for letter in "xyz"[: self.number(1, 3)]]
        target = self.pick(*TYPES) if self.chance(3) else self.type
        kinds = (target, self.type, self.type)
        return [self.buffer(n, k, r) for n, k, r in zip("xyz", kinds, ranks, strict=False)]

    def argument(self, name: str) -> Buffer:
        return self.buffer(name, self.kind(), self.pick(2, 1, 2, 1, 2, 2, 3, 3, 1, 0))


class _Extremes(_Module):
    def first(self) -> str:
        return "contraction"

    def reduced(self, target: Buffer, operands: list[Buffer], places: Lines) -> str:
        """A minimum or maximum as procedures write it, of either one if they are equal. Exo's
        `select` converts its arguments to narrower types before it compares them."""
        same = target.type == operands[0].type and target.type in PLAIN
        if not same or self.chance(6):
            return super().reduced(target, operands, places)
        place, *terms = places
        term = str(self.pick(" + ".join(terms), " - ".join(terms), terms[0]))
        one, other = self.draw(st.permutations([place, term]))
        first, second = self.draw(st.permutations([one, other]))
        return f"{place} = select({one}, {other}, {first}, {second})"
