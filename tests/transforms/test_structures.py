"""Problems whose values are together: structures are turned in registers."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS, ELEMENT_TYPES
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.vector.fused import structures
from schedsearch.transforms.vector.fused.recognise import fuse
from transforms.execution import assert_exact
from transforms.helpers import TARGET, Procedures, arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library, emulated
from transforms.test_vectorise import CROSS, FLAGS, QEMU

PROCEDURES = Procedures("structures")
[SCALARISE] = select(["scalarise"])
NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))
BITS = {"baseline": 128, "avx2": 256, "avx512": 512}
SIZES = [{"n": n, "h": 2, "w": n} for n in (1, 3, 7, 16, 37)]


@cache
def in_registers(name: str, bits: int) -> object:
    """The procedure with its problems in vector registers."""
    procedure = PROCEDURES[name]
    ast, target = mirror(procedure), replace(TARGET, vector_bits=bits)
    rewrites = [*SCALARISE.rewrites(ast, target)]
    assert rewrites
    made = apply(procedure, ast, rewrites[0])
    calls = [s for s in q.walk(mirror(made).body) if isinstance(s, q.Call)]
    assert calls
    assert not any(isinstance(s, q.Reduce | q.Assign) for s in q.walk(mirror(made).body))
    return made


def compare(name: str, library: Library, number: int) -> None:
    meaning = mirror(PROCEDURES[name])
    for sizes in SIZES:
        wanted, found = arguments(meaning, sizes, 3), arguments(meaning, sizes, 3)
        interpret(meaning, wanted)
        library.call(number, meaning, found)
        same = [np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(found, wanted, strict=True)]
        assert all(same), (name, sizes)


@pytest.mark.normal
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", FLAGS)
def test_the_meaning_stays(flags: str, compiler: str, tmp_path: Path) -> None:
    if not runs_here(FLAGS[flags]):
        pytest.skip(f"this processor does not run {flags} code")
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    codes = [generate_c(in_registers(name, BITS[flags])) for name in NAMES]
    library = Library(codes, tmp_path, FLAGS[flags], compiler)
    for number, name in enumerate(NAMES):
        compare(name, library, number)


@pytest.mark.normal
def test_the_interpreted_meaning_stays() -> None:
    for name in NAMES:
        meaning = mirror(PROCEDURES[name])
        made = mirror(in_registers(name, 128))
        for sizes in SIZES[:3]:
            wanted, found = arguments(meaning, sizes, 3), arguments(meaning, sizes, 3)
            interpret(meaning, wanted)
            interpret(made, found)
            same = [np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(found, wanted, strict=True)]
            assert all(same), (name, sizes)


@pytest.mark.normal
def test_the_meaning_stays_on_neon(tmp_path: Path) -> None:
    for tool in (CROSS, QEMU):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    codes, calls, wanted = [], [], []
    for number, name in enumerate(NAMES):
        codes.append(generate_c(in_registers(name, 128)))
        meaning = mirror(PROCEDURES[name])
        for sizes in SIZES:
            calls.append((number, arguments(meaning, sizes, 3)))
            wanted.append(arguments(meaning, sizes, 3))
            interpret(meaning, wanted[-1])
    emulated(codes, calls, tmp_path, [CROSS, "-static", "-O2"], [QEMU])
    for (number, found), right in zip(calls, wanted, strict=True):
        for a, b in zip(found, right, strict=True):
            assert np.allclose(a, b, 1e-5, 1e-6), NAMES[number]


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("name", sorted(set(PROCEDURES) - set(NAMES)))
def test_others_stay(name: str, bits: int) -> None:
    target = replace(TARGET, vector_bits=bits)
    assert not list(SCALARISE.rewrites(mirror(PROCEDURES[name]), target))


def random_problems(rng: random.Random) -> Iterator[str]:
    """Procedures of one loop over structures, some of them of two dimensions, and rows."""
    yield "from __future__ import annotations\nfrom exo import proc\n"
    for number in range(10):
        kind = rng.choice(["f32", "f64", "i32"])
        shapes = {name: (rng.randint(2, 9),) for name in "abc"}
        shapes["d"] = (rng.randint(1, 3), rng.randint(2, 4))
        args = [f"{name}: {kind}[n, {', '.join(map(str, s))}]" for name, s in shapes.items()]
        yield f"@proc\ndef f{number}(n: size, {', '.join(args)}, r: {kind}[n]):"
        yield "    for e in seq(0, n):"

        def element(shapes: dict[str, tuple[int, ...]] = shapes) -> str:
            name = rng.choice([*shapes, "r"])
            places = [str(rng.randrange(extent)) for extent in shapes.get(name, ())]
            return f"{name}[{', '.join(['e', *places])}]"

        yield "        a[e, 0] = b[e, 1]"
        for _ in range(rng.randint(1, 8)):
            term = " ".join([element(), rng.choice("+-"), element()])
            yield f"        {element()} {rng.choice(['=', '+='])} {term}"
        yield ""


@pytest.mark.normal
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_random_problems(bits: int, tmp_path: Path) -> None:
    file = tmp_path / "problems.py"
    file.write_text("\n".join(random_problems(random.Random(5))))
    procedures, target = load_source(file).procs, replace(TARGET, vector_bits=bits)
    for number, (name, procedure) in enumerate(procedures.items()):
        ast = mirror(procedure)
        made = [apply(procedure, ast, each) for each in SCALARISE.rewrites(ast, target)]
        assert made
        folder = tmp_path / name
        folder.mkdir()
        assert_exact(procedure, made, [{"n": n} for n in (1, 5, 16, 29 + number)], folder)


def test_lanes_may_not_need_structures_of_others() -> None:
    ast = mirror(PROCEDURES["no_structure_of_its_own"])
    loop = ast.body[0]
    assert isinstance(loop, q.For)
    assert fuse(ast, loop, 4, counted=True) is None


COPIES = """
void copied{number}(const {ctype} *from, {ctype} *members, {ctype} *to, long n)
{{
    {vec} x[{count}];
    {load}_n(from, x, n);
    if (n == {lanes}) {load}(from, x);
    for (int m = 0; m < {count}; m++)
        for (int l = 0; l < {lanes}; l++) members[m * {lanes} + l] = x[m][l];
    if (n == {lanes}) {store}(to, x);
    else {store}_n(to, x, n);
}}
"""
COUNTS = (2, 3, 4, 5, 6, 7, 9, 16, 36)
SHAPES = [
    (kind, size // (ELEMENT_BITS[kind] // 8), count)
    for kind in ("f32", "f64", "i32")
    for size in (8, 16, 32, 64)
    for count in COUNTS
    if size > ELEMENT_BITS[kind] // 8
]


@pytest.mark.normal
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_structures_are_loaded_and_stored(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    text = ["#include <stdint.h>"]
    for number, (kind, lanes, count) in enumerate(SHAPES):
        load, store = (made(kind, lanes, count) for made in (structures.load, structures.store))
        partial = (structures.partial_load, structures.partial_store)
        text += [load[1], store[1], *(made(kind, lanes, count)[1] for made in partial)]
        given = {"count": count, "lanes": lanes, "vec": f"vec_{kind}x{lanes}", "number": number}
        ctype = ELEMENT_TYPES[kind].c
        text.append(COPIES.format(load=load[0], store=store[0], ctype=ctype, **given))
    (tmp_path / "copies.c").write_text("\n".join(text))
    out = tmp_path / "copies.so"
    command = [compiler, "-O1", "-w", "-shared", "-fPIC", "-o", out, tmp_path / "copies.c"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(out))
    for number, (kind, lanes, count) in enumerate(SHAPES):
        dtype = ELEMENT_TYPES[kind].numpy
        for n in {1, lanes - 1, lanes} - {0}:
            given = np.arange(1, n * count + 1).astype(dtype)
            memory = np.full(given.size + 32, -7, dtype)
            members = np.empty((count, lanes), dtype)
            places = (given.ctypes.data, members.ctypes.data, memory[16:].ctypes.data)
            library[f"copied{number}"](*map(ctypes.c_void_p, places), ctypes.c_long(n))
            assert (members.T[:n] == given.reshape(n, count)).all(), (kind, lanes, count, n)
            assert not members.T[n:].any()
            assert (memory[16:-16] == given).all(), (kind, lanes, count, n)
            assert (memory[:16] == -7).all()
            assert (memory[-16:] == -7).all()
