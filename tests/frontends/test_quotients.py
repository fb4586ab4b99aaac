"""Integers of data that are divided by constants, in float where that is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.c_pairs import Pairs
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_kernel
from schedsearch.frontends.c.quotients import HALFWAY, UNKNOWN, bounds_of
from schedsearch.frontends.lower import lower

BYTES = graph.Load(graph.Array("x", "ui8"))
WORDS = graph.Load(graph.Array("w", "i32"))
HEAD = "#include <stdint.h>\nvoid f(int n, const {kind} *x, const {kind} *z, int *y) {{\n"
LOOP = HEAD + "for (int i = 0; i < n; i++) {{ {body} }}\n}}\n"


def c(body: str, kind: str = "uint8_t") -> str:
    return LOOP.format(kind=kind, body=body)


def as_int(value: graph.Value) -> graph.Value:
    return graph.Cast(value, "i32")


def number(value: float, kind: str = "i32") -> graph.Constant:
    return graph.Constant(value, kind)


def applied(op: str, *args: graph.Value, kind: str = "i32") -> graph.Value:
    return graph.Apply(op, args, kind, ())


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (BYTES, (0, 255)),
        (as_int(BYTES), (0, 255)),
        (WORDS, (-(2**31), 2**31 - 1)),
        (graph.Load(graph.Array("a", "f32")), UNKNOWN),
        (applied("-", number(255), as_int(BYTES)), (0, 255)),
        (applied("*", number(-3), as_int(BYTES)), (-765, 0)),
        (applied("neg", as_int(BYTES)), (-255, 0)),
        (graph.Cast(applied("*", as_int(BYTES), number(2)), "ui8"), (0, 255)),
        (graph.Cast(applied("-", as_int(BYTES), number(1)), "i8"), (-128, 127)),
        (applied("max", applied("neg", as_int(BYTES)), number(-7)), (-7, 0)),
        (as_int(applied("/", graph.Cast(BYTES, "f64"), number(2.0, "f64"), kind="f64")), (-1, 128)),
        (as_int(graph.Load(graph.Array("a", "f32"))), (-(2**31), 2**31 - 1)),
    ],
)
def test_bounds_of_values(value: graph.Value, bounds: tuple[float, float]) -> None:
    assert bounds_of(value, {}) == bounds


def lowered(source: str, folder: Path) -> str:
    (file := folder / "f.c").write_text(source)
    return lower(c_kernel(file, "f")).text.partition("@proc\ndef f")[2]


@pytest.mark.parametrize(
    ("body", "kind", "doubles"),
    [
        ("y[i] = (77 * x[i] + 150 * z[i] + 29 * x[i]) >> 8;", "uint8_t", False),
        ("int inv = 255 - x[i]; y[i] = (z[i] * inv + 127) / 255;", "uint8_t", False),
        ("y[i] = (x[i] - z[i]) / 2;", "uint16_t", False),
        ("y[i] = (4 * x[i] + z[i]) / 4;", "uint16_t", True),
        ("y[i] = (x[i] * z[i]) >> 4;", "uint16_t", True),
        ("y[i] = (y[i] + x[i]) / 3;", "uint8_t", True),
        ("int v = x[i]; v = v * y[i]; y[i] = v / 3;", "uint8_t", True),
        ("int v = 0; for (int k = 0; k < n; k++) v += x[k]; y[i] = v / 3;", "uint8_t", True),
    ],
)
def test_float_is_used_where_bounds_are_known(
    tmp_path: Path, body: str, kind: str, doubles: bool
) -> None:
    text = lowered(c(body, kind), tmp_path)
    assert ("f64" in text) is doubles
    assert ("f32" in text) is not doubles


def test_what_is_not_negative_needs_no_choice(tmp_path: Path) -> None:
    text = lowered(c("y[i] = (x[i] + z[i]) / 2 + ((x[i] + z[i]) >> 1);"), tmp_path)
    assert "select" not in text
    assert "floor" not in text
    assert "select" in lowered(c("y[i] = (x[i] - z[i]) / 2;"), tmp_path)


@pytest.mark.parametrize("by", [1, 2, 3, 7, 9, 10, 49, 255, 256, 257, 1000, 65535, 10**6, -3])
def test_no_integer_is_rounded_to_another(by: int) -> None:
    """Neither by a quotient nor by a product with the rounded reciprocal, a unit off."""
    x = np.arange(HALFWAY)
    wanted = np.trunc(x / by).astype(int)
    moved, divisor = x.astype(np.float32) + np.float32(0.5), np.float32(by)
    near = np.float32(1) / divisor
    for times in (near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))):
        assert (np.trunc(moved * times).astype(int) == wanted).all()
    assert (np.trunc(moved / divisor).astype(int) == wanted).all()


BODIES: list[tuple[str, str, Any]] = [
    ("y[i] = (x[i] * z[i] + 127) / 255;", "uint8_t", np.uint8),
    ("const int d = x[i] - z[i]; y[i] = d / 3 + d % 5;", "uint8_t", np.uint8),
    ("y[i] = (x[i] - z[i]) >> 3;", "uint8_t", np.uint8),
    ("y[i] = (x[i] - 2 * z[i]) / -7 + (x[i] & 15);", "uint16_t", np.uint16),
    ("y[i] = ((int8_t)(x[i] + z[i])) / 3;", "int8_t", np.int8),
    ("int v = i < 2000 ? 70000 * z[i] - 5 : x[i]; y[i] = (v >> 1) + v / 7;", "uint8_t", np.uint8),
    ("y[i] = (x[i] << 24) >> 26;", "uint8_t", np.uint8),
    ("y[i] = (x[i] << 24) / 3 + (x[i] << 16) % 1000;", "uint16_t", np.uint16),
    ("y[i] = (x[i] * z[i]) / 7 + ((x[i] * z[i]) & 65535);", "uint16_t", np.uint16),
    (
        "int t = (int)(((float)x[i] + 100.0f + 8589934592.0f) - 8589934592.0f - 60.0f);"
        " y[i] = t >> 3;",
        "uint8_t",
        np.uint8,
    ),
]


@pytest.mark.normal
def test_does_what_c_does(tmp_path: Path) -> None:
    pairs = Pairs([c(body, kind) for body, kind, _ in BODIES], tmp_path)
    random = np.random.default_rng(0)
    for case, (_, _, kind) in enumerate(BODIES):
        info = np.iinfo(kind)
        x, z = (random.integers(info.min, info.max + 1, 4099).astype(kind) for _ in range(2))
        wanted, found = pairs.run(case, [4099, x, z, np.zeros(4099, np.int32)])
        assert (wanted[3] == found[3]).all(), BODIES[case]
