"""The gallery and the pictures of the documentation are in step with records and results."""

from __future__ import annotations

import re
from math import prod
from xml.etree import ElementTree

import pytest

from benchmarks.gallery.__main__ import pictures
from benchmarks.gallery.page import LEAD, ROOT, Exhibit, exhibits, page, picture, section
from benchmarks.gallery.pictures import FASTER, PLAIN, SLOWER, ratios
from benchmarks.gallery.tables import against_best, ratio

DOCS = ROOT / "docs"
GALLERY = (DOCS / "gallery.md").read_text()
CODE = re.compile(r'title="[^"]+\.schedule\.py"\n(.*?)\n```', re.DOTALL)
AGAIN = "python -m benchmarks.gallery writes it again"


def test_pictures_show_today_s_records_and_results() -> None:
    there = {path.name: path.read_text() for path in (DOCS / "pictures").iterdir()}
    assert pictures() == there, AGAIN


def test_the_gallery_shows_today_s_records() -> None:
    """All but the code of its schedules, for which the next test replays them."""
    codes = [tuple(code.splitlines()) for code in CODE.findall(GALLERY)]
    shown = [section(*both) for both in zip(exhibits(), codes, strict=True)]
    assert LEAD + "".join(shown) == GALLERY, AGAIN
    assert len(shown) == 8


@pytest.mark.normal
def test_the_gallery_shows_the_schedules_that_records_replay_to() -> None:
    assert page() == GALLERY, AGAIN


def test_the_number_of_the_home_page_is_that_of_the_results() -> None:
    found = against_best("polybench")
    assert len(found) == 30
    told = f"{prod(found.values()) ** (1 / 30):.2f}x"
    pages = ("docs/index.md", "docs/results/index.md", "docs/results/polybench.md", "README.md")
    assert not [name for name in pages if told not in (ROOT / name).read_text()]


def test_every_kernel_of_the_suite_is_in_its_table() -> None:
    found = against_best("suite")
    told = f"**{prod(found.values()) ** (1 / 31):.2f}x over 31 of 31 kernels**"
    assert told in (DOCS / "results/suite.md").read_text()


def test_bars_are_sorted_and_coloured_by_who_is_faster() -> None:
    chart = ElementTree.fromstring(ratios({"a": 0.5, "b & c": 8.0, "d": 2.0}, "a title"))
    name = "{http://www.w3.org/2000/svg}"
    bars = chart.findall(f"{name}rect")
    assert [bar.attrib["fill"] for bar in bars] == [FASTER, FASTER, SLOWER]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.02)  # log 8 = 3 log 2 = -3 log 0.5
    assert widths[1] == pytest.approx(widths[2], rel=0.02)
    texts = [text.text for text in chart.findall(f"{name}text")]
    assert [text for text in texts if text in ("a", "b & c", "d")] == ["b & c", "d", "a"]
    assert chart.findtext(f"{name}title") == "a title"


def test_a_peer_s_share_follows_from_the_ratio_of_the_times() -> None:
    found = {"speedup": 10.0, "roofline": 0.8, "best peer": {"numpy": 2.0}}
    drawn = picture(Exhibit(exhibits()[0].case, "A kernel", found))
    assert re.findall(r">([\d.]+ %)</text>", drawn) == [
        "0 %",
        "50 %",
        "100 %",
        "8 %",
        "40 %",
        "80 %",
    ]
    assert re.findall(r">(NumPy|schedsearch|baseline)</text>", drawn) == [
        "baseline",
        "NumPy",
        "schedsearch",
    ]
    assert (drawn.count(FASTER), drawn.count(PLAIN)) == (1, 2)


def test_a_cell_without_an_interval_is_no_ratio() -> None:
    assert ratio("clang -O3 0.94 [0.92, 0.95]") == 0.94
    with pytest.raises(ValueError, match="no ratio"):
        ratio("wrong")
