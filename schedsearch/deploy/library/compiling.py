"""A library's C compiled and linked, into the code that was verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from schedsearch.core.build import OPENMP
from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler
from schedsearch.deploy.library.packing import Packed
from schedsearch.deploy.library.sources import commands, symbol
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.evaluate.build.process import run_group
from schedsearch.search.workers.building import BUILD_TIMEOUT_S

LINKED = ("-Wl,--no-undefined", "-pthread")
"""Options of the link line besides `-fopenmp` where it is needed. None of those that change
floating-point results: with them gcc adds code that turns denormals off in the whole process."""


def compile_files(name: str, procs: Sequence[Packed], sources: Path, out: Path) -> list[Path]:
    """The object files of the C in `sources`, in `out`. Raises UserError if one does not compile,
    or a variant's code is not that which was verified."""
    variants = {f"{symbol(name, p, v)}.c": (p, v) for p in procs for v in p.variants}

    def compiled(file: str, options: Sequence[str]) -> Path:
        made = out / f"{Path(file).stem}.o"
        proc, variant = variants.get(file, (None, None))
        compiler = variant.compiler if variant else default_compiler(procs)
        what = f"{variant.name} of {proc.name}" if proc and variant else f"{name}'s own C"
        _run(what, compiler.path, *options, f"-I{sources}", "-c", sources / file, "-o", made)
        return made

    with ThreadPoolExecutor(2) as pool:
        wanted = commands(name, procs)
        objects = list(pool.map(compiled, wanted, wanted.values()))
    for proc in procs:
        for each in proc.variants:
            made = out / f"{symbol(name, proc, each)}.o"
            if code_identity(made.read_bytes()) != each.machine_code:
                raise UserError(f"{made.name} is other machine code than was verified: build again")
    return objects


def default_compiler(procs: Sequence[Packed]) -> Compiler:
    """What compiles the choice, and links."""
    return procs[0].variants[-1].compiler


def link_options(options: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Of the link line, for files that are compiled with `options`."""
    openmp = any(OPENMP in each for each in options.values())
    return (*LINKED, *([OPENMP] if openmp else []))


def link(name: str, procs: Sequence[Packed], objects: Sequence[Path], out: Path) -> None:
    """The shared library and the static one, in `out`."""
    options = link_options(commands(name, procs))
    shared = out / f"lib{name}.so"
    soname = f"-Wl,-soname,{shared.name}"
    compiler = default_compiler(procs).path
    _run(shared.name, compiler, "-shared", *objects, "-o", shared, soname, *options, "-lm")
    _run(f"lib{name}.a", "ar", "rcsD", out / f"lib{name}.a", *objects)


def _run(what: str, *command: str | Path) -> None:
    """Raises UserError if a program fails to make what is wanted. All names and all C are ours, so
    it is our fault; the files are gone by then."""
    program = Path(command[0]).name
    try:
        done = run_group(command, timeout_s=BUILD_TIMEOUT_S)
    except OSError as error:
        raise UserError(f"cannot run {program}: {error}") from error
    if done is None:
        raise UserError(
            f"{program} took more than {BUILD_TIMEOUT_S:g} s: run again, or leave procedures out "
            "with --only"
        )
    if done.code != 0:
        said = done.stderr
        for folder in {str(each.parent) for each in command[1:] if isinstance(each, Path)}:
            said = said.replace(f"{folder}/", "")
        raise UserError(
            f"{program} failed to make {what}, a fault of schedsearch: please report it, with "
            f"the procedure and this:\n{said[:2000]}"
        )
