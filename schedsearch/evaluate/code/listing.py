"""Machine code of a kernel as text, each instruction with its line of C: what objdump prints."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.process import run_group

_OBJDUMP_S = 60.0
_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
# gcc and clang name a file that they read from standard input `<stdin>` and `-`.
_LINE = re.compile(r"^(?:.*/)?(?P<file>[^/]+):(?P<line>\d+)(?: \(discriminator \d+\))?$")
_OF_KERNEL = ("<stdin>", "-")
_INSTRUCTION = re.compile(r"^ *(?P<at>[0-9a-f]+):\s+(?P<text>\S.*)$")
_TARGET = re.compile(r"^j\w+\s+(?P<to>[0-9a-f]+)\b")
_PREFIXES = ("rep ", "repz ", "repnz ", "lock ", "notrack ", "bnd ", "data16 ", "cs ")


@dataclass(frozen=True)
class Instruction:
    """`text` in AT&T's syntax, destination last; `line` of the C that was compiled, 0 if the
    compiler names none; `target`: the address that it may jump to."""

    address: int
    text: str
    line: int = 0
    target: int | None = None

    @property
    def mnemonic(self) -> str:
        text = self.text
        for prefix in _PREFIXES:
            text = text.removeprefix(prefix)
        return text.split(maxsplit=1)[0]

    @property
    def operands(self) -> tuple[str, ...]:
        """`0x40(%rax,%rbx,8)` is one of them."""
        _, _, rest = self.text.split("#")[0].partition(self.mnemonic)
        parts = re.split(r",(?![^()]*\))", rest.split("<")[0].strip())
        return tuple(part.strip() for part in parts if part.strip())


def disassemble(image: bytes) -> dict[str, tuple[Instruction, ...]]:
    """The functions of an object file that has line tables, by name.

    Raises UserError where objdump is not installed, or cannot read the file.
    """
    objdump = shutil.which("objdump")
    if objdump is None:
        raise UserError(
            "no disassembler: objdump not found on PATH. It is part of binutils "
            "(Debian and Ubuntu: `apt install binutils`)"
        )
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "kernel.o")
        file.write_bytes(image)
        command: list[str | Path] = [objdump, "-d", "-l", "-w", "--no-show-raw-insn", file]
        finished = run_group(command, timeout_s=_OBJDUMP_S)
    if finished is None or finished.code != 0:
        why = finished.stderr.strip() if finished else f"no end after {_OBJDUMP_S:g} s"
        raise UserError(f"objdump cannot read the kernel: {why}")
    return parse(finished.stdout)


def parse(text: str) -> dict[str, tuple[Instruction, ...]]:
    """Functions by name, of what `objdump -d -l` has printed."""
    found: dict[str, list[Instruction]] = {}
    own: list[Instruction] = []
    line = 0
    for row in text.splitlines():
        if match := _FUNCTION.match(row):
            own, line = found.setdefault(match["name"], []), 0
        elif match := _INSTRUCTION.match(row):
            target = _TARGET.match(match["text"])
            to = int(target["to"], 16) if target else None
            own.append(Instruction(int(match["at"], 16), match["text"].strip(), line, to))
        elif match := _LINE.match(row):
            line = int(match["line"]) if match["file"] in _OF_KERNEL else 0
    return {name: tuple(instructions) for name, instructions in found.items()}


def innermost_loops(
    function: tuple[Instruction, ...],
) -> Iterator[tuple[Instruction, ...]]:
    """The loops of a function that contain no other: from the target of each jump back to the
    jump. Several jumps back to one place are one loop."""
    ends: dict[int, int] = {}
    addresses = {each.address for each in function}
    for each in function:
        if each.target is not None and each.target <= each.address and each.target in addresses:
            ends[each.target] = max(each.address, ends.get(each.target, 0))
    for start, end in sorted(ends.items()):
        inside = ((s, e) for s, e in ends.items() if (s, e) != (start, end))
        if not any(start <= s and e <= end for s, e in inside):
            yield tuple(each for each in function if start <= each.address <= end)
