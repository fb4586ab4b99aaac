"""Random programs on arrays do what they mean, also where arrays are read and written at once."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frontends import building
from frontends.kernels import Kernels, calls
from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views

N = g.fresh("N")
n = q.as_affine(N)
SQUARE, LINE = (n, n), (n,)


class Maker:
    """Makes values of the shapes (N, N) and (N,), and statements that store them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        kinds = self.rng.choice([["f32"], ["f64", "f32"], ["i32"], ["i8"], ["ui16"], ["i8", "i32"]])
        self.kinds = kinds
        self.squares = [g.Array(f"A{i}", self.rng.choice(kinds), SQUARE) for i in range(2)]
        self.lines = [g.Array(f"x{i}", self.rng.choice(kinds), LINE) for i in range(2)]
        self.made: list[g.Value] = []
        self.around: list[q.Var] = []

    def program(self, name: str) -> g.Program:
        body = tuple(self.statement(2) for _ in range(self.rng.randint(1, 3)))
        long = q.BinOp(">=", n, q.Affine(3), "bool")
        return g.Program(name, (N, *self.squares, *self.lines), body, (long,))

    def statement(self, depth: int) -> g.Statement:
        if depth and self.rng.random() < 0.3:
            var = g.fresh("t")
            self.around.append(var)
            body = (self.statement(depth - 1),)
            self.around.pop()
            if self.rng.random() < 0.3:
                condition = q.BinOp("<", q.as_affine(var), n - 2, "bool")
                body = (g.If(condition, body),)
            return g.For(var, q.Affine(), n, body)
        self.made = []
        array = self.rng.choice(self.squares + self.lines)
        place: g.Value = g.Load(array)
        value = self.value(array.shape, 4)
        for axis in range(len(array.shape)):
            match self.rng.randint(0, 5):
                case 0:
                    place = building.slice_(place, axis, 1)
                    value = building.slice_(value, axis, None, -1)
                case 1:
                    place = building.slice_(place, axis, None, -1)
                    value = building.slice_(value, axis, 1)
                case 2:
                    place = views.flip(place, axis)
                case _:
                    pass
        if self.around and self.rng.random() < 0.4:
            place = building.index(place, 0, self.inside(place.shape[0]))
            value = building.index(value, 0, self.inside(value.shape[0]))
        elif len(place.shape) == 2 and place.shape[0] == place.shape[1] and self.rng.random() < 0.2:
            place = views.permute(place)
        return building.stored(place, value, add=self.rng.random() < 0.2)

    def inside(self, length: q.Affine) -> q.Affine:
        """A place that is there: all of N, or all but one."""
        var = q.as_affine(self.rng.choice(self.around))
        return var if length == n else q.Affine()

    def value(self, shape: g.Shape, depth: int) -> g.Value:
        again = [each for each in self.made if each.shape == shape]
        if again and self.rng.random() < 0.2:
            return self.rng.choice(again)
        value = (
            self.leaf(shape)
            if depth == 0 or self.rng.random() < 0.1
            else self.node(shape, depth - 1)
        )
        self.made.append(value)
        return value

    def leaf(self, shape: g.Shape) -> g.Value:
        if self.rng.random() < 0.15:
            number = types.constant(self.rng.randint(0, 3), self.rng.choice(self.kinds))
            return views.broadcast_to(number, shape)
        if self.rng.random() < 0.1:
            size = self.inside(n) if self.around else n
            return views.broadcast_to(g.Count(size + 2, self.rng.choice(self.kinds)), shape)
        return g.Load(self.rng.choice(self.squares if len(shape) == 2 else self.lines))

    def node(self, shape: g.Shape, depth: int) -> g.Value:
        two = len(shape) == 2
        match self.rng.randint(0, 9 if two else 7):
            case 0 | 1:
                return self.operator(self.value(shape, depth), self.value(shape, depth))
            case 2:
                return views.flip(self.value(shape, depth), self.rng.randrange(len(shape)))
            case 3:
                function = self.rng.choice(["sum", "max", "min"])
                return g.Scan(function, self.value(shape, depth), self.rng.randrange(len(shape)))
            case 4:
                return self.choice(shape, depth)
            case 5:
                kind = self.rng.choice(self.kinds)
                return types.cast(self.value(shape, depth), kind)
            case 6 if two:
                return views.broadcast_to(self.value(LINE, depth), shape)
            case 6:
                square = self.value(SQUARE, depth)
                return views.view(square, square.shape[:1], lambda at: (*at, *at))
            case 7 if two:
                return views.permute(self.value(shape, depth))
            case 7:
                function = self.rng.choice(["sum", "max", "min"])
                return g.Reduce(function, self.value(SQUARE, depth), (self.rng.randrange(2),))
            case 8:
                a, b = building.unified([self.value(shape, depth), self.value(shape, depth)])
                one, two_ = building.broadcast([views.expand(a, 2), views.expand(b, 0)])
                return g.Reduce("sum", calls("*", one, two_), (1,))
            case _:
                half = self.value(LINE, depth)
                return views.broadcast_to(views.expand(half, 1), shape)

    def operator(self, a: g.Value, b: g.Value) -> g.Value:
        a, b = building.unified([a, b])
        return calls(self.rng.choice(["+", "-", "*", "max", "min"]), a, b)

    def choice(self, shape: g.Shape, depth: int) -> g.Value:
        then, other = building.unified([self.value(shape, depth), self.value(shape, depth)])
        conditions: list[g.Condition] = []
        for _ in range(self.rng.randint(1, 2)):
            if self.rng.random() < 0.4:
                names = tuple(g.fresh("") for _ in shape)
                left = q.as_affine(names[0])
                right = q.as_affine(names[-1]) - 1 if len(names) > 1 else n - 1 - left
                op = self.rng.choice(["<", "<=", "==", "!="])
                conditions.append(g.Inside(names, q.BinOp(op, left, right, "bool")))
            else:
                a, b = building.unified(
                    [self.value(shape, depth // 2), self.value(shape, depth // 2)]
                )
                conditions.append(g.Compare(self.rng.choice(["<", "<=", "==", "!="]), a, b))
        condition = g.Logical(self.rng.choice(["and", "or"]), tuple(conditions))
        if self.rng.random() < 0.3:
            condition = g.Logical("not", (condition,))
        return g.Select(condition, then, other)


@pytest.mark.normal
@settings(max_examples=3, derandomize=True, phases=[Phase.generate])
@given(seed=st.integers(0, 10**6))
def test_random_programs(seed: int) -> None:
    programs = [Maker(1000 * seed + number).program(f"p{number}") for number in range(25)]
    with TemporaryDirectory() as folder:
        kernels = Kernels(programs, Path(folder))
        for number in range(len(programs)):
            for size in (3, 5):
                kernels.check(number, {"N": size}, seed)
