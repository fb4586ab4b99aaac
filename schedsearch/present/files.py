"""Files a user keeps."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.core import ast as q
from schedsearch.core.alignment import arrays
from schedsearch.core.build import OPENMP, Build, compile_flags, link_flags
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_texts
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.core.suggest import did_you_mean
from schedsearch.core.text_file import write_text
from schedsearch.core.trace import Trace
from schedsearch.present import format as fmt
from schedsearch.transforms.exo.loader import Source
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.export_c import GUARD, c_files

if TYPE_CHECKING:  # it takes a while to load
    from schedsearch.search.setup.run_summary import Elsewhere

FORMATS = ("py", "c", "json")
"""What `export` writes."""

DEFAULT_FORMATS = ("py", "c")

_CONTRACT = "floating point: "
_NOTE = f"\n// {_CONTRACT}"
"""What all C of ours says at its top."""

_ROOM = 1 << 16
"""Bytes: more than what is written of most schedules."""


def parse_formats(given: str | Sequence[str]) -> tuple[str, ...]:
    """`py,c`, or these names one by one -> `("py", "c")`. Raises UserError for other names than
    those of `FORMATS`."""
    found = given.split(",") if isinstance(given, str) else given_texts("--format", given)
    names = tuple(dict.fromkeys(name.strip() for name in found if name.strip()))
    if not names or not set(names) <= set(FORMATS):
        wrong = next((name for name in names if name not in FORMATS), "")
        raise UserError(
            f"--format {given!r}: choose from {', '.join(FORMATS)}, e.g. py,json"
            f"{did_you_mean(wrong, FORMATS)}"
        )
    return names


def make_writable(out: Path) -> None:
    """Create `out` if needed and try to write there: before a search, not after it.

    Raises UserError if that fails.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        cause = error.strerror or error
        raise UserError(
            f"cannot write to --out {out}: {cause}; choose another directory"
        ) from error


def require_folder(option: str, out: Path) -> None:
    """Raises UserError if no file can be made where `out` is: before long work, not after it."""
    if not os.access(out.resolve().parent, os.W_OK):
        what = f"{option}: cannot write {out}"
        raise UserError(
            f"{what}: its directory is not there, or not writable; choose another place"
        )


def schedule_notes(
    claim: str, verdict: str, target: Target, build: Build, workload: Workload
) -> list[str]:
    """What the files say of where they come from; `claim` is how fast it is, `verdict` what its
    verification amounts to."""
    return [
        claim,
        verdict,
        f"on {fmt.target(target, build)}",
        f"{_CONTRACT}{fmt.contract(target.fp)}",
        f"sizes: {fmt.sizes(workload.sizes, workload.specialized) or 'as written'}",
    ]


@dataclass(frozen=True)
class Kernel:
    """What is exported: the scheduled procedure, its C, the target it is built for, what its
    verification amounts to, and how fast it is on arrays of another alignment."""

    proc: q.Proc
    code: GeneratedC
    target: Target
    verdict: str
    elsewhere: Elsewhere | None = None


def build_facts(kernel: Kernel, name: str) -> list[str]:
    """What the header says of how the kernel, in `name.c`, is built, and how it was measured."""
    code = kernel.code
    flags = code.build.flags(kernel.target.flags)
    compiler = kernel.target.compiler_for(code.build)
    command = (compiler and (Path(compiler.path).name or compiler.kind)) or code.build.compiler
    kind = compiler.kind if compiler else code.build.compiler
    compiling = [command, *compile_flags(flags, code.source, kind), "-c", f"{name}.c"]
    linking = [command, *link_flags(flags, code.source), "-shared", f"{name}.o"]
    found = [
        kernel.verdict,
        f"{_CONTRACT}{fmt.contract(kernel.target.fp)}",
        f"compile: {shlex.join(compiling)}",
        f"link: {shlex.join([*linking, '-o', f'lib{name}.so', '-lm'])}",
        "without -DNDEBUG what is required is checked in every call; it was measured with it",
    ]
    if set(flags) - set(link_flags(flags, "")):
        found.append(
            "link without -ffast-math, also a program: with it gcc turns denormals off in the "
            "whole process"
        )
    if OPENMP in compiling:
        found.append("OMP_NUM_THREADS says on how many threads it runs")
    found.append(f"measured on {arrays(kernel.target.align)}")
    if kernel.elsewhere is not None and kernel.elsewhere.differs:
        found.append(f"on {kernel.elsewhere}")
    return found


def write_schedule(
    out: Path,
    source: Source,
    workload: Workload,
    trace: Trace,
    kernel: Kernel,
    notes: list[str],
    formats: Collection[str] = DEFAULT_FORMATS,
    data: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write `NAME.schedule.py`, `NAME.c` and `NAME.h`, `NAME.schedule.json` into `out`, as
    `formats` asks; returns their paths. `data` is for JSON.

    NAME is that of the C function; C is in `NAME.scheduled.c` and `NAME.scheduled.h` if a file of
    the other name is there that no earlier run wrote. Raises UserError if `out` cannot be written.
    """
    name = kernel.code.proc
    texts = {}
    if "py" in formats:
        python = schedule_python(source, workload.proc, trace, notes, workload.fixed)
        texts[f"{name}.schedule.py"] = python
    if "c" in formats:
        stem = name if _is_free(out / name) else f"{name}.scheduled"
        how = build_facts(kernel, stem)
        header, body = c_files(kernel.code, kernel.proc, stem, notes, how)
        texts |= {f"{stem}.c": body, f"{stem}.h": header}
    if "json" in formats:
        texts[f"{name}.schedule.json"] = json.dumps(data, indent=2) + "\n"
    make_writable(out)
    for file, text in texts.items():
        try:
            write_text(out / file, text)
        except UserError as error:
            raise UserError(
                f"{error}; the store has the schedule, and `schedsearch export --out DIR` "
                "writes it where there is room"
            ) from error
    return [out / file for file in texts]


def _is_free(stem: Path) -> bool:
    """Whether no C of somebody else is at `stem.c` and `stem.h`."""
    header, source = stem.with_name(f"{stem.name}.h"), stem.with_name(f"{stem.name}.c")
    own = f'\n#include "{header.name}"\n'
    return (not header.exists() or _begins(header).startswith(GUARD)) and (
        not source.exists() or (_NOTE in (text := _begins(source)) and own in text)
    )


def _begins(file: Path) -> str:
    try:
        with open(file, errors="replace") as text:
            return text.read(1 << 14)
    except OSError:
        return ""
