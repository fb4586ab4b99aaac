"""The C harness of a workload: generated signature, and the jobs it is given.

One executable per workload. It loads kernels at run time (`dlopen`), so that a
candidate costs no compilation but its own; sizes, strides and inputs are part of
the job. Every array is a mapping of its own: kernels may rely on it that arguments
do not overlap, as Exo does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.arguments.layout import Buffer
from schedsearch.evaluate.build.runtime_text import runtime_source
from schedsearch.evaluate.oracle.enclosure import enclosure_source, unknown_externs
from schedsearch.evaluate.oracle.ladders import LADDERS, Fill, Mode, Oracle, Rung, of_type

_FILES = (
    *("harness.c", "channel.c", "case.c", "enclose.c", "verify.c", "timing.c", "steps.c"),
    *("copies.c", "libraries.c", "sandbox.c", "syscalls.c", "state.c"),
    *("harness.h", "channel.h", "case.h", "stages.h", "copies.h", "elements.h", "enclosure.h"),
    *("libraries.h", "sandbox.h", "syscalls.h", "state.h"),
)

# Positions in the enum of runtime/case.c.
_FILLS = {
    Fill.POISON: 0,
    Fill.INTEGERS: 1,
    Fill.FLOATS: 2,
    Fill.DOMINANT: 3,
    Fill.SPECIALS: 4,
    Fill.NEAR: 5,
    Fill.NAN: 6,
    Fill.RISING: 7,
}
_DATA_FIELDS = {f"HS_{kind.upper()}": kind for kind in ("f16", "f32", "f64", "i8", "i32")}
_FIELD_TYPES = {
    **{ELEMENT_TYPES[kind].c: field for field, kind in _DATA_FIELDS.items()},
    **{"int_fast32_t": "HS_INDEX", "bool": "HS_BOOL"},
}

_CONTEXT = re.compile(r"^typedef struct kernel_Context \{.*?^\} kernel_Context;", re.M | re.S)
_CONFIG = re.compile(r"^ *struct (\w+) \{(.*?)\} \1;", re.M | re.S)
_FIELD = re.compile(r"(\w+) (\w+);")


@dataclass(frozen=True)
class Field:
    """A field of the context struct, in the order of the harness's table."""

    name: str
    type: str


def context_fields(header: str) -> tuple[Field, ...]:
    """Configuration fields in the context struct that a kernel's header declares."""
    context = _CONTEXT.search(header)
    configs = _CONFIG.findall(context.group()) if context else []
    return tuple(
        Field(f"{config}.{name}", _FIELD_TYPES[ctype])
        for config, body in configs
        for ctype, name in _FIELD.findall(body)
    )


def shared_sources() -> dict[str, str]:
    """C files of the harnesses of all workloads, by name."""
    return {name: runtime_source(name) for name in _FILES}


def own_sources(
    proc: q.Proc, reference: GeneratedC, fp: FloatingPoint = FloatingPoint.FAST
) -> dict[str, str]:
    """C files of the harness for this workload alone, by name; `fp` is what its evaluation
    admits."""
    context = _CONTEXT.search(reference.header)
    sources = {"signature.c": signature_source(proc, reference)}
    if not unknown_externs(proc):
        names = [field.name for field in context_fields(reference.header)]
        own = enclosure_source(proc, context.group() if context else "", names, fp)
        sources["procedure.c"] = own
    return sources


