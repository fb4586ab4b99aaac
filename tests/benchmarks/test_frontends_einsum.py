"""The comparison of einsum strings, in one round."""

from __future__ import annotations

import pytest

from benchmarks.frontends.einsum import STRINGS, compare, operands, table


@pytest.mark.normal
def test_two_strings_in_one_round(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    rows = list(compare(["ij,j->i", "ij,jk->"], ["float32"], 1))
    assert [row.chosen in ("native", "numpy") for row in rows] == [True, True]
    assert all(len(row.ratios) == 1 and row.ratios[0] > 0 for row in rows)
    assert table(rows).row_count == 2


def test_a_row_that_fails_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedsearch.einsum", lambda *_: 0 / 0)
    [row] = compare(["ij,j->i"], ["float32"], 1)
    assert row.failed == "ZeroDivisionError: division by zero"
    assert table([row]).row_count == 1


@pytest.mark.normal
def test_all_strings_have_lengths() -> None:
    assert len(STRINGS) == 40
    for subscripts, lengths in STRINGS.items():
        assert sum(each.nbytes for each in operands(subscripts, "float32", lengths)) < 1e8
