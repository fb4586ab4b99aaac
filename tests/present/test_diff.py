"""Procedures side by side."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.present import html
from schedsearch.present.diff import LEXERS, Diff, coloured

from .reading import Reader

lines = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1)
texts = st.lists(lines, min_size=1, max_size=30).map("\n".join)


@pytest.mark.normal
@given(texts, st.sampled_from(list(LEXERS)))
def test_colours_keep_every_line(text: str, language: str) -> None:
    shown = [Reader(line).text for line in coloured(text, LEXERS[language])]
    assert shown == text.split("\n")


@pytest.mark.normal
@given(texts, texts)
def test_changed_lines_are_marked_on_their_side(before: str, after: str) -> None:
    read = Reader(Diff(before, after)._repr_html_())
    marked = [str(attrs.get("style")) for tag, attrs in read.tags if tag == "td"]
    removed = set(before.split("\n")) - set(after.split("\n"))
    added = set(after.split("\n")) - set(before.split("\n"))
    assert sum("214,69,61" in style for style in marked) >= len(removed)
    assert sum("42,138,62" in style for style in marked) >= len(added)


def test_far_lines_are_left_out() -> None:
    before = [f"x = {number}" for number in range(100)]
    after = [*before[:50], "y = 1", *before[51:]]
    diff = Diff("\n".join(before), "\n".join(after))
    read = Reader(diff._repr_html_())
    assert "x = 49" in read.text
    assert "x = 10" not in read.text
    assert read.text.count("⋯") == 2
    assert "-x = 50\n+y = 1" in repr(diff)


def test_equal_texts_have_no_difference() -> None:
    assert repr(Diff("a", "a")) == "no difference"
    assert Reader(Diff("a", "a")._repr_html_()).text == "no difference"


def test_indentation_survives_where_spaces_are_collapsed() -> None:
    """Exported notebooks keep the spaces of `pre` alone, whatever a style says."""
    before = "for i in seq(0, 8):\n    for j in seq(0, 8):\n        C[i] += A[i, j]"
    for shown in (Diff(before, before.replace("+=", "="))._repr_html_(), html.listing(before)):
        kept = re.findall(r"<pre[^>]*>(.*?)</pre>", shown, re.DOTALL)
        lines = [Reader(part).text for block in kept for part in block.split("\n")]
        assert set(before.split("\n")) <= set(lines)
        outside = re.sub(r"<pre[^>]*>.*?</pre>", "", shown, flags=re.DOTALL)
        assert "  " not in Reader(outside).text
