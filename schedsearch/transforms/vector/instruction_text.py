"""The Exo text of one instruction, from a row of a table and the words of a register.

In operands and C, `<word>` stands for the register's word, and `<word x y>` for that with `x`
for `$1` and `y` for `$2`:

| | |
|---|---|
| `<R>` `<M>` | an operand: a register, as much memory |
| `<N>` `<S>` | its first `n` elements, one element |
| `<vec>` | the register's C type, in the vector extension of gcc and clang |
| `<dst>` `<acc>` | the beginning of a statement that sets the operand, a register |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.registers import memory_name, set_name

Words = Mapping[str, str]

_LINE = 100  # longest head of a definition


@dataclass(frozen=True)
class Row:
    """An instruction: its operands, the statement in its loops, its C (a string per line).

    `loops`: variables and extents, the outermost first; if there are none, over the lanes.
    """

    operands: str
    body: str
    c: str
    loops: tuple[tuple[str, str], ...] = ()


def register_words(kind: str, lanes: int) -> dict[str, str]:
    """Words that follow from the elements of a register."""
    element = ELEMENT_TYPES[kind]
    return {
        "R": f"[{kind}][{lanes}] @ {memory_name(kind, lanes)}",
        "M": f"[{kind}][{lanes}] @ DRAM",
        "N": f"[{kind}][n] @ DRAM",
        "S": f"[{kind}][1] @ DRAM",
        "vec": set_name(kind, lanes),
        "lanes": str(lanes),
        "c": element.c,
        "x86": element.x86,
        "neon": element.neon,
        "dst": "{dst_data} = (<vec>)",
        "acc": "{acc_data} = (<vec>)",
    }


def definition(name: str, row: Row, words: Words, include: str = "") -> str:
    """The text of one instruction; `include` is the Python text of the C that it needs."""
    operands = filled(row.operands, words)
    strings = [line.strip() for line in filled(row.c, words).split("\n")]
    strings = [each if each.endswith("(") else f"{each} " for each in strings[:-1]] + strings[-1:]
    c = "\n".join(f'    "{each}"' for each in strings) + ","
    head = f"def {name}({operands}):"
    if len(head) > _LINE:
        head = f"def {name}(\n    {operands}\n):"
    counted = operands.startswith("n: size")
    loops = row.loops or (("l", "n" if counted else "<lanes>"),)
    lines = [f"assert n <= {words['lanes']}"] * counted
    if "[l, k]" in row.body:
        lines.append(f"assert stride(b, 0) == {loops[-1][1]}")
    for operand, extents in re.findall(r"(\w+): \[\w+\]\[(.*?)\]", operands):
        if extents != "1":
            lines.append(f"assert stride({operand}, {extents.count(',')}) == 1")
    for depth, (variable, extent) in enumerate(loops):
        lines.append(f"{'    ' * depth}for {variable} in seq(0, {filled(extent, words)}):")
    lines.append("    " * len(loops) + row.body)
    end = f"\n    {include}," if include else ""
    return f"@instr(\n{c}{end}\n)\n{head}\n" + "\n".join(f"    {line}" for line in lines)


_WORD = re.compile(r"<([a-z]\w*|[RMNS])((?: \w+)*)>")


def filled(text: str, words: Words) -> str:
    """The text with what its words stand for, and the words in that."""

    def word(match: re.Match[str]) -> str:
        found = words[match[1]]
        for place, argument in enumerate(match[2].split(), 1):
            found = found.replace(f"${place}", argument)
        return filled(found, words)

    return _WORD.sub(word, text)


def known(text: str, words: Words) -> bool:
    """Whether all words in a row's C are said, and those in them."""
    found = [match[1] for match in _WORD.finditer(text)]
    return all(word in words and known(words[word], words) for word in found)
