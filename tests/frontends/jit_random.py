"""Random functions on arrays, as Python text: assignments, slices, views, reductions, loops,
branches, names that are assigned again."""

from __future__ import annotations

import random


class Writer:
    """A function `f(s, A, B, x, y)`: A and B are n x n, x and y have n elements, n >= 4."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.squares, self.rows = ["A", "B"], ["x", "y"]
        self.scalars = ["s"]
        self.indices: list[str] = []
        self.count = 0

    def text(self, name: str) -> str:
        self.lines = [f"def {name}(s, A, B, x, y):", "    n = len(x)"]
        for _ in range(self.rng.randint(2, 5)):
            self.statement(1, 2)
        results = [self.rng.choice(self.squares), self.rng.choice(self.rows)]
        results += [self.rng.choice(self.scalars)] if len(self.scalars) > 1 else []
        # the elements of views of arguments are returned in arrays of their own
        self.put(1, f"return {', '.join(f'{each} * 1.0' for each in results)}")
        return "\n".join(self.lines) + "\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def statement(self, depth: int, loops: int) -> None:
        match self.rng.randint(0, 14):
            case 0 | 1:
                self.assign_square(depth)
            case 2 | 3:
                self.assign_row(depth)
            case 4:
                name = self.fresh("v")
                self.put(depth, f"{name} = {self.row(2)}")
                self.rows.append(name)
            case 5:
                name = self.fresh("M")
                self.put(depth, f"{name} = {self.square(2)}")
                self.squares.append(name)
            case 6:
                name = self.fresh("c")
                self.put(depth, f"{name} = {self.scalar(2)}")
                self.scalars.append(name)
            case 7 | 8 if loops:
                self.loop(depth, loops)
            case 9:
                self.branch(depth, loops)
            case 10:
                name = self.rng.choice(self.rows[2:] or ["x"])
                new = self.row(1)
                self.put(depth, f"{name} = {new}" if name not in "xy" else f"{name}[:] = {new}")
            case 11:
                name = self.fresh("w")
                view = self.rng.choice(
                    [
                        f"{self.pick(self.squares)}[1]",
                        f"{self.pick(self.squares)}.T[-1]",
                        f"{self.pick(self.rows)}[::-1]",
                        f"{self.pick(self.rows)}.copy()",
                        "np.zeros(n)",
                    ]
                )
                self.put(depth, f"{name} = {view}")
                self.rows.append(name)
            case 12:  # of itself, elsewhere
                name = self.fresh("v")
                self.put(depth, f"{name} = {self.row(1)} + {self.pick(self.rows)}")
                self.rows.append(name)
                shifted = ["[1:] -= {}[:-1]", "[:-2] += {}[2:] * 0.5", "[1:] = {}[-2::-1]"]
                self.put(depth, name + self.pick(shifted).format(name))
            case 13 if self.indices:
                tests = [f"{self.scalar(1)} > 0.5", f"{self.pick(self.indices)} % 2 == 1"]
                self.put(depth, f"if {self.pick(tests)}:")
                self.inner(depth + 1, 0)
                self.put(depth + 1, "continue")
            case _:
                name = self.pick(self.scalars)
                self.put(depth, f"{name} = 0.5 * {name} + {self.scalar(1)}")

    def inner(self, depth: int, loops: int) -> None:
        """Statements of a body: names that they make end with it."""
        known = list(self.squares), list(self.rows), list(self.scalars)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, loops)
        self.squares, self.rows, self.scalars = known

    def loop(self, depth: int, loops: int) -> None:
        i = self.fresh("i")
        bounds = ["n", "1, n", "n - 1, -1, -1", "0, n, 2", "3"]
        if self.indices:
            bounds += [self.pick(self.indices), f"{self.pick(self.indices)} + 1, n"]
        self.put(depth, f"for {i} in range({self.pick(bounds)}):")
        self.indices.append(i)
        self.inner(depth + 1, loops - 1)
        self.indices.pop()

    def branch(self, depth: int, loops: int) -> None:
        tests = [f"{self.scalar(1)} > {self.scalar(1)}", f"{self.scalar(1)} <= 0.5"]
        if self.indices:
            i = self.pick(self.indices)
            tests += [f"{i} < n - 2", f"{i} > 0 and {i} != 2", f"{i} % 2 == 0", f"not {i} >= 2"]
            tests += [f"{i} > 1 and {self.scalar(1)} > 0"]
        self.put(depth, f"if {self.pick(tests)}:")
        self.inner(depth + 1, loops)
        if self.rng.random() < 0.5:
            self.put(depth, "else:")
            self.inner(depth + 1, loops)

    def pick(self, names: list[str]) -> str:
        return self.rng.choice(names)

    def place(self) -> str:
        return self.pick([*self.indices, "0", "-1", "n - 2"])

    def assign_square(self, depth: int) -> None:
        name, op = self.pick(self.squares), self.pick(["=", "=", "+=", "-="])
        match self.rng.randint(0, 4):
            case 0:
                self.put(depth, f"{name}[:] = {self.square(2)}")
            case 1:
                self.put(depth, f"{name}[1:] {op} {self.square(2)}[:-1]")
            case 2:
                self.put(depth, f"{name}[{self.place()}, :] {op} {self.row(2)}")
            case 3:
                self.put(depth, f"{name}[:, {self.place()}] {op} {self.row(2)}")
            case _:
                self.put(depth, f"{name}[{self.place()}, {self.place()}] {op} {self.scalar(2)}")

    def assign_row(self, depth: int) -> None:
        name, op = self.pick(self.rows), self.pick(["=", "=", "+=", "-="])
        match self.rng.randint(0, 4):
            case 0:
                self.put(depth, f"{name}[:] = {self.row(2)}")
            case 1:
                self.put(depth, f"{name}[:-1] {op} {self.row(2)}[1:]")
            case 2:
                self.put(depth, f"{name}[::2] {op} {self.scalar(2)}")
            case 3:
                self.put(depth, f"{name}[{name} > 0.5] = {self.scalar(1)}")
            case _:
                self.put(depth, f"{name}[{self.place()}] {op} {self.scalar(2)}")

    def square(self, depth: int) -> str:
        match self.rng.randint(0, 6 if depth else 0):
            case 0:
                return self.pick([*self.squares, f"{self.pick(self.squares)}.T"])
            case 1:
                return f"({self.square(depth - 1)} + {self.square(depth - 1)})"
            case 2:
                return f"(0.5 * {self.square(depth - 1)} - {self.row(depth - 1)})"
            case 3:
                return f"np.maximum({self.square(depth - 1)}, {self.row(depth - 1)}[:, None])"
            case 4:
                a, b = self.square(depth - 1), self.square(depth - 1)
                return f"np.where({a} > {b}, {b}, {self.scalar(1)})"
            case 5:
                return f"(0.1 * {self.square(depth - 1)} @ {self.square(depth - 1)})"
            case _:
                return f"np.abs({self.square(depth - 1)})"

    def row(self, depth: int) -> str:
        match self.rng.randint(0, 6 if depth else 0):
            case 0:
                return self.pick([*self.rows, f"{self.pick(self.squares)}[{self.place()}]"])
            case 1:
                return f"({self.row(depth - 1)} + {self.row(depth - 1)})"
            case 2:
                return f"(0.5 * {self.row(depth - 1)} - {self.scalar(1)})"
            case 3:
                return f"np.max({self.square(depth - 1)}, axis={self.rng.randint(0, 1)})"
            case 4:
                return f"(0.1 * {self.square(depth - 1)} @ {self.row(depth - 1)})"
            case 5:
                return f"{self.square(depth - 1)}.mean(axis=0)"
            case _:
                return f"{self.row(depth - 1)}[::-1]"

    def scalar(self, depth: int) -> str:
        match self.rng.randint(0, 5 if depth else 0):
            case 0:
                return self.pick([*self.scalars, "0.25", f"{self.pick(self.rows)}[{self.place()}]"])
            case 1:
                return f"({self.scalar(depth - 1)} - {self.scalar(depth - 1)})"
            case 2:
                return f"{self.row(depth - 1)}.mean()"
            case 3:
                return f"max({self.scalar(depth - 1)}, {self.scalar(depth - 1)})"
            case 4:
                return f"(0.5 if {self.scalar(depth - 1)} > 0.3 else {self.scalar(depth - 1)})"
            case _:
                return f"{self.pick(self.squares)}[{self.place()}, {self.place()}]"
