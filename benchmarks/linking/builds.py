"""Exported files built as their users do: by the lines in the header, then linked into programs."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, OPENMP, Build
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.records import Target
from schedsearch.evaluate.arguments.binding import extents
from schedsearch.present.files import Kernel, build_facts
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export_c import c_files
from schedsearch.transforms.registry import apply, select

VECTORS = ("register_block", "vectorise_reduction", "vectorise")
SEED = 12345
NEWLINE = "\n"
CTYPES = {"f32": ("float", "f4"), "f64": ("double", "f8"), "i8": ("int8_t", "i1")}
CTYPES |= {"i32": ("int32_t", "i4")}


def scheduled(procedure: Any, target: Target) -> Any:
    """With the first legal rewrite that brings vector instructions."""
    ast = mirror(procedure)
    for transform in (select([name])[0] for name in VECTORS):
        for rewrite in transform.rewrites(ast, target):
            with suppress(RewriteError):
                return apply(procedure, ast, rewrite)
    raise UserError(f"nothing of {ast.name} can be vectorised")


@dataclass(frozen=True)
class Exported:
    """A kernel's files in a folder, and the lines by which its header says to build it."""

    kernel: Kernel
    folder: Path
    compiling: tuple[str, ...]
    linking: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.kernel.code.proc

    def run(self, command: Sequence[str]) -> str:
        """What a command writes, in the folder. Raises UserError with its errors if it fails."""
        done = subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{shlex.join(command)}\n{done.stderr}")
        return done.stdout

    def compiled(self, *, checked: bool = False) -> Path:
        """The object file; `checked`: without optimisation, and with the checks of arguments."""
        line = list(self.compiling)
        if checked:
            line = ["-O0" if re.match("-O", word) else word for word in line if word != "-DNDEBUG"]
        self.run(line)
        return self.folder / f"{self.name}.o"

    def symbols(self) -> set[str]:
        """Functions that the object file defines for others."""
        listed = self.run(["nm", "-g", "--defined-only", f"{self.name}.o"])
        return {line.split()[-1] for line in listed.splitlines()}

    def shared(self) -> str:
        self.run([*self.linking, "-Wl,--no-undefined"])
        return f"lib{self.name}.so"

    def static(self) -> str:
        self.run(["ar", "rcs", f"lib{self.name}.a", f"{self.name}.o"])
        return f"lib{self.name}.a"

    def program(self, main: str, linked: str, name: str = "main") -> str:
        """A program of `main` and a library or an object; returns its path."""
        (self.folder / "main.c").write_text(main)
        command = [self.linking[0], "-O1", "main.c", linked, "-Wl,-rpath,.", "-o", name]
        openmp = [word for word in self.linking if word == OPENMP]
        self.run([*command, *openmp, "-Wl,--no-undefined", "-lm"])
        return f"./{name}"

    def outputs(self, main: str, linked: str) -> bytes:
        program = self.program(main, linked)
        return subprocess.run([program], cwd=self.folder, check=True, capture_output=True).stdout


def exported(
    procedure: Any, target: Target, folder: Path, build: Build = DEFAULT_BUILD
) -> Exported:
    code = generate_c(procedure, build)
    kernel = Kernel(mirror(procedure), code, target, "not verified")
    header, source = c_files(code, kernel.proc, code.proc, (), build_facts(kernel, code.proc))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{code.proc}.h").write_text(header)
    (folder / f"{code.proc}.c").write_text(source)
    lines = dict(re.findall(r"^// - (compile|link): (.*)$", header, re.MULTILINE))
    return Exported(
        kernel, folder, tuple(shlex.split(lines["compile"])), tuple(shlex.split(lines["link"]))
    )


WRITES = "{name}({passed});\n{writes}"
"""Calls the kernel once and writes its arrays to standard output."""

TIMES = """\
double least = 1e300, spent = 0;
for (int i = 0; i < 2 || spent < 20e6; i++) {{
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  {name}({passed});
  clock_gettime(CLOCK_MONOTONIC, &to);
  double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
  spent += ns;
  if (ns < least) least = ns;
}}
printf("%f\\n", least);"""
"""Prints the nanoseconds of its fastest call, of two or as many as take 20 ms."""


def main_c(proc: q.Proc, name: str, sizes: Mapping[str, int], does: str = WRITES) -> str:
    """A program that calls a kernel on small whole numbers."""
    lines, passed, written = [], ["0"], []
    for arg in proc.args:
        if arg.type in q.CONTROL_TYPES:
            passed.append(str(sizes[arg.var.name]))
            continue
        ctype, size = CTYPES[arg.type][0], elements(proc, arg, sizes)
        lines.append(f"static _Alignas(64) {ctype} {arg.var.name}[{size}];")
        lines.append(f"for (int i = 0; i < {size}; i++) {arg.var.name}[i] = draw();")
        passed.append(arg.var.name)
        written.append(f"fwrite({arg.var.name}, sizeof {arg.var.name}, 1, stdout);")
    body = does.format(name=name, passed=", ".join(passed), writes="\n".join(written))
    return f"""\
#include <stdio.h>
#include <time.h>
#include "{name}.h"
static unsigned state = {SEED};
static int draw(void) {{
  state = state * 1664525u + 1013904223u;
  return (int)(state >> 16) % 7 - 3;
}}
int main(void) {{
{NEWLINE.join(lines)}
{body}
return 0;
}}
"""


def elements(proc: q.Proc, arg: q.Arg, sizes: Mapping[str, int]) -> int:
    return prod(extents(arg, {each.var: sizes.get(each.var.name, 0) for each in proc.args}))


def arrays(proc: q.Proc, data: bytes, sizes: Mapping[str, int]) -> list[NDArray[Any]]:
    found, at = [], 0
    for arg in (each for each in proc.args if each.type not in q.CONTROL_TYPES):
        values = np.frombuffer(data, CTYPES[arg.type][1], elements(proc, arg, sizes), at)
        found.append(values)
        at += values.nbytes
    assert at == len(data)
    return found
