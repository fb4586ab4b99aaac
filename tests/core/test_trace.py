"""Rewrites and traces as JSON: round trips, and UserError for anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.errors import UserError
from schedsearch.core.trace import Rewrite, Trace, format_path, parse_path

INDEX = st.integers(0, 10**9 - 1)
PATHS = st.lists(st.one_of(INDEX, st.just("e")), max_size=6).map(tuple)
TEXTS = st.text().filter(str.isprintable)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1)
ARGS = st.dictionaries(TEXTS, st.one_of(NUMBERS, TEXTS, st.booleans()), max_size=3)
REWRITES = st.builds(
    lambda name, version, path, label, args: Rewrite(
        name, version, path, label, tuple(sorted(args.items()))
    ),
    TEXTS,
    NUMBERS,
    PATHS,
    TEXTS,
    ARGS,
)
TRACES = st.lists(REWRITES, max_size=4).map(lambda steps: Trace(tuple(steps)))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)
FIELDS = {
    "transform": "split",
    "version": 1,
    "path": "0.1",
    "label": "for i",
    "args": {"factor": 8},
}


@pytest.mark.normal
@given(TRACES)
def test_round_trip(trace: Trace) -> None:
    again = Trace.loads(trace.dumps())
    assert again == trace
    assert again.key == trace.key
    assert again.dumps() == trace.dumps()


@given(PATHS)
def test_paths_round_trip(path: tuple[int | str, ...]) -> None:
    assert parse_path(format_path(path)) == path


@pytest.mark.parametrize("text", ["a", "0..1", ".", "-1", "0.E", "1 ", "+1", "²", "1_0", "9" * 10])
def test_what_is_not_a_path(text: str) -> None:
    with pytest.raises(ValueError, match="not a statement path"):
        parse_path(text)


@pytest.mark.normal
@given(st.one_of(st.text(), JSON.map(json.dumps)))
def test_anything_else_is_a_user_error(text: str) -> None:
    try:
        trace = Trace.loads(text)
    except UserError:
        return
    assert Trace.loads(trace.dumps()) == trace


@pytest.mark.normal
@given(st.sampled_from(sorted(FIELDS)), JSON)
def test_a_field_of_another_type_is_a_user_error(name: str, value: Any) -> None:
    data = {**FIELDS, name: value}
    try:
        trace = Trace.loads(json.dumps([data]))
    except UserError:
        return
    assert Trace.loads(trace.dumps()) == trace


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_missing_field_is_a_user_error(name: str) -> None:
    data = {key: value for key, value in FIELDS.items() if key != name}
    with pytest.raises(UserError, match=name):
        Trace.loads(json.dumps([data]))


@pytest.mark.parametrize("text", ["", "{", "{}", "1", "null", "[" * 100_000, '["a"]', "[[]]"])
def test_malformed_text_is_a_user_error(text: str) -> None:
    with pytest.raises(UserError, match="not a schedsearch"):
        Trace.loads(text)


def test_numbers_json_cannot_hold_are_a_user_error() -> None:
    with pytest.raises(UserError):
        Trace.loads(json.dumps([{**FIELDS, "args": {"factor": 1.5}}]))
    with pytest.raises(UserError):
        Trace.loads(json.dumps([{**FIELDS, "version": True}]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", 2**63),
        ("version", 10**400),
        ("label", "for i\nimport os"),
        ("label", "\x1b]0;title\x07"),
        ("transform", "split\0"),
        ("path", "0.\u0661"),
        ("args", {"outer": "io\n"}),
        ("args", {"factor": -(2**63)}),
        ("args", {f"a{n}": 1 for n in range(1000)}),
        ("args", {"name": "x" * 100_000}),
    ],
)
def test_what_no_search_writes_is_a_user_error(name: str, value: Any) -> None:
    with pytest.raises(UserError, match="not a schedsearch rewrite"):
        Trace.loads(json.dumps([{**FIELDS, name: value}]))


def test_a_trace_without_end_is_a_user_error() -> None:
    with pytest.raises(UserError, match="more than 1000 rewrites"):
        Trace.loads(json.dumps([FIELDS] * 1001))
    with pytest.raises(UserError, match="not a schedsearch trace"):
        Trace.loads(f'[{{"version": {"9" * 5000}}}]')


def test_a_trace_grows_and_shrinks_by_steps() -> None:
    one = Rewrite("split", 1, (0,), "for i", (("factor", 8),))
    two = Rewrite("unroll", 1, (0, 0), "for ii")
    trace = Trace().then(one).then(two)
    assert trace.steps == (one, two)
    assert len(trace) == 2
    assert trace.parent == Trace((one,))
    assert Trace().parent is None
    assert trace.key != Trace((two, one)).key
    assert str(one) == "split(factor=8) at 0 `for i`"
    assert str(Rewrite("compile_with", 1, (), "procedure", ())) == "compile_with() at `procedure`"
    assert one.arg("factor") == 8
    with pytest.raises(KeyError):
        one.arg("tail")