def signature_source(proc: q.Proc, reference: GeneratedC) -> str:
    """C that calls a kernel with this procedure's signature from the harness's arguments.

    Pointers are passed as `void *` and windows as a struct of the same layout:
    element types and constness make no difference to the calling convention.
    """
    context = _CONTEXT.search(reference.header)
    fields = context_fields(reference.header)
    lines = [
        '#include "harness.h"',
        context.group() if context else "",
        *window_structs(proc),
        f'const char *const hs_proc_name = "{proc.name}";',
        f"const size_t hs_arg_count = {len(proc.args)};",
        f"const size_t hs_field_count = {len(fields)};",
        f"const size_t hs_context_size = {'sizeof(kernel_Context)' if context else '0'};",
        "const struct hs_field hs_fields[] = {",
        *(f"    {{offsetof(kernel_Context, {f.name}), {f.type}}}," for f in fields),
        "    {0, HS_BOOL}};",
        "void hs_invoke(void *function, void *context, const struct hs_arg *args)",
        "{",
        "    (void)args;",
        f"    {call_text(proc, 'context')};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def window_structs(proc: q.Proc) -> list[str]:
    """The structs that `call_text` passes."""
    ranks = sorted({len(arg.shape) for arg in proc.args if arg.window and arg.shape})
    return [f"struct hs_win_{n} {{ void *data; int_fast32_t strides[{n}]; }};" for n in ranks]


def call_text(proc: q.Proc, context: str | None) -> str:
    """C that calls `function`, a pointer to a kernel of this signature, with `context` (None: it
    takes none) and the members `control`, `data` and `strides` of `args`."""
    types, values = (["void *"], [context]) if context is not None else ([], [])
    for position, arg in enumerate(proc.args):
        ctype, value = _parameter(arg, f"args[{position}]")
        types.append(ctype)
        values.append(value)
    return f"((void (*)({', '.join(types)}))function)({', '.join(values)})"


def _parameter(arg: q.Arg, place: str) -> tuple[str, str]:
    if arg.type == "bool":
        return "bool", f"{place}.control"
    if arg.type in q.CONTROL_TYPES:
        return "int_fast32_t", f"{place}.control"
    if arg.window and arg.shape:
        n = len(arg.shape)
        strides = ", ".join(f"{place}.strides[{d}]" for d in range(n))
        return f"struct hs_win_{n}", f"(struct hs_win_{n}){{{place}.data, {{{strides}}}}}"
    return "void *", f"{place}.data"


class Placement(IntEnum):
    """Where arrays are (`enum placement` of runtime/case.h): for timing at the start of a page with
    canaries on both sides, otherwise up against memory that cannot be accessed, at one of their
    ends."""

    FOR_TIMING = 0
    GUARDED_END = 1
    GUARDED_START = 2


_MOST_MARKS = 1 << 18
"""The most marks of an array (`MOST_MARKS` of runtime/enclose.c)."""

CONTRACTS = {FloatingPoint.FAST: 0, FloatingPoint.REASSOCIATE: 1, FloatingPoint.STRICT: 2}
"""As `main` of runtime/harness.c reads them."""


@dataclass(frozen=True)
class Case:
    """One verified call: a binding, inputs, and the file with the intervals of its outputs. Arrays
    are `offset` bytes, or a small multiple, from the place of their placement; arrays of the timed
    case exactly `offset` bytes. `share` of the iterations of loops that may be sampled are
    evaluated (`samples`). `as_written`: the baseline's outputs count as right, unchecked; if
    it is `uncalled`, nothing judges elements that are not evaluated. A `look` only shows how much
    the inputs tell.
    """

    binding: Binding
    oracle: Oracle
    layout: tuple[Buffer | int, ...]
    expected: Path
    seed: int
    placement: Placement
    offset: int = 0
    share: float = 1.0
    as_written: bool = False
    uncalled: bool = False
    look: bool = False

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.layout if isinstance(item, Buffer))

    @property
    def timed(self) -> bool:
        return self.placement is Placement.FOR_TIMING

    def __str__(self) -> str:
        where = str(self.binding)
        return f"{where + ' on ' if where else ''}{self.oracle}"

    def job(self, fields: Sequence[Field]) -> str:
        """The case as `read_case` of runtime/case.c reads it."""
        numbers = f"{self.placement:d} {self.offset} {self.share!r} {int(self.as_written)}"
        numbers += f" {int(self.uncalled)} {int(self.look)} {self.seed}"
        lines = [str(self.expected), numbers]
        for field in fields:
            rung = initial_value(self, field)
            lines.append(f"{_FILLS[rung.fill]} {rung.lo!r} {rung.hi!r}")
        data = dict(self.oracle.data)
        for item in self.layout:
            if isinstance(item, int):
                lines.append(f"0 {item}")
                continue
            own = data[item.name].rung
            written = data[item.name].written + data[item.name].whole
            values = [
                1,
                ELEMENT_TYPES[item.type].harness,
                _FILLS[own.fill],
                own.lo,
                own.hi,
                written,
            ]
            values += [own.density, len(item.shape), *item.shape, *item.strides]
            lines.append(" ".join(map(repr, values)))
        return "\n".join(lines)


_RECORD_UNIT = 8  # bytes; each part of a record is padded to these (`append` of verify.c)


def unclear_elements(case: Case, record: BinaryIO) -> dict[str, bytes]:
    """The mark of every element (`mark` of enclose.c), by output, from the end of the `record` of
    the outputs' intervals; large arrays have none."""
    data, found = dict(case.oracle.data), dict[str, bytes]()
    end = record.seek(0, os.SEEK_END)
    for item in reversed(case.layout):
        if not isinstance(item, Buffer) or item.elements > _MOST_MARKS:
            continue
        if data[item.name].written:
            end = record.seek(end - item.elements - -item.elements % _RECORD_UNIT)
            found[item.name] = record.read(item.elements)
    return found


def initial_value(case: Case, field: Field) -> Rung:
    """How a configuration field is filled: like the inputs, if it is data."""
    if field.type in _DATA_FIELDS:
        mode = case.oracle.mode
        rung = LADDERS[Mode.INTEGERS][0] if mode is Mode.ONE_ARRAY else case.oracle.rung
        own = of_type(_DATA_FIELDS[field.type], mode, rung, converts=True)
        fill = own.fill if own.fill is Fill.INTEGERS else Fill.FLOATS
        return Rung(fill, own.lo, own.hi)
    value = dict(case.binding.config).get(field.name, 1)
    return Rung(Fill.INTEGERS, value, value)
