"""Ids that no store can have are refused before one is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.given import parse_id

NONE = {
    "a truth": True,
    "negative": -1,
    "a fraction": 1.0,
    "its text": "1.0",
    "empty": "",
    "more than 63 bits": 2**63,
    "its digits": str(2**63),
    "more than Python prints": 10**5000,
    "more than Python reads": "9" * 5000,
}


@pytest.mark.parametrize("what", NONE)
def test_what_is_no_id(what: str) -> None:
    with pytest.raises(UserError, match="is no id of a candidate; `schedsearch best` prints"):
        parse_id(NONE[what])


@pytest.mark.parametrize("given", ["7", 7, np.int32(7)])
def test_ids(given: Any) -> None:
    assert parse_id(given) == 7
