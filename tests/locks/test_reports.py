"""Results of a check as people and machines read them."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from schedsearch.core.decision import Decision
from schedsearch.core.records import PeerComparison
from schedsearch.core.stats import Estimate
from schedsearch.locks.github import annotation_lines, markdown
from schedsearch.locks.junit import junit_xml
from schedsearch.locks.result import Checked, Instructions, Status, Visit
from schedsearch.locks.table import as_json, headline, show
from tests.locks.entries import TIMING, checked

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "check.schema.json").read_text())
BESIDE = (
    PeerComparison("numpy", "2.4", Estimate(1.5, 1.4, 1.6), Decision.FASTER, 20, 1e-3, 1.5e-3),
    PeerComparison("scipy", failure="it is no product"),
)
RESULTS = [
    checked(Status.PASSED, "gemm", timing=TIMING, seconds=1.5, visits=(Visit(2.0, 1.9),)),
    checked(Status.WRONG, "gemv", "y[3] is 2, expected 1", line=7),
    checked(Status.REGRESSION, "dot", "slower", notes=("gcc was 12, is 13",), timing=TIMING),
    checked(Status.ERROR, "axpy", "no such file"),
    checked(Status.INCONCLUSIVE, "ger", "too noisy"),
    checked(Status.SKIPPED, "conv", "kernels for neon do not run here"),
    checked(Status.STALE, "syrk", "the procedure has changed"),
    checked(Status.PASSED, "trmm", same=True, against=BESIDE),
    checked(
        Status.REGRESSION, "symm", "more", timing=TIMING, instructions=Instructions(1050, 1000)
    ),
]


def shown(results: list[Checked]) -> str:
    text = StringIO()
    show(Console(file=text, width=60, highlight=False), results)
    return text.getvalue()


def test_the_table_has_every_kernel_and_explains_what_did_not_pass() -> None:
    text = shown(RESULTS)
    for each in RESULTS:
        assert re.search(rf"^ {each.entry.workload.proc} .* {each.status} ", text, re.MULTILINE)
        assert (f"  {each.summary}" in text) == (each.status is not Status.PASSED)
    assert "  gcc was 12, is 13" in text
    assert re.search(r"gemm .* 1.03 us +1.1 us +0.94x \[0.93, 0.95\] +1.5 s", text)
    assert re.search(r"trmm .* same machine code ", text)
    assert re.search(r"symm .* 1,000 instr. +1,050 instr. +\+5.0% ", text)
    assert "\ntrmm (K=64) against others, on arrays as NumPy allocates them:\n  1.5" in text
    assert "\n  scipy: not compared: it is no product\n" in text
    assert text.endswith(f"\n{headline(RESULTS)}\n")
    counts = "9 schedules: 2 passed, 1 wrong, 2 regression, 1 error, 1 stale, "
    assert headline(RESULTS).startswith(counts)


def test_the_table_has_no_colours_in_a_log() -> None:
    assert "\x1b" not in shown(RESULTS)


def test_json_is_as_its_schema_says() -> None:
    data = json.loads(json.dumps(as_json(Path("schedules.lock"), RESULTS)))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA)
    assert data["exit_code"] == 4
    assert [each["status"] for each in data["results"]] == [str(r.status) for r in RESULTS]
    assert data["results"][0]["timing"]["ratio"] == {"value": 0.94, "low": 0.93, "high": 0.95}
    assert data["results"][0]["visits"] == [{"call_ns": 2.0, "pinned_ns": 1.9}]
    assert [each["same_code"] for each in data["results"]].count(True) == 1
    assert data["results"][-1]["instructions"] == {"call": 1050, "pinned": 1000}
    assert data["results"][1]["line"] == 7


@pytest.mark.parametrize("change", [{"schema": 1}, {"exit_code": 130}, {"more": 1}])
def test_the_schema_refuses_other_data(change: dict[str, int]) -> None:
    data = as_json(Path("schedules.lock"), RESULTS) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_junit_has_a_test_case_for_each() -> None:
    suites = ElementTree.fromstring(junit_xml(RESULTS))
    (suite,) = suites
    assert suites.tag == "testsuites"
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "9", "failures": "4", "errors": "1", "skipped": "2"}
    inner = [case[0].tag for case in suite][:7]
    assert inner == ["system-out", "failure", "failure", "error", "skipped", "skipped", "failure"]
    wrong = suite[1]
    assert (wrong.get("file"), wrong.get("line")) == ("kernels/gemm.py", "7")
    assert wrong.get("classname") == "kernels.gemm"
    assert wrong[0].get("message") == "y[3] is 2, expected 1"
    assert (suite[2][0].text or "").splitlines() == ["slower", "gcc was 12, is 13"]


def test_annotations_point_at_files_and_lines() -> None:
    lines = list(annotation_lines(RESULTS, Path.cwd() / "sub"))
    kinds = [line.split()[0].strip(":") for line in lines]
    assert kinds == ["error", "error", "error", "warning", "error", "error"]
    assert lines[0] == (
        "::error file=sub/kernels/gemm.py,line=7,title=gemv (K=64)%3A wrong::y[3] is 2, expected 1"
    )
    assert lines[1].endswith("::slower%0Agcc was 12, is 13")


def test_markdown_has_a_row_for_each() -> None:
    text = markdown(RESULTS)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "kernel |" not in line]
    assert "| | kernel | file | pinned C | today | change |" in text
    assert len(rows) == len(RESULTS)
    assert all(row.count("|") == 7 for row in rows)
    assert "```\nslower\ngcc was 12, is 13\n```" in text
    assert "\n- scipy: not compared: it is no product\n" in text


MARKUP = (
    "a|b",
    "::error ::x",
    "\n::error ::x",
    "]]>",
    "</failure>",
    "```\nx",
    "<img src=x>",
    "[red]",
)
HOSTILE = st.text(min_size=1, max_size=40) | st.sampled_from([*MARKUP, "[red]", "\x1b[2J"])


@pytest.mark.normal
@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_breaks_out_of_its_place(proc: str, summary: str, note: str) -> None:
    """Names and messages come from files, compilers and kernels."""
    results = [checked(Status.REGRESSION, proc, summary, notes=(note,)), RESULTS[0]]
    (suite,) = ElementTree.fromstring(junit_xml(results))
    assert [case[0].tag for case in suite] == ["failure", "system-out"]
    lines = list(annotation_lines(results, Path.cwd()))
    assert not any("\n" in line or "\r" in line for line in lines)
    text = markdown(results)
    rows = [line for line in text.split("\n") if line.startswith("| ❌") or line.startswith("| ✅")]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    assert "<img" not in rows[0]
    assert "\x1b" not in shown(results)
    assert shown(results).rstrip().endswith("2 schedules: 1 passed, 1 regression")
