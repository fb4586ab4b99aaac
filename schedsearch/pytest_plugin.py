"""`pytest --schedsearch`: every entry of the schedules.lock files found is a test.

What fails is what `schedsearch check` calls wrong, a regression, stale or an error; inconclusive
and skipped entries are skipped tests, with the reason (`-rs` shows it): neither says
anything about the code. Without the option the plugin does nothing, and imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from schedsearch.core.checked import Checked
    from schedsearch.core.lockfile import LockEntry

NAME = "schedules.lock"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("schedsearch", "schedules pinned in schedules.lock")
    group.addoption(
        "--schedsearch",
        action="store_true",
        help="check pinned schedules: replayed on today's source, verified, timed",
    )
    group.addoption(
        "--schedsearch-correct-only",
        action="store_true",
        help="check pinned schedules without timing them",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name != NAME or not _wanted(parent.config):
        return None
    return LockFile.from_parent(parent, path=file_path)


def _wanted(config: pytest.Config) -> bool:
    return bool(config.getoption("schedsearch") or config.getoption("schedsearch_correct_only"))


class LockFile(pytest.File):
    """A lock file; its entries are the tests."""

    def collect(self) -> Iterator[pytest.Item]:
        from schedsearch.core.errors import UserError
        from schedsearch.core.lock_place import read_lock

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
        from schedsearch.core.checked import EXIT_CODES, Status
        from schedsearch.search.checking import Options, check
        from schedsearch.search.locked_kernel import Where

        timing = not self.config.getoption("schedsearch_correct_only")
        # Who collects a directory's tests has its conftest.py executed, too.
        where = Where(named=(self.path.parent,))
        options = Options(self.path.parent, where, timing=timing)
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
