"""Read and write the text of lock files.

Reading accepts only what writing gives. Anything else is a UserError that names the entry and
the field. The text is TOML as people compare and merge it: one rewrite per line, C as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from schedsearch.core.alignment import UNKNOWN, is_alignment
from schedsearch.core.build import COMPILERS, compile_flags
from schedsearch.core.errors import UserError
from schedsearch.core.fields import LARGEST, Fields, toml_data
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import (
    Compiler,
    GeneratedC,
    InstructionSet,
    Keys,
    Workload,
    choose_compiler,
)
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import MOST_STEPS, Rewrite, Trace, parse_path
from schedsearch.locks.entry import Lock, LockedRoof, LockedSpeed, LockedTarget, LockEntry

SCHEMA = 1
MOST_SIZES = 100
CACHES = ("warm", "cold")

WIDTH = 96
"""A list is on one line if it fits and has no tables."""

_LITERAL = re.compile(r"(?s)(?!.*''')(?=.*\n)[^\x00-\x08\x0b-\x1f\x7f]*(?<!')")
"""Texts of several lines without characters that need escapes."""

_HEAD = """\
# Written by `schedsearch pin`, read by `schedsearch check`; keep it with the kernels.
# After a merge conflict keep whole entries, one per kernel and target.
"""


def parse_lock(text: str, where: str) -> Lock:
    """The lock of a file's text; `where` names the file in messages. Raises UserError."""
    try:
        data = toml_data(text)
    except ValueError as error:
        hint = " (left by a merge?)" if "\n<<<<<<< " in text else ""
        raise UserError(
            f"{where} is not a lock file: {error}{hint}; correct it, or move it away and pin again"
        ) from error
    fields = Fields(data, where)
    schema = fields.integer("schema")
    if schema != SCHEMA:
        raise UserError(
            f"{where} has schema {schema}; this schedsearch reads schema {SCHEMA}: install the one "
            "that wrote it, or pin again into another file (--lock)"
        )
    entries = [_entry(table) for table in (fields.tables("kernel") if "kernel" in data else ())]
    fields.end()
    slots: set[tuple[Any, ...]] = set()
    for entry in entries:
        if entry.slot in slots:
            raise UserError(f"{where} has two entries for {entry.name}; keep one")
        slots.add(entry.slot)
    return Lock().having(entries)


def format_lock(lock: Lock) -> str:
    """Equal locks give equal texts."""
    lines = [*_HEAD.splitlines(), *toml_lines({"schema": SCHEMA})]
    for entry in Lock().having(lock.entries).entries:
        lines += ["", "[[kernel]]", *toml_lines(_entry_table(entry))]
        lines += ["", *toml_lines(_target_table(entry.target), "kernel.target")]
        lines += ["", *toml_lines(_speed_table(entry.speed), "kernel.speed")]
        if entry.code is not None:
            c = {"header": entry.code.header, "source": entry.code.source}
            lines += ["", _compiled(entry, entry.code), *toml_lines(c, "kernel.c")]
    return "\n".join(lines) + "\n"


# -- entries -----------------------------------------------------------------


def _entry_table(entry: LockEntry) -> dict[str, Any]:
    own = entry.workload
    return {
        "proc": own.proc,
        "source": own.source,
        "source_sha": own.source_sha,
        "proc_key": own.proc_key,
        "sizes": dict(own.sizes),
        "specialized": list(own.specialized),
        "schedsearch": entry.schedsearch,
        "ast_key": entry.keys.ast,
        "code_key": entry.keys.code,
        **({"caveats": list(entry.caveats)} if entry.caveats else {}),
        "trace": [step.to_json() for step in entry.trace.steps],
    }


