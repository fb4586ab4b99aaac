"""Random affine programs in C, all of them with the same parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

PARAMETERS = (
    "int n, int m, double a[n][m], double b[m][n], float x[n], int k[m], double s, float *p"
)

EXTENTS = {"a": "nm", "b": "mn", "x": "n", "k": "m"}


@dataclass(frozen=True)
class Loop:
    """A variable within 0 and an extent, `margin` away from both ends."""

    name: str
    extent: str
    margin: int


@dataclass
class Text:
    """A program as it is written."""

    random: Random
    loops: list[Loop] = field(default_factory=list)
    doubles: list[str] = field(default_factory=lambda: ["s", "u", "v"])
    number: int = 0

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def name(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}"

    # -- expressions -----------------------------------------------------------------------------

    def index(self, extent: str) -> str:
        own = [loop for loop in self.loops if loop.extent == extent]
        if not own or self.random.random() < 0.1:
            return str(self.one("0", "1", f"{extent} - 1", f"{extent} / 2"))
        loop = self.one(*own)
        offsets = [f"{loop.name} + 1", f"{loop.name} - 1"] if loop.margin else []
        return str(self.one(loop.name, loop.name, f"{extent} - 1 - {loop.name}", *offsets))

    def element(self, array: str) -> str:
        if array == "p":  # rows of n elements
            return f"p[({self.index('m')}) * n + {self.index('n')}]"
        return array + "".join(f"[{self.index(each)}]" for each in EXTENTS[array])

    def integer(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            names = [loop.name for loop in self.loops]
            return str(self.one(self.element("k"), *names, "n", "m", "3", "(-2)", "10"))
        if kind < 0.4 and self.loops:
            loop = self.one(*self.loops)
            return f"({loop.name} {self.one('/', '%')} {self.one(2, 3)})"
        if kind < 0.5:
            return f"({self.condition(1)} ? {self.integer(1)} : {self.integer(1)})"
        if kind < 0.6:  # of data: of sizes it may not be negative
            data = f"({self.element('k')} {self.one('+', '-')} {self.integer(depth - 1)})"
            op = self.one("/ 3", "% 7", "/ (-5)", "% (-4)", ">> 1", ">> 5", "& 15", "& -4", "<< 3")
            return self.one(f"({data} {op})", f"(~{data})")
        op = self.one("+", "-", "*")
        return f"({self.integer(depth - 1)} {op} {self.integer(depth - 1)})"

    def real(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            arrays = [self.element(each) for each in "abxp"]
            return str(self.one(*arrays, *self.doubles, "0.1", "0.1f", "2.5", "(-3.0f)"))
        if kind < 0.4:
            return f"({self.condition(1)} ? {self.real(1)} : {self.either(1)})"
        if kind < 0.5:
            return f"(-{self.real(depth - 1)})"
        if kind < 0.6:
            return f"(float)({self.real(depth - 1)})"
        pair = [self.real(depth - 1), self.either(depth - 1)]
        self.random.shuffle(pair)
        return f"({pair[0]} {self.one('+', '-', '*', '/')} {pair[1]})"

    def either(self, depth: int) -> str:
        return self.real(depth) if self.random.random() < 0.7 else self.integer(depth)

    def condition(self, depth: int) -> str:
        kind = self.random.random()
        if depth and kind < 0.3:
            op = self.one("&&", "||")
            return f"({self.condition(depth - 1)} {op} {self.condition(depth - 1)})"
        if kind < 0.4:
            return f"!({self.condition(0)})"
        op = self.one("<", "<=", ">", ">=", "==", "!=")
        if kind < 0.7 and self.loops:
            other = self.one("n", "m", "2", *(loop.name for loop in self.loops))
            return f"{self.one(*self.loops).name} {op} {other} - {self.one(1, 2)}"
        return f"{self.either(1)} {op} {self.either(1)}"

    # -- statements ------------------------------------------------------------------------------

    def block(self, depth: int, length: int) -> str:
        doubles = list(self.doubles)
        text = " ".join(self.statement(depth) for _ in range(self.random.randint(1, length)))
        self.doubles = doubles
        return f"{{ {text} }}"

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        if depth and kind < 0.45:
            return self.loop(depth)
        if depth and kind < 0.6:
            other = f" else {self.block(depth - 1, 2)}" if self.random.random() < 0.5 else ""
            return f"if ({self.condition(1)}) {self.block(depth - 1, 2)}{other}"
        if kind < 0.7:
            value, name = self.real(2), self.name("t")
            self.doubles.append(name)
            return f"double {name} = {value};"
        if kind < 0.74:
            return f"do {self.block(0, 2)} while (0);"
        if kind < 0.78 and self.loops:
            return self.excluded()
        if kind < 0.83:
            return self.walk()
        return self.assignment()

    def excluded(self) -> str:
        """Under a condition that never holds, or holds in a part, an element that needs it."""
        loop = self.one(*self.loops)
        name, extent = loop.name, loop.extent
        array = "x" if extent == "n" else "k"
        never = f"{name} < 0 || {name} >= {extent}"
        return str(
            self.one(
                f"if ({never}) {array}[{name} + {extent}] = 1;",
                f"if ({name} != 0 && {name} < {extent}) {array}[{name} - 1] += 2;",
                f"if (({never}) || {name} > 1) {array}[{name} - 2] -= 1;",
                f"if ({self.condition(0)} && {name} > 0) {array}[{name} - 1] += 1;",
            )
        )

    def walk(self) -> str:
        """A pointer through a row, or through all of them."""
        q, i = self.name("q"), self.name("i")
        row = f"p + ({self.index('m')}) * n"
        value, add = self.real(1), self.one("", "+", "-", "*")
        return str(
            self.one(
                f"{{ float *{q} = {row}; int {i} = n; while ({i}--) *{q}++ {add}= {value}; }}",
                f"{{ float *{q} = {row}; for (int {i} = 0; {i} < n; ++{i}, {q}++) "
                f"{{ if ({self.condition(1)}) continue; {q}[0] {add}= {value}; }} }}",
                f"{{ float *{q} = {row} + n; int {i} = n; do {{ *--{q} {add}= {value}; }} "
                f"while (--{i}); }}",
                f"{{ const float *{q} = p; for (int {i} = 0; {i} < m; {i}++, {q} += n) "
                f"u += {q}[{self.index('n')}] * {value}; }}",
                f"for (float *{q} = p; {q} < p + m * n; {q}++) *{q} {add}= {value};",
                f"for (int {i} = 0; {i} < m * n; {i}++) p[{i}] {add}= {value};",
                f"{{ int {i} = 0; for (float *{q} = p; {q} != p + m * n; {q} += n) "
                f"{{ u += {q}[{self.index('n')}]; k[{i}++] += 1; }} }}",
            )
        )

    def assignment(self) -> str:
        target = self.one("a", "a", "b", "x", "k", "p", "local")
        op = self.one("=", "=", "+=", "-=", "*=")
        if target == "local":
            return f"{self.one(*self.doubles)} {op} {self.real(2)};"
        if target == "k":
            return f"{self.element('k')} {op} {self.integer(2)};"
        return f"{self.element(target)} {op} {self.either(2)};"

    def loop(self, depth: int) -> str:
        extent = self.one("n", "m")
        around = [loop.name for loop in self.loops if loop.extent == extent]
        hidden = sorted({loop.name for loop in self.loops})
        name = self.one(*hidden) if hidden and self.random.random() < 0.1 else self.name("i")
        around = [other for other in around if other != name]
        forms = [
            (f"{name} = 0; {name} < {extent}; {name}++", 0),
            (f"{name} = 1; {name} < {extent} - 1; {name}++", 1),
            (f"{name} = {extent} - 1; {name} >= 0; {name}--", 0),
            (f"{name} = {extent} - 2; {name} > 0; --{name}", 1),
            (f"{name} = 0; {name} <= {extent} - 1; {name} += 2", 0),
            (f"{name} = {extent} - 1; {name} >= 0; {name} -= 3", 0),
            (f"{name} = 0; {name} < {extent}; {name} += 0{self.one(1, 2, 10)}", 0),
            (f"{name} = 0; {name} < 0x3 && {name} < {extent}; {name} = {name} + 0x1", 0),
            (f"{name} = 0; {name} < {extent} % 4; {name}++", 0),
            (f"{name} = {extent} - {extent} % 3; {name} < {extent}; {name}++", 0),
            (f"{name} = 0; {name} <= {extent} - 2; {name} += 2", 0),
            (f"{name} = 0; {name} < {extent} / 2 * 2; {name} += 1L", 0),
        ]
        for other in around:
            forms += [
                (f"{name} = 0; {name} < {other}; {name}++", 0),
                (f"{name} = {other} + 1; {name} < {extent}; {name}++", 0),
                (f"{name} = {other}; {name} < {extent} - 1; {name}++", 0),
                (f"{name} = {other}; {name} < 3 && {name} < {extent}; {name}++", 0),
                (f"{name} = 2; {name} < {other}; ++{name}", 0),
            ]
        if self.random.random() < 0.1:  # from below 0: its indices are another variable's
            return self.shifted(depth, name, extent)
        if self.random.random() < 0.15:
            return self.counted(depth, name, extent)
        head, margin = self.one(*forms)
        return f"for (int {head}) {self.body(depth, Loop(name, extent, margin))}"

    def counted(self, depth: int, name: str, extent: str) -> str:
        """`while`, `do`, or two variables."""
        other = self.name("j")
        kind = self.random.random()
        if kind < 0.3:
            body = self.body(depth, Loop(name, extent, 0))
            return f"{{ int {name} = {extent}; while ({name}--) {body} }}"
        if kind < 0.5:
            body = self.body(depth, Loop(name, extent, 0))
            return f"{{ int {name} = 0; for (; {name} < {extent}; {name}++) {body} }}"
        if kind < 0.65:
            body = self.body(depth, Loop(name, extent, 0))
            return f"{{ int {name} = 0; do {body} while (++{name} < {extent}); }}"
        outer, self.loops = self.loops, [*self.loops, Loop(other, extent, 0)]
        body = self.body(depth, Loop(name, extent, 0))
        self.loops = outer
        ends = self.one(f"{name} < {extent}", f"{name} < {other}", f"{other} >= 0")
        return f"for (int {name} = 0, {other} = {extent} - 1; {ends}; {name}++, --{other}) {body}"

    def shifted(self, depth: int, name: str, extent: str) -> str:
        by, at = self.one(1, 3), self.name("j")
        body = self.body(depth, Loop(at, extent, 0), name)
        head = f"for (int {name} = -{by}; {name} < {extent} - {by}; {name}++)"
        return f"{head} {{ const int {at} = {name} + {by}; k[0] += {name}; {body} }}"

    def body(self, depth: int, loop: Loop, other: str = "") -> str:
        """A loop's, which hides variables that have its name, or another one."""
        outer = self.loops
        self.loops = [*(each for each in outer if each.name not in (loop.name, other)), loop]
        text = self.block(depth - 1, 3)
        if self.random.random() < 0.1:
            text = f"{{ if ({self.condition(1)}) continue; {text} }}"
        self.loops = outer
        return text


def text(seed: int) -> str:
    """A program; the pointer has `m` rows of `n` elements."""
    written = Text(Random(seed))
    body = written.block(3, 4)
    variables = "double u = 0.5, v = -1;"
    return f"void f({PARAMETERS}) {{ {variables} {body} x[0] += p[(m - 1) * n + n - 1]; }}\n"


def arguments(seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    n, m = (int(each) for each in random.integers(3, 7, 2))
    return [
        n,
        m,
        random.standard_normal((n, m)),
        random.standard_normal((m, n)),
        random.standard_normal(n).astype(np.float32),
        random.integers(-5, 5, m).astype(np.int32),
        float(random.standard_normal()),
        random.standard_normal((m, n)).astype(np.float32),
    ]
