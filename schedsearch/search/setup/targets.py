"""The target of a run: what was detected, and what the user says instead.

`--target` names an ISA (`avx2`, `neon`, ...) or a TOML file such as

```toml
isa = "avx2"                  # sets width, registers, instructions and -march; then, each optional:
cpu = "epyc-in-the-cellar"    # any name
features = ["avx2", "fma"]    # as archspec names them; decides which instruction sets fit
vector_bits = 128
vector_registers = 16
line_bytes = 64
cache_bytes = [32768, 1048576]
cores = 4
compiler = "clang-19"
fp = "reassociate"            # strict, reassociate or fast: adds flags that keep this contract
flags = ["-O3", "-march=x86-64-v3"]
instructions = ["my_isa.py"]  # beside this file
```

The file is data, checked key by key; what it names is the user's choice, as on the command
line: the compiler and files of instructions are run.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.fields import brief, toml_data
from schedsearch.core.floats import FloatingPoint, contract_flags, floating_point, forbidden_flags
from schedsearch.core.isa import ANY, NAMES, Isa, isa
from schedsearch.core.records import Target
from schedsearch.core.suggest import did_you_mean, unknown
from schedsearch.core.text_file import read_text
from schedsearch.evaluate.build.compiler import default_flags, find_compiler, other_compilers
from schedsearch.evaluate.build.host import (
    FALLBACK_CACHES,
    FALLBACK_LINE,
    cpu_identity,
    probe_target,
)
from schedsearch.transforms.vector.instruction_sets import with_instructions

CROSS_COMPILERS = {"aarch64": "aarch64-linux-gnu-gcc", "x86_64": "x86_64-linux-gnu-gcc"}


MOST_BITS = 1 << 16  # RISC-V's longest vectors; schedules grow with them
MOST_REGISTERS = 1 << 10
MOST_CORES = 1 << 16
LONGEST_LINE = 1 << 12
LARGEST_CACHE = 1 << 40
MOST_ITEMS = LONGEST_TEXT = 1000
"""Of a list, and characters of each text: all of it fits a command line."""


def _up_to(most: int) -> Callable[[Any], bool]:
    def right(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most

    return right


def _list_of(right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, list) and len(value) <= MOST_ITEMS and all(map(right, value))
    )


def _text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()


_CHOICES = {"isa": NAMES, "fp": tuple(map(str, FloatingPoint))}


def _one_of(names: Sequence[str]) -> tuple[str, Callable[[Any], bool]]:
    return f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names


_KEYS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "isa": _one_of(_CHOICES["isa"]),
    "cpu": ("a name", _text),
    "features": ("a list of names", _list_of(_text)),
    "vector_bits": (
        f"a multiple of 64, at most {MOST_BITS}",
        lambda value: _up_to(MOST_BITS)(value) and value % 64 == 0,
    ),
    "vector_registers": (f"a number from 1 to {MOST_REGISTERS}", _up_to(MOST_REGISTERS)),
    "line_bytes": (f"a number from 1 to {LONGEST_LINE}", _up_to(LONGEST_LINE)),
    "cache_bytes": (
        f"a list of numbers up to {LARGEST_CACHE}, the first level first",
        lambda value: _list_of(_up_to(LARGEST_CACHE))(value) and bool(value),
    ),
    "cores": (f"a number from 1 to {MOST_CORES}", _up_to(MOST_CORES)),
    "compiler": ("a name or path", _text),
    "fp": _one_of(_CHOICES["fp"]),
    "flags": ("a list of options", _list_of(_text)),
    "instructions": ("a list of Python files", _list_of(_text)),
}


@dataclass(frozen=True)
class TargetRequest:
    """What the user says about the target; whatever is not in `values` is detected."""

    values: Mapping[str, Any]
    folder: Path = Path()


def read_target(text: str | None) -> TargetRequest:
    """What `--target` says: nothing, the name of an ISA, or a TOML file.

    Raises UserError for anything else, and for what the file should not say.
    """
    if text is None:
        return TargetRequest({})
    if text in NAMES:
        return TargetRequest({"isa": text})
    path = Path(text)
    if text.isidentifier() and not path.exists():
        raise UserError(unknown("--target", text, (*NAMES, "FILE.toml")))
    try:
        values = toml_data(read_text(path))
    except (UserError, ValueError) as error:
        raise UserError(
            f"--target {text}: {error}; give one of {', '.join(NAMES)}, or a TOML file"
            f"{did_you_mean(text, NAMES)}"
        ) from error
    for key, value in values.items():
        if key not in _KEYS:
            raise UserError(f"{path}: {unknown('key', key, _KEYS)}")
        wanted, right = _KEYS[key]
        if not right(value):
            close = did_you_mean(value, _CHOICES.get(key, ())) if isinstance(value, str) else ""
            raise UserError(f"{path}: {key} = {brief(value)} is not {wanted}{close}")
    return TargetRequest(values, path.parent)


def resolve_target(
    request: TargetRequest,
    cc: str | None = None,
    threads: int = 1,
    instructions: Sequence[Path] = (),
    fp: FloatingPoint | None = None,
) -> Target:
    """The target: this machine, except for what was requested.

    `cc` is the only compiler if given, then the requested one; else every kind on PATH
    is a choice. `instructions` are the user's files besides those of the request, `fp` is
    the floating-point contract, if it is not requested; by default `fast`. A foreign ISA has
    nothing of this machine: a core of its minimal features, built by the cross compiler.
    Raises UserError for whatever the user can mend.
    """
    values = dict(request.values)
    files = [request.folder / name for name in values.pop("instructions", ())]
    wanted = isa(values.pop("isa")) if "isa" in values else None
    foreign = wanted is not None and _is_foreign(wanted)
    only = cc or values.pop("compiler", None)
    values.pop("compiler", None)
    if only is None and foreign:
        assert wanted is not None
        only = CROSS_COMPILERS[wanted.machine]
    compiler = find_compiler(only)
    others = () if only else other_compilers(compiler)
    requested = floating_point(values.pop("fp", None))
    if requested and fp and requested is not fp:
        raise UserError(f"the target's file says fp = {requested}, but {fp} is wanted: change one")
    fp = fp or requested or FloatingPoint.FAST
    target = probe_target(compiler, default_flags(fp), threads, others, fp)
    if wanted is not None and wanted.name != target.isa:
        target = _as_isa(target, wanted, foreign)
    if "flags" in values:
        values["flags"] = _within(fp, values["flags"])
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return with_instructions(replace(target, **{**values, **lists}), [*files, *instructions])


def _within(fp: FloatingPoint, flags: list[str]) -> list[str]:
    """The user's compiler options, with those that keep the contract. Raises UserError for
    options that break it."""
    if wrong := forbidden_flags(fp, flags):
        raise UserError(
            f"flags has {' '.join(wrong)}, which changes results in ways that --fp {fp} rules "
            f"out: leave it out of flags, or tune with --fp {FloatingPoint.FAST}"
        )
    if fp is FloatingPoint.FAST:
        return flags
    return [*flags, *(flag for flag in contract_flags(fp) if flag not in flags)]


def runs_here(name: str) -> bool:
    """Whether kernels for the ISA of this name are for machines of this kind."""
    return not _is_foreign(isa(name))


def require_native(target: Target) -> None:
    """Raises UserError if kernels for the target do not run here."""
    missing = isa(target.isa).needs - set(cpu_identity()[1])
    if not runs_here(target.isa):
        raise UserError(
            f"kernels for {target.isa} do not run on this {platform.machine()} machine, so they "
            "cannot be timed: tune on such a machine, or carry a schedule over with "
            f"`schedsearch export ID --target {target.isa}`, which cross-compiles it"
        )
    if missing:
        names = ", ".join(sorted(missing))
        raise UserError(
            f"kernels for {target.isa} do not run on this CPU: it has no {names}; choose "
            "another --target"
        )


def _is_foreign(wanted: Isa) -> bool:
    return wanted.machine not in (ANY, platform.machine())


def _as_isa(target: Target, wanted: Isa, foreign: bool) -> Target:
    """The target with another ISA; what the compiler is told about the CPU goes with it."""
    flags = tuple(flag for flag in target.flags if not flag.startswith("-march="))
    target = replace(
        target,
        isa=wanted.name,
        vector_bits=wanted.vector_bits,
        vector_registers=wanted.vector_registers,
        flags=(*flags, *wanted.march),
    )
    if foreign:
        return replace(
            target,
            cpu=wanted.machine,
            features=tuple(sorted(wanted.needs)),
            line_bytes=FALLBACK_LINE,
            cache_bytes=FALLBACK_CACHES,
            cores=1,
        )
    return target