def _entry(fields: Fields) -> LockEntry:
    proc, source = fields.text("proc"), _relative(fields, "source")
    fields.where = f"{fields.where} ({proc} of {source})"
    sizes = fields.table("sizes")
    names = sizes.names()
    if len(names) > MOST_SIZES:
        raise fields.wrong("sizes", f"a table of at most {MOST_SIZES} sizes", names)
    workload = Workload(
        proc,
        fields.text("proc_key"),
        tuple((name, sizes.integer(name, least=-LARGEST)) for name in names),
        source,
        fields.text("source_sha"),
        fields.texts("specialized"),
    )
    if set(workload.specialized) - set(names):
        raise fields.wrong("specialized", "a list of names in sizes", list(workload.specialized))
    trace, keys = _trace(fields), Keys(fields.text("ast_key"), fields.text("code_key"))
    entry = LockEntry(
        workload,
        _target(fields.table("target")),
        trace,
        keys,
        _speed(fields.table("speed")),
        fields.text("schedsearch"),
        fields.texts("caveats") if fields.has("caveats") else (),
        _code(fields.table("c"), workload, keys, trace) if fields.has("c") else None,
    )
    fields.end()
    return entry


def _compiled(entry: LockEntry, code: GeneratedC) -> str:
    """A comment for readers: check gives a compiler nothing of a lock file but the C."""
    target = entry.target
    found = choose_compiler((target.compiler, *target.other_compilers), code.build)
    compiler = found or target.compiler
    flags = compile_flags(code.build.flags(target.flags), code.source, compiler.kind)
    return f"# {_compiler_text(compiler)}: {' '.join(flags)}"


def _code(fields: Fields, workload: Workload, keys: Keys, trace: Trace) -> GeneratedC:
    header, source = (fields.value(name, str, "C") for name in ("header", "source"))
    fields.end()
    return GeneratedC(workload.function, header, source, keys.code or "", trace.build)


def _trace(fields: Fields) -> Trace:
    steps = fields.tables("trace")
    if len(steps) > MOST_STEPS:
        raise fields.wrong("trace", f"a list of at most {MOST_STEPS} rewrites", len(steps))
    return Trace(tuple(_rewrite(step) for step in steps))


def _rewrite(fields: Fields) -> Rewrite:
    args = fields.table("args")
    path = fields.text("path")
    try:
        parsed = parse_path(path)
    except ValueError as error:
        raise fields.wrong("path", "the path of a statement", path) from error
    found = Rewrite(
        fields.text("transform"),
        fields.integer("version"),
        parsed,
        fields.text("label"),
        tuple((name, args.scalar(name)) for name in args.names()),
    )
    fields.end()
    return found


def _relative(fields: Fields, name: str) -> str:
    """A path below the lock file's directory: a lock file makes nobody read any other file."""
    text = fields.text(name)
    parts = text.split("/")
    if "\\" in text or PurePosixPath(text).is_absolute() or {"", ".", ".."} & set(parts):
        raise fields.wrong(name, "a path below the lock file's directory, with /", text)
    return text


# -- targets and speeds ------------------------------------------------------


def _target_table(target: LockedTarget) -> dict[str, Any]:
    table = asdict(target)
    if target.align == UNKNOWN:
        del table["align"]
    return table | {
        "instructions": [_instructions_table(each) for each in target.instructions],
        "compiler": _compiler_text(target.compiler),
        "other_compilers": [_compiler_text(each) for each in target.other_compilers],
    }


def _target(fields: Fields) -> LockedTarget:
    align = fields.integer("align") if fields.has("align") else UNKNOWN
    if align != UNKNOWN and not is_alignment(align):
        raise fields.wrong("align", "a power of two from 16 to 4096", align)
    found = LockedTarget(
        cpu=fields.text("cpu"),
        isa=fields.text("isa"),
        features=fields.text("features"),
        vector_bits=fields.integer("vector_bits"),
        vector_registers=fields.integer("vector_registers"),
        line_bytes=fields.integer("line_bytes", least=1),
        cache_bytes=fields.integers("cache_bytes", least=1),
        cores=fields.integer("cores", least=1),
        threads=fields.integer("threads", least=1),
        compiler=_compiler(fields, "compiler", fields.text("compiler")),
        other_compilers=tuple(
            _compiler(fields, "other_compilers", text) for text in fields.texts("other_compilers")
        ),
        flags=fields.texts("flags"),
        exo_version=fields.text("exo_version"),
        z3_version=fields.text("z3_version"),
        instructions=tuple(_instructions(table) for table in fields.tables("instructions")),
        fp=fields.choice("fp", FloatingPoint) if fields.has("fp") else FloatingPoint.FAST,
        align=align,
    )
    fields.end()
    return found


