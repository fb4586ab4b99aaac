"""Lock files and their entries as pytest collects them: loaded by `pytest_plugin`, if asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import UserError
from schedsearch.locks.check import CheckOptions, check
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import NAME, read_lock
from schedsearch.locks.result import EXIT_CODES, Checked, Status


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return LockFile.from_parent(parent, path=file_path) if file_path.name == NAME else None


class LockFile(pytest.File):
    """A lock file; its entries are the tests."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            entries = read_lock(self.path).entries
        except UserError as error:
            raise self.CollectError(str(error)) from error
        for entry in entries:
            yield LockedSchedule.from_parent(self, name=entry.name, entry=entry)


class FailedCheck(Exception):
    """The check of an entry failed: not an error of the test."""

    def __init__(self, found: Checked) -> None:
        super().__init__(found.summary)
        self.found = found


class LockedSchedule(pytest.Item):
    """One entry of a lock file."""

    def __init__(self, *, entry: LockEntry, **given: Any) -> None:
        super().__init__(**given)
        self.entry = entry

    def runtest(self) -> None:
        timing = not self.config.getoption("schedsearch_correct_only")
        # Collecting a directory's tests executes its conftest.py, too.
        where = Where(named=(self.path.parent,))
        options = CheckOptions(self.path.parent, where, timing=timing)
        (found,) = check([self.entry], options, lambda text: None)
        if found.status in (Status.SKIPPED, Status.INCONCLUSIVE):
            pytest.skip(f"{found.status}: {found.summary}")
        if found.status in EXIT_CODES:
            raise FailedCheck(found)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, FailedCheck):
            return super().repr_failure(excinfo, style)
        found = excinfo.value.found
        place = self.path.parent / found.entry.workload.source
        at = f"{place}:{found.line}" if found.line else str(place)
        return "\n".join([f"{at}: {found.status}", found.summary, *found.notes])
