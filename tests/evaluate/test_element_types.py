"""The table of element types agrees with NumPy and with the harness."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest

from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS

HEADER = (resources.files("schedsearch.evaluate") / "runtime" / "harness.h").read_text()


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_a_row_is_what_numpy_and_the_harness_say(name: str) -> None:
    row = ELEMENT_TYPES[name]
    dtype = np.dtype(row.numpy)
    assert dtype.itemsize * 8 == row.bits
    assert (dtype.kind in "iu") == (name in INTEGERS)
    if row.bounds:
        assert row.bounds == (np.iinfo(dtype).min, np.iinfo(dtype).max)
    enum = re.search(r"enum hs_type \{(.*?)\}", HEADER)
    assert enum
    wanted = "HS_F32" if name == "R" else f"HS_{name.upper().replace('UI', 'U')}"
    assert enum[1].split(",")[row.harness].strip() == wanted
