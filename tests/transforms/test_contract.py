"""What is said of an exported kernel, and what its C checks, is what its procedure means."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from schedsearch.core.build import DEFAULT_BUILD
from schedsearch.core.lasting import caveats, lasting_memory
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.contract import conditions, facts, overlaps
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.generated import with_build
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export_c import c_files
from transforms.helpers import CONTROLS, arguments, kernels
from transforms.interpret import interpret
from transforms.native import Library


def checked(code: GeneratedC, procedure: object) -> GeneratedC:
    """The code as it is exported, with its asserts."""
    _, source = c_files(code, mirror(procedure), "kernel")
    body = source.replace('#include "kernel.h"\n', "")
    return GeneratedC(code.proc, code.header, body, f"{code.key} checked")


@pytest.mark.normal
def test_checks_hold_in_every_allowed_call(tmp_path: Path) -> None:
    """A check that fails there would end this process."""
    codes = [checked(generate_c(each), each) for each in kernels().values()]
    library = Library(codes, tmp_path)
    for number, (name, procedure) in enumerate(kernels().items()):
        ast = mirror(procedure)
        assert "assert(" in codes[number].source
        for controls in CONTROLS[name]:
            wanted, found = arguments(ast, controls, 3), arguments(ast, controls, 3)
            interpret(ast, wanted)
            library.call(number, ast, found)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5)


# Of `n`, as Python and Exo read them.
ASSERTS = (
    "n % 8 == 5",
    "n / 4 < 2",
    "(n - 9) / 4 < 1",
    "(n - 9) % 4 == 1",
    "3 * ((n - 9) / 4) - 2 * (n % 3) + 8 > n - 4",
    "n > 4 and n % 4 == 0 or n < 2",
    "n > 4 and (n % 4 == 0 or n < 7)",
    "n <= 3",
)


@pytest.mark.normal
@pytest.mark.parametrize("text", ASSERTS)
def test_conditions_mean_in_c_what_they_mean_in_exo(text: str, tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom exo import proc\n\n@proc\n"
    body = f"def f(n: size, x: f32[n]):\n    assert {text}\n    x[0] = 1.0\n"
    (tmp_path / "f.py").write_text(head + body)
    procedure = load_source(tmp_path / "f.py").procs["f"]
    positive, condition = conditions(mirror(procedure), generate_c(procedure))
    assert positive == "n >= 1"
    test = f"""#include <stdio.h>
    int main(void) {{ for (long n = 1; n < 40; n++) putchar({condition} ? '1' : '0'); }}"""
    (tmp_path / "test.c").write_text(test)
    subprocess.run(["gcc", "-o", tmp_path / "test", tmp_path / "test.c"], check=True)
    found = subprocess.check_output([tmp_path / "test"], text=True)
    expected = text.replace("/", "//")
    assert found == "".join("01"[bool(eval(expected, {"n": n}))] for n in range(1, 40))


def test_extents_and_strides_are_conditions_too(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(
        "from __future__ import annotations\nfrom exo import proc\n\n@proc\n"
        "def f(n: size, m: size, x: [f32][n, m], y: f32[n - 3, m], z: f32[n + 3], a: f32):\n"
        "    assert n > 3\n    assert stride(x, 0) == 64\n    x[0, 0] = y[0, 0] + z[0] + a\n"
        "    a = 1.0\n"
    )
    procedure = load_source(tmp_path / "f.py").procs["f"]
    ast, code = mirror(procedure), generate_c(procedure)
    assert conditions(ast, code) == [
        "n >= 1",
        "m >= 1",
        "n - 3 >= 1",
        "n > 3",
        "x.strides[0] == 64",
    ]
    assert overlaps(ast, code) == [
        ("y", "(n - 3) * m", "a", "1"),
        ("z", "(n + 3)", "a", "1"),
    ]
    assert facts(ast, code)[0].startswith("required: n >= 1, m >= 1, n - 3 >= 1, n > 3, x.str")


LASTING = {
    "static float t5[64 * 64];": ("t5",),
    "  static double a, b[3], *c;": ("a", "b", "c"),
    "static int n = 0;": ("n",),
    " static float u[3] = {0, 1};": ("u",),
    "static const int q[3] = {1};": (),
    "static _Thread_local float z[3];": (),
    "static float f(int x);": (),
    "static inline float f(float x) {\n  return x;\n}": (),
    "float t[4];": (),
}


@pytest.mark.parametrize("text", LASTING)
def test_lasting_memory(text: str) -> None:
    assert (
        lasting_memory(f"#include <math.h>\n{text}\nvoid f( void *ctxt ) {{\n}}") == LASTING[text]
    )


def test_state_of_a_context_is_the_callers() -> None:
    procedure = kernels()["configured"]
    found = facts(mirror(procedure), generate_c(procedure))
    assert "*ctxt is read and written: calls at the same time need one each" in found
    assert caveats(generate_c(procedure)) == ()


LINKAGE = {
    "float h(float x) {\n": "static inline float h(float x) {\n",
    "inline float h(float x) {\n": "static inline float h(float x) {\n",
    "extern inline int *h(int x,\n  int y)\n{\n": "static inline int *h(int x,\n  int y)\n{\n",
    "float h(float x);\nfloat h(float x) {\n": (
        "static inline float h(float x);\nstatic inline float h(float x) {\n"
    ),
    "static inline float h(float x) {\n": None,
    "static int h(int x) {\n": None,
    "float h(float x);\n": None,  # defined elsewhere
    "void k( void *ctxt ) {\n": None,  # the kernel
    "for (int i = 0; i < 4; i++) {\n": None,
    "else if (x) {\n": None,
    "struct s {\n": None,
}


@pytest.mark.parametrize("text", LINKAGE)
def test_all_but_the_kernel_is_internal(text: str) -> None:
    code = with_build("k", "", text, DEFAULT_BUILD)
    assert code.source == (LINKAGE[text] or text)
    assert with_build("k", "", code.source, DEFAULT_BUILD) == code
