"""Report a check as JUnit XML for GitHub, GitLab and Jenkins.

There is no standard; this is what they have in common: `testsuites`, `testsuite` and
`testcase` with `failure`, `error` or `skipped` (https://github.com/testmoapp/junitxml).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as xml

from schedsearch.locks.result import Checked, Status
from schedsearch.locks.table import kernel
from schedsearch.present.against import against_lines

_ELEMENTS = {
    Status.WRONG: "failure",
    Status.REGRESSION: "failure",
    Status.ERROR: "error",
    Status.STALE: "failure",
    Status.INCONCLUSIVE: "skipped",
    Status.SKIPPED: "skipped",
}
# XML 1.0 cannot hold these.
_UNSPEAKABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[Checked]) -> str:
    """One test suite with a test case for each entry; inconclusive ones are skipped tests."""
    elements = [_ELEMENTS.get(each.status, "") for each in results]
    counts = {
        "tests": str(len(results)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "skipped": str(elements.count("skipped")),
        "time": f"{sum(each.seconds for each in results):.3f}",
    }
    suites = xml.Element("testsuites", {"name": "schedsearch", **counts})
    suite = xml.SubElement(suites, "testsuite", {"name": "schedules.lock", **counts})
    for each in results:
        _case(suite, each)
    xml.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml.tostring(suites, encoding="unicode")}\n'


def _case(suite: xml.Element, result: Checked) -> None:
    own, target = result.entry.workload, result.entry.target
    place = f"{target.cpu} {target.isa}, {target.threads} threads"
    case = xml.SubElement(
        suite,
        "testcase",
        name=_clean(f"{kernel(result)} on {place}"),
        classname=_clean(own.source.removesuffix(".py").replace("/", ".")),
        file=_clean(own.source),
        time=f"{result.seconds:.3f}",
    )
    if result.line:
        case.set("line", str(result.line))
    beside = against_lines(result.against)
    text = _clean("\n".join((result.summary, *result.notes, *beside)))
    element = _ELEMENTS.get(result.status)
    if element is None:
        xml.SubElement(case, "system-out").text = text
        return
    summary = _clean(result.summary.partition("\n")[0])
    child = xml.SubElement(case, element, type=str(result.status), message=summary)
    child.text = text


def _clean(text: str) -> str:
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text)
