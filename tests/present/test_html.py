"""HTML of schedules and measurements: nothing from a file becomes markup."""

from __future__ import annotations

from types import SimpleNamespace

import IPython
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from schedsearch.core.records import Measurement, Round
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.present.html import code, folded, in_notebooks, measurement, table, trace

from .reading import Reader, pictures

samples = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=6).map(tuple)
measurements = st.builds(
    Measurement,
    st.sampled_from(["screen", "confirm"]),
    st.lists(st.builds(Round, samples, samples), min_size=1, max_size=5).map(tuple),
    st.integers(1, 10**6),
    st.just((("clock", "<cpu>"),)),
)


@pytest.mark.normal
@given(st.text(), st.text(), st.integers())
def test_traces_show_what_files_say_as_text(label: str, name: str, value: int) -> None:
    schedule = Trace((Rewrite("split", 1, (0,), label, ((name, value), ("kind", "<script>"))),))
    read = Reader(trace(schedule))
    assert {tag for tag, _ in read.tags} == {"table", "tr", "th", "td", "b", "code"}
    if "\r" not in label and "\0" not in label:
        assert label in read.text
    assert "<script>" in read.text


def test_the_unscheduled_procedure_has_no_table() -> None:
    assert Reader(trace(Trace())).text == "as written, no rewrites"


@pytest.mark.normal
@given(measurements)
def test_every_sample_is_a_dot_within_the_picture(timed: Measurement) -> None:
    read = Reader(measurement(timed))
    dots = [attrs for each in pictures(read) for tag, attrs in each.tags if tag == "circle"]
    rounds = timed.rounds
    taken = sum(len(each.candidate_ns) + len(each.reference_ns) for each in rounds)
    assert len(dots) == taken + len(rounds)
    width = float(pictures(read)[0].tags[0][1]["width"] or 0)
    assert all(0 < float(attrs["cx"] or -1) < width for attrs in dots)
    assert "clock <cpu>" in read.text


def test_markup_is_kept_and_text_is_escaped() -> None:
    read = Reader(table(("a<b",), [(code("x<y"),), (folded("<more>", code("&")),)]))
    assert [tag for tag, _ in read.tags].count("code") == 2
    assert read.text == "a<bx<y<more>&"


def test_a_notebook_shows_records_as_html(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    in_notebooks()
    [shown, _] = shell.display_formatter.format(Trace())
    assert Reader(shown["text/html"]).text == "as written, no rewrites"
