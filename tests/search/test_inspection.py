"""A kernel that was inspected is not inspected again, unless in part."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.evaluate.run.sanitize import COVERAGE
from schedsearch.search.engine.confirmation import once
from schedsearch.search.setup.run_summary import Inspection

MEMORY = Check("memory", Finding.PASSED)
LATE = Check("memory", Finding.PASSED, "but not with n=4096: no time was left")
RACES = Check("data races", Finding.NOT_CHECKED, "needs gcc")
ALL_RUN = Check(COVERAGE, Finding.PASSED, "2 blocks are never run, whatever the call")


@pytest.mark.parametrize(
    ("checks", "again"),
    [((MEMORY, ALL_RUN), False), ((LATE, ALL_RUN), True), ((MEMORY, ALL_RUN, RACES), True)],
)
def test_what_was_left_out_is_looked_at_again(checks: tuple[Check, ...], again: bool) -> None:
    seconds = []

    @dataclass(frozen=True)
    class Inspector:
        slow_s: float = 0.0

        def inspect(self, code: Any, reach: Any) -> tuple[Check, ...]:
            seconds.append(self.slow_s)
            return (MEMORY, ALL_RUN)

    run = SimpleNamespace(summary={"inspection": Inspection("key", checks).to_json()})
    store = SimpleNamespace(runs=lambda scope: [run])
    nothing = cast(Any, None)
    look = once(cast(Any, Inspector()), cast(Any, store), nothing, lambda trace: nothing)
    look(cast(Any, SimpleNamespace(key="key")), Trace(), 3.0)
    assert seconds == ([3.0] if again else [])
