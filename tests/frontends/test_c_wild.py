"""Functions in C as they are found: kernels do what gcc's code does, bit for bit."""

from __future__ import annotations

import pytest

from frontends.c_pairs import Pairs
from frontends.c_wild import WILD

pytestmark = pytest.mark.normal

SIZES = (1, 2, 3, 4, 7, 8, 13)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs([text for text, _ in WILD.values()], tmp_path_factory.mktemp("wild"))


@pytest.mark.parametrize("number", range(len(WILD)), ids=list(WILD))
def test_does_what_the_c_does(pairs: Pairs, number: int) -> None:
    _, make = list(WILD.values())[number]
    for size in SIZES:
        pairs.check(number, make(size))
