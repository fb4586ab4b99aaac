"""Integers of data that are divided by constants, shifted and masked: as C does, in integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.c_pairs import Pairs
from schedsearch.frontends.c import c_kernel
from schedsearch.frontends.lower import lower

HEAD = "#include <stdint.h>\nvoid f(int n, const {kind} *x, const {kind} *z, int *y) {{\n"
LOOP = HEAD + "for (int i = 0; i < n; i++) {{ {body} }}\n}}\n"


def c(body: str, kind: str = "uint8_t") -> str:
    return LOOP.format(kind=kind, body=body)


BODIES: list[tuple[str, str, Any]] = [
    ("y[i] = (77 * x[i] + 150 * z[i] + 29 * x[i]) >> 8;", "uint8_t", np.uint8),
    ("int v = x[i]; v = v * z[i] - 9; y[i] = v / 3 + (v >> 2) + v % 8;", "int8_t", np.int8),
    ("y[i] = (x[i] * z[i] + 127) / 255;", "uint8_t", np.uint8),
    ("const int d = x[i] - z[i]; y[i] = d / 3 + d % 5;", "uint8_t", np.uint8),
    ("y[i] = (x[i] - z[i]) >> 3;", "uint8_t", np.uint8),
    ("y[i] = (x[i] - 2 * z[i]) / -7 + (x[i] & 15);", "uint16_t", np.uint16),
    ("y[i] = ((int8_t)(x[i] + z[i])) / 3;", "int8_t", np.int8),
    ("int v = i < 2000 ? 70000 * z[i] - 5 : x[i]; y[i] = (v >> 1) + v / 7;", "uint8_t", np.uint8),
    ("y[i] = (x[i] << 24) >> 26;", "uint8_t", np.uint8),
    ("y[i] = (x[i] << 24) / 3 + (x[i] << 16) % 1000;", "uint16_t", np.uint16),
    ("y[i] = (x[i] * z[i]) / 7 + ((x[i] * z[i]) & 65535);", "uint16_t", np.uint16),
    ("y[i] = (x[i] >> 31) + (x[i] & -16) + x[i] / 1 + (z[i] >> 0);", "int", np.int32),
    ("y[i] = ((x[i] & z[i]) | (y[i] ^ 5)) ^ ~(x[i] | i);", "int", np.int32),
    ("y[i] = (x[i] & ~0x0f0f0f0f) | ((x[i] > z[i]) & (z[i] != 7));", "int", np.int32),
    ("y[i] = (x[i] >> 3 << 11) | (z[i] >> 2 << 5) | (x[i] ^ 0x55) >> 3;", "uint8_t", np.uint8),
    ("y[i] = (int8_t)(x[i] ^ z[i]) & 5;", "int8_t", np.int8),
    ("y[i] = x[i] / 2147483647 + x[i] % -2147483647 + (z[i] & 2147483647);", "int", np.int32),
    ("y[i] = (uint8_t)(x[i] >> 3) + (int8_t)(z[i] / 5);", "int", np.int32),
    ("y[i] = ((n * i - 7) >> 1) + ((n * i - 7) & 7) + ((n * i) >> 2);", "uint8_t", np.uint8),
    ("y[i] = x[i] / -1 + z[i] % -1;", "int", np.int32),
    (
        "int t = (int)(((float)x[i] + 100.0f + 8589934592.0f) - 8589934592.0f - 60.0f);"
        " y[i] = t >> 3;",
        "uint8_t",
        np.uint8,
    ),
]


@pytest.mark.parametrize("body", [body for body, _, _ in BODIES[:4]])
def test_it_is_computed_in_integers(tmp_path: Path, body: str) -> None:
    """Conversions to float and back take twice the time that shifts do."""
    (file := tmp_path / "f.c").write_text(c(body))
    text = lower(c_kernel(file, "f")).text.partition("@proc\ndef f")[2]
    assert "ashr(" in text or "sdiv(" in text
    assert "f32" not in text
    assert "f64" not in text


@pytest.mark.normal
def test_does_what_c_does(tmp_path: Path) -> None:
    pairs = Pairs([c(body, kind) for body, kind, _ in BODIES], tmp_path)
    random = np.random.default_rng(0)
    for case, (_, _, kind) in enumerate(BODIES):
        info = np.iinfo(kind)
        x, z = (random.integers(info.min, info.max + 1, 4099).astype(kind) for _ in range(2))
        x[:2], z[:2] = (info.min, info.max), (info.max, info.min)
        wanted, found = pairs.run(case, [4099, x, z, np.zeros(4099, np.int32)])
        assert (wanted[3] == found[3]).all(), BODIES[case]
