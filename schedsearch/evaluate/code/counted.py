"""What a loop of x86-64 machine code does in an iteration, counted from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from schedsearch.evaluate.code.listing import Instruction

_REGISTER = re.compile(r"%([xyz])mm(\d+)")
_WIDTHS = {"x": 128, "y": 256, "z": 512}
_FMA = re.compile(r"^vfn?m(?:add|sub)(?:add|sub)?\d+[ps][sdh]$|^vfn?m(?:add|sub)[ps][sdh]$")
_FLOAT = re.compile(r"^v?(?:add|sub|mul|div|sqrt|max|min)[ps][sdh]$")
_INTEGER = re.compile(r"^v?p(?:add|sub|mull|max[su]|min[su])[bwdq]$|^v?pmaddwd$|^vpdp\w+$")
_MOVE = re.compile(r"^v?mov(?:[aulh]p[sd]|dq[au]\d*|nt\w+|s[sdh]|[dqw])$|^v?lddqu$|^v?zero\w+$")
_DIVISION = re.compile(r"^(?:v?(?:div|sqrt)[ps][sdh]|i?div[lqwb]?)$")
_MEMORY = re.compile(r"^[^%$]*(?:%[a-z]s:[^(]*)?\([^)]*\)")
_READS_LAST = ("cmp", "test", "ucomis", "vucomis", "comis", "vcomis", "push", "bt")
_NO_ACCESS = ("lea", "nop", "prefetch", "endbr")
_ALTERS = ("add", "sub", "and", "or", "xor", "inc", "dec", "neg", "not", "shl", "shr", "sar")
_ELEMENT = {"s": 4, "d": 8, "h": 2, "b": 1, "w": 2, "q": 8}
_SUFFIX = {"b": 1, "w": 2, "l": 4, "q": 8}

# Cycles from operand to result, of cores of the last ten years: additions and products take four,
# a cycle more or less. Which limit binds does not hang on the difference.
_ARITHMETIC_CYCLES, _DIVISION_CYCLES = 4, 13
# What a core starts in a cycle: instructions, vector operations, loads, stores.
_ISSUED, _VECTOR_PORTS, _LOAD_PORTS, _STORE_PORTS = 4, 2, 2, 1
_DIVISION_EVERY = {64: 4, 128: 4, 256: 8, 512: 16}


@dataclass(frozen=True)
class Counts:
    """Of one iteration. `width` is of its arithmetic in bits, else of its moves: 0 without floats
    and vectors, 64 for scalars. `operations` are of elements, a multiply-add two. `vector` are the
    instructions that need a unit for vectors: arithmetic, conversions, comparisons, shuffles, but
    no moves. `divider` are the cycles that `divisions` take. `spills` are accesses to fixed places
    of the stack; they are among loads and stores. `chain` is the longest path of operations in
    cycles from a vector register back to itself, `chains` how many registers have one. What `calls`
    do is not counted."""

    instructions: int
    calls: int
    width: int
    fmas: int
    arithmetic: int
    vector: int
    divisions: int
    divider: int
    operations: int
    loads: int
    stores: int
    spills: int
    bytes: int
    chain: int
    chains: int

    @property
    def intensity(self) -> float | None:
        """Operations per byte loaded or stored, from whatever level."""
        return self.operations / self.bytes if self.bytes else None

    @property
    def bounds(self) -> dict[str, float]:
        """Least cycles of an iteration by each limit, of a core as they are usual."""
        return {
            "latency": float(self.chain),
            "divider": float(self.divider),
            "arithmetic": self.vector / _VECTOR_PORTS,
            "loads": self.loads / _LOAD_PORTS,
            "stores": self.stores / _STORE_PORTS,
            "instructions": self.instructions / _ISSUED,
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"operations_per_byte": self.intensity}


def counted(loop: Sequence[Instruction], framed: bool = False) -> Counts:
    """`framed`: the function keeps the start of its frame in %rbp."""
    fmas = arithmetic = vector = divisions = divider = operations = loads = stores = spills = (
        moved
    ) = 0
    computing, moving = set[int](), set[int]()
    for each in loop:
        width, lanes = _width(each), _lanes(each)
        kind = _operations(each.mnemonic)
        if kind:
            arithmetic += 1
            operations += kind * lanes
            fmas += kind == 2
            computing.add(width)
        elif width:
            moving.add(width)
        vector += bool(width) and not _is_move(each)
        if _DIVISION.match(each.mnemonic):
            divisions += 1
            divider += _DIVISION_EVERY.get(width, _DIVISION_EVERY[64])
        for operand, loaded, stored in accesses(each):
            loads, stores = loads + loaded, stores + stored
            moved += _bytes(each, operand) * (loaded + stored)
            spills += (loaded + stored) * _is_spill(operand, framed)
    chain, chains = _chains(loop)
    width = max(computing or moving or {0})
    return Counts(
        len(loop),
        sum(each.mnemonic.startswith("call") for each in loop),
        width,
        fmas,
        arithmetic,
        vector,
        divisions,
        divider,
        operations,
        loads,
        stores,
        spills,
        moved,
        chain,
        chains,
    )


def is_framed(function: Sequence[Instruction]) -> bool:
    """Whether %rbp is the start of a frame, not one register of many."""
    return any(each.text.split() == ["mov", "%rsp,%rbp"] for each in function)


def accesses(each: Instruction) -> Iterator[tuple[str, bool, bool]]:
    """Its operands in memory, and whether it loads and stores each."""
    if each.mnemonic.startswith(_NO_ACCESS) or each.target is not None:
        return
    last = len(each.operands) - 1
    for number, operand in enumerate(each.operands):
        if not _MEMORY.match(operand):
            continue
        reads_last = each.mnemonic.startswith(_READS_LAST)
        if number < last or reads_last or (last == 0 and each.mnemonic.startswith("call")):
            yield operand, True, False
        else:
            yield operand, each.mnemonic.rstrip("bwlq").startswith(_ALTERS), True


def _is_move(each: Instruction) -> bool:
    """Whether the units for loads and stores, or the renaming of registers, do it alone."""
    *sources, _ = each.operands
    loaded = "broadcast" in each.mnemonic and any(map(_MEMORY.match, sources))
    return bool(_MOVE.match(each.mnemonic)) or loaded or _zeroes(each, sources)


def _operations(mnemonic: str) -> int:
    """Of each element: 2 for a multiply-add."""
    if _FMA.match(mnemonic):
        return 2
    return int(bool(_FLOAT.match(mnemonic) or _INTEGER.match(mnemonic)))


def _width(each: Instruction) -> int:
    """Bits of its vectors; 64 of a scalar in a vector register, 0 without such registers."""
    kinds = [_WIDTHS[kind] for kind, _ in _REGISTER.findall(each.text)]
    if not kinds:
        return 0
    scalar = re.search(r"s[sdh]$", each.mnemonic) and max(kinds) == _WIDTHS["x"]
    scalar = scalar or each.mnemonic.startswith(("vcvtsi", "cvtsi"))
    return 64 if scalar else max(kinds)


def _lanes(each: Instruction) -> int:
    """Elements that it computes."""
    width = _width(each)
    if width <= 64:
        return 1
    return width // 8 // _ELEMENT.get(each.mnemonic[-1], 4)


def _bytes(each: Instruction, operand: str) -> int:
    """What an access to memory moves."""
    name = each.mnemonic
    if name.startswith("vbroadcasti") or name.startswith("vbroadcastf"):
        return 16
    if "broadcast" in name or "{1to" in operand:
        return _ELEMENT.get(name[-1], 4)
    if width := _width(each):
        return width // 8 if width > 64 else _ELEMENT.get(name[-1], 8)
    general = [o for o in each.operands if o.startswith("%")]
    if general and re.match(r"%(?:e\w\w|r\d+d)$", general[-1]):
        return 4
    return 8 if general else _SUFFIX.get(name[-1], 8)


def _is_spill(operand: str, framed: bool) -> bool:
    """Whether it is a fixed place on the stack: arrays of its own have an index."""
    base = re.search(r"\(([^)]*)\)", operand)
    names = ("%rsp", "%rbp") if framed else ("%rsp",)
    return base is not None and base[1] in names


def _chains(loop: Sequence[Instruction]) -> tuple[int, int]:
    """The longest path in cycles from a vector register to itself, over one iteration, and how many
    registers have one."""
    own = [each for each in loop if _REGISTER.search(each.text)]
    names = {number for each in own for _, number in _REGISTER.findall(each.operands[-1])}
    lengths = [found for name in names if (found := _recurrence(own, name))]
    return max(lengths, default=0), len(lengths)


def _recurrence(loop: Sequence[Instruction], start: str) -> int:
    """Cycles until the value of a register at the end depends on the one at the start; 0 if it does
    not."""
    delays = {start: 0}
    for each in loop:
        *sources, last = each.operands
        written = _REGISTER.match(last)
        used = [number for part in sources for _, number in _REGISTER.findall(part)]
        if written and (_keeps(each) or len(each.operands) == 1):
            used.append(written[2])
        if written and _zeroes(each, sources):
            used = []
        waits = [delays[number] for number in used if number in delays]
        if not written:
            continue
        if waits:
            delays[written[2]] = max(waits) + _latency(each.mnemonic)
        else:
            delays.pop(written[2], None)
    return delays.get(start, 0)


def _keeps(each: Instruction) -> bool:
    """Whether the destination is an operand too: of multiply-adds, of SSE's arithmetic, and where
    a mask leaves elements as they were."""
    name, last = each.mnemonic, each.operands[-1]
    if _FMA.match(name) or name.startswith("vpdp"):
        return True
    merges = "{%k" in last and "{z}" not in last
    return merges or not name.startswith(("v", "mov", "cvt", "sqrt"))


def _zeroes(each: Instruction, sources: Sequence[str]) -> bool:
    return "xor" in each.mnemonic and len(set(sources)) == 1 and len(sources) > 0


def _latency(mnemonic: str) -> int:
    if _DIVISION.match(mnemonic):
        return _DIVISION_CYCLES
    return _ARITHMETIC_CYCLES if _operations(mnemonic) else 1
