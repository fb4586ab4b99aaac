"""Names of the user's C that headers around a kernel have, too: what was written beside the kernel
still compiles, and does what the user's file does."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core.errors import UserError
from schedsearch.frontends.c import c_kernel, exported, read, replacement
from schedsearch.frontends.files import as_written
from schedsearch.frontends.lower import lower
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source, pick

FLAGS = ("-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC")

OWN: dict[str, str] = {
    "a type of stdint.h": """
typedef long long int64_t;
typedef unsigned char uint8_t;
static int twice(uint8_t v) { return 2 * v; }
void f(int64_t n, double *x) { for (int64_t i = 0; i < n; i++) x[i] += twice((uint8_t)1); }
""",
    "functions that are declared": """
double exp(double);
extern float fabsf(float);
void f(long n, double *x) { for (long i = 0; i < n; i++) x[i] += exp(0) + fabsf(-1.0f); }
""",
    "functions of math.h, defined": """
static double round(double x) { return x + 2; }
static const double y0 = 0.0;
double exp(double x);
void f(long n, double *x) { for (long i = 0; i < n; i++) x[i] = round(x[i]) + y0 * exp(x[i]); }
""",
    "macros of math.h": """
double exp(double);
void f(long n, double *NAN)
{
    double M_PI = 2 * exp(0), INFINITY[1] = {0};
    for (long i = 0; i < n; i++) NAN[i] += M_PI + INFINITY[0];
}
""",
    "words of stdbool.h": """
typedef int bool;
enum { false, true };
void f(long n, double *x)
{
    for (long i = 0; i < n; i++) { bool up = x[i] > -1000 ? true : false; x[i] += 2 * up; }
}
""",
    "a parameter without a name": """
static double two(double x, int) { return x + 2; }
void f(long n, double *x, float) { for (long i = 0; i < n; i++) x[i] = two(x[i], 3); }
""",
    "functions of stdlib.h, defined": """
#include <math.h>
static int abs(int x) { return x < 0 ? -x : x; }
static double drand48(int x) { return abs(x); }
static double getw(double x) { return x + drand48(-2); }
static double mktemp(double x) { return x; }
static int free(double x) { return x > 1; }
void f(long n, double *x)
{
    for (long i = 0; i < n; i++) x[i] = getw(mktemp(sqrt(x[i] * x[i]))) + 0 * free(x[i]);
}
""",
    "constants that are called as functions": """
#include <math.h>
enum { div = 3, exit = -2, y1 = 1 };
void f(long n, double *x)
{
    for (long i = 0; i < n; i++) x[i] = sqrt(x[i] * x[i]) + div + exit + y1;
}
""",
    "a type that is called as a function": """
double sqrt(double);
typedef double gamma;
typedef gamma select;
void f(long n, select *x)
{
    for (long i = 0; i < n; i++) { gamma t = x[i]; x[i] = sqrt(t * t) + 2; }
}
""",
    "a type that is called as a function, and no case to fall back to": """
double sqrt(double);
typedef double gamma;
enum { div = 4 };
void f(long n, gamma x[div])
{
    for (int i = 0; i < div - 1; i++) if (i < n) x[i] = sqrt(x[i] * x[i]) + 2;
}
""",
}
"""Each adds 2 to the elements of an array."""


@pytest.mark.normal
@pytest.mark.parametrize("name", OWN)
def test_kernels_and_what_was_written_stand_in_one_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "f.c"
    file.write_text(OWN[name])
    made = lower(replace(c_kernel(file, "f"), name="f"))
    theirs = as_written(file, "f")
    assert theirs is not None
    module = tmp_path / "module.py"
    module.write_text(made.text)
    code = generate_c(pick(load_source(module), made.name))
    (tmp_path / "kernel.c").write_text(f"{code.header}\n{code.source}")
    (tmp_path / "new.c").write_text(theirs.replacement(made, "kernel.c"))
    (tmp_path / "own.c").write_text(theirs.exported(made, "own", {}))
    for source in ("new", "own"):
        command = ["gcc", *FLAGS, "-o", f"{source}.so", f"{source}.c", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
    new = ctypes.CDLL(str(tmp_path / "new.so")).f
    for n in (0, 3):  # as written, and the kernel
        x = np.arange(4.0)
        new(ctypes.c_int64(n), _pointer(x), ctypes.c_float(0))
        assert x.tolist() == [*(np.arange(n) + 2.0), *range(n, 4)]
    x, number = np.arange(4.0), np.zeros(1, np.float32)
    more = [_pointer(number)] * (len(made.parameters) - 2)
    ctypes.CDLL(str(tmp_path / "own.so")).own(None, ctypes.c_int64(3), _pointer(x), *more)
    assert x.tolist() == [2, 3, 4, 3]


@pytest.mark.normal
@pytest.mark.parametrize("name", ["abs", "select", "round", "y0", "f"])
def test_a_function_may_have_a_name_that_headers_declare(tmp_path: Path, name: str) -> None:
    file = tmp_path / "f.c"
    file.write_text(
        f"double sqrt(double);\nvoid {name}(long n, double *x)\n"
        "{ for (long i = 0; i < n; i++) x[i] = sqrt(x[i] * x[i]) + 2; }"
    )
    made, theirs = lower(c_kernel(file)), as_written(file)
    assert theirs is not None
    module = tmp_path / "module.py"
    module.write_text(made.text)
    code = generate_c(pick(load_source(module), made.name))
    (tmp_path / "kernel.c").write_text(f"{code.header}\n{code.source}")
    own = theirs.own
    texts = [theirs.replacement(made, "kernel.c"), replacement(made, own, "kernel.c")]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.c").write_text(text)
        flags = [*FLAGS, "-Wno-builtin-declaration-mismatch"]
        command = ["gcc", *flags, "-o", f"{number}.so", f"{number}.c", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        x = np.arange(4.0)
        getattr(ctypes.CDLL(str(tmp_path / f"{number}.so")), name)(ctypes.c_int64(3), _pointer(x))
        assert x.tolist() == [2, 3, 4, 3]


def _pointer(array: Any) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def test_a_file_is_exported_as_it_was_read(tmp_path: Path) -> None:
    """Not as it is after a search."""
    file = tmp_path / "f.c"
    file.write_text("void f(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 1; }")
    made, theirs = read(file), as_written(file)
    assert theirs is not None
    file.write_text("void f(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 2; }")
    assert "= 1;" in theirs.exported(made, "own", {})
    assert theirs.exported(made, "own", {}) == exported(made, theirs.own, theirs.text, "own", {})


def test_an_enumerator_that_is_not_known_is_named(tmp_path: Path) -> None:
    file = tmp_path / "k.c"
    file.write_text("enum { K = 1 / 0 };\nvoid f(int n, double *x) {\nx[0] = K; }")
    with pytest.raises(UserError, match=r"k.c:3: enumerator K: its value is no constant expr"):
        c_kernel(file)
