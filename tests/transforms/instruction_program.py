"""A C program that carries out the texts of instructions, one after the other, on arrays
it reads from its standard input, and prints the arrays as they are afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, VECTORS
from schedsearch.transforms.vector.registers import register_kind
from transforms.interpret import DTYPES

C_TYPES = {name: each.c for name, each in ELEMENT_TYPES.items() if name in VECTORS}

GUARD = 7
"""Elements before, between and after the rows of arrays in memory; they must not change."""


@dataclass(frozen=True)
class Case:
    """An instruction, the values of its sizes, and its arrays with what surrounds them."""

    proc: q.Proc
    sizes: dict[str, int]
    held: dict[str, Any]

    def views(self) -> list[Any]:
        """The arguments, as views of what is held."""
        return [
            self.sizes[arg.var.name] if arg.shape is None else self.view(arg, self.held)
            for arg in self.proc.args
        ]

    def view(self, arg: q.Arg, held: dict[str, Any]) -> Any:
        shape, strides = self.layout(arg)
        flat = held[arg.var.name][0 if in_register(arg) else GUARD :]
        return np.lib.stride_tricks.as_strided(
            flat, shape, [stride * flat.itemsize for stride in strides]
        )

    def layout(self, arg: q.Arg) -> tuple[list[int], list[int]]:
        """Shape, and strides in elements: as the instruction asserts, else with gaps."""
        by_uid = {a.var.uid: self.sizes.get(a.var.name) for a in self.proc.args}
        shape = [q.evaluate_affine(n, lambda var: by_uid[var.uid]) for n in arg.shape or ()]
        strides = [1]
        for dim in range(len(shape) - 1, 0, -1):
            dense = strides[0] * shape[dim]
            asserted = any(
                isinstance(each, q.BinOp)
                and each.lhs == q.as_affine(q.StrideOf(arg.var, dim - 1))
                and each.rhs == q.Affine(dense)
                for each in self.proc.asserts
            )
            strides.insert(0, dense if asserted else dense + GUARD)
        return shape, strides

    def elements(self, arg: q.Arg) -> int:
        shape, strides = self.layout(arg)
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        return last + 1 + (0 if in_register(arg) else 2 * GUARD)


def in_register(arg: q.Arg) -> bool:
    return register_kind(arg.mem or "") is not None


def make_case(proc: q.Proc, sizes: dict[str, int], rng: np.random.Generator) -> Case:
    """Whole numbers, so that sums are exact in any order; bytes of every value."""
    case = Case(proc, sizes, {})
    for arg in proc.args:
        if arg.shape is not None:
            kind = np.dtype(DTYPES[arg.type])
            low, high = (-40, 41) if kind.itemsize > 1 else _limits(kind)
            values = rng.integers(low, high, case.elements(arg))
            values[values == 0] = 1  # a divisor, perhaps
            case.held[arg.var.name] = values.astype(kind)
    return case


def _limits(kind: np.dtype[Any]) -> tuple[int, int]:
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max) + 1


def source(cases: Sequence[Case], include: str) -> str:
    kinds = {
        found
        for case in cases
        for arg in case.proc.args
        if (found := register_kind(arg.mem or "")) is not None
    }
    lines = [
        include,
        "#include <stdint.h>",
        "#include <stdio.h>",
        "#include <string.h>",
        *(
            f"struct exo_win_2{t}c {{ const {C_TYPES[t]} *data; long strides[2]; }};"
            for t in C_TYPES
        ),
        *(
            f"typedef {C_TYPES[kind]} vec_{kind}x{lanes} "
            f"__attribute__((vector_size(sizeof({C_TYPES[kind]}) * {lanes})));"
            for kind, lanes in sorted(kinds)
        ),
    ]
    for number, case in enumerate(cases):
        lines += [f"static void case_{number}(void)", "{", *_body(case), "}"]
    lines += ["int main(void)", "{", *(f"case_{n}();" for n in range(len(cases))), "return 0;", "}"]
    return "\n".join(lines)


def _body(case: Case) -> list[str]:
    text: dict[str, str] = {name: f"({value}L)" for name, value in case.sizes.items()}
    before, after = [], []
    for arg in case.proc.args:
        if arg.shape is None:
            continue
        name, c_type, count = arg.var.name, C_TYPES[arg.type], case.elements(arg)
        before.append(f"static {c_type} held_{name}[{count}];")
        before.append(f"if (fread(held_{name}, sizeof held_{name}, 1, stdin) != 1) return;")
        if in_register(arg):
            kind = register_kind(arg.mem or "")
            assert kind is not None
            before.append(f"vec_{kind[0]}x{kind[1]} {name};")
            before.append(f"memcpy(&{name}, held_{name}, sizeof {name});")
            after.append(f"memcpy(held_{name}, &{name}, sizeof {name});")
            text[f"{name}_data"] = name
        else:
            text[f"{name}_data"] = f"held_{name}[{GUARD}]"
            _, strides = case.layout(arg)
            if len(strides) == 2:
                window = f"{{ held_{name} + {GUARD}, {{ {strides[0]}, 1 }} }}"
                text[name] = f"((struct exo_win_2{arg.type}c){window})"
        after.append(f"fwrite(held_{name}, sizeof held_{name}, 1, stdout);")
    assert case.proc.instr is not None
    return [*before, case.proc.instr.format(**text), *after]


def run(
    cases: Sequence[Case],
    compile_with: Sequence[str],
    run_with: Sequence[str],
    include: str,
    folder: Path,
) -> list[dict[str, Any]]:
    """The arrays of every case after its instruction."""
    file, program = folder / "program.c", folder / "program"
    file.write_text(source(cases, include))
    subprocess.run([*compile_with, "-o", program, file], check=True)
    given = b"".join(array.tobytes() for case in cases for array in case.held.values())
    printed = subprocess.run([*run_with, program], input=given, capture_output=True, check=True)
    found, at = [], 0
    for case in cases:
        after = {}
        for name, array in case.held.items():
            after[name] = np.frombuffer(printed.stdout, array.dtype, array.size, at)
            at += array.nbytes
        found.append(after)
    assert at == len(printed.stdout)
    return found
