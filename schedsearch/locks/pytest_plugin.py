"""`pytest --schedsearch`: every entry of the schedules.lock files found is a test.

What fails is what `schedsearch check` calls wrong, a regression, stale or an error; inconclusive
and skipped entries are skipped tests, with the reason (`-rs` shows it): neither says
anything about the code. Without the option the plugin does nothing, and imports nothing.
"""

from __future__ import annotations

import pytest


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


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("schedsearch") or config.getoption("schedsearch_correct_only"):
        config.pluginmanager.import_plugin("schedsearch.locks.pytest_items")