def _compiler_text(compiler: Compiler) -> str:
    return f"{compiler.kind} {compiler.version}"


def _compiler(fields: Fields, name: str, text: str) -> Compiler:
    kind, _, version = text.partition(" ")
    if kind not in COMPILERS or not version:
        raise fields.wrong(name, f"a kind ({', '.join(COMPILERS)}) and a version", text)
    return Compiler(kind, version, path="")


def _instructions_table(instructions: InstructionSet) -> dict[str, str]:
    """Sets that come with schedsearch have no path."""
    path = {"path": instructions.path} if instructions.path else {}
    return {"name": instructions.name, "digest": instructions.digest, **path}


def _instructions(fields: Fields) -> InstructionSet:
    path = _relative(fields, "path") if fields.has("path") else ""
    found = InstructionSet(fields.text("name"), fields.text("digest"), path)
    fields.end()
    return found


def _speed_table(speed: LockedSpeed) -> dict[str, Any]:
    ratio = speed.ratio
    table: dict[str, Any] = {
        "ratio": _rounded(ratio.value),
        "low": _rounded(ratio.low),
        "high": _rounded(ratio.high),
        "rounds": speed.rounds,
        "confirmed": speed.confirmed,
        "cache": speed.cache,
        "call_ns": _rounded(speed.call_ns),
        "measured": speed.measured,
    }
    if speed.noise is not None:
        table["noise"] = _rounded(speed.noise)
    if speed.roof is not None:
        table["roof"] = {"share": _rounded(speed.roof.share), "name": speed.roof.name}
    return table


def _rounded(value: float) -> float:
    """Five digits: more is noise, in numbers as in diffs."""
    return float(f"{value:.5g}")


def _speed(fields: Fields) -> LockedSpeed:
    value, low, high = (fields.number(name) for name in ("ratio", "low", "high"))
    if not low <= value <= high:
        raise fields.wrong("ratio", f"between low and high, {low:g} and {high:g}", value)
    cache = fields.text("cache")
    if cache not in CACHES:
        raise fields.wrong("cache", f"one of {', '.join(CACHES)}", cache)
    roof = fields.table("roof") if fields.has("roof") else None
    found = LockedSpeed(
        Estimate(value, low, high),
        fields.integer("rounds", least=1),
        fields.value("confirmed", bool, "true or false"),
        cache,
        fields.number("call_ns"),
        fields.value("measured", date, "a date"),
        fields.number("noise", zero=True) if fields.has("noise") else None,
        LockedRoof(roof.number("share"), roof.text("name")) if roof else None,
    )
    fields.end()
    if roof:
        roof.end()
    return found


# -- TOML --------------------------------------------------------------------


def toml_lines(table: Mapping[str, Any], name: str = "") -> list[str]:
    """Lines of a table whose values are scalars, lists and small tables (written inline).
    `name` is its dotted name, empty for the top of a file."""
    head = [f"[{name}]"] if name else []
    return head + [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case str() if _LITERAL.fullmatch(value):
            return f"'''\n{value}'''"
        case list() | tuple():
            line = _inline(value)
            if len(line) <= WIDTH and not any(isinstance(item, Mapping) for item in value):
                return line
            return "".join(["[\n", *(f"  {_inline(item)},\n" for item in value), "]"])
        case _:
            return _inline(value)


def _inline(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case date():
            return value.isoformat()
        case Mapping():
            items = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
            return f"{{ {items} }}" if items else "{}"
        case Sequence():
            return f"[{', '.join(map(_inline, value))}]"
        case _:
            raise TypeError(f"no TOML for {type(value).__name__}")


def _text(value: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for DEL, which JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
