from __future__ import annotations

import os
import signal
from tempfile import TemporaryDirectory

import pytest

# Shells ignore Ctrl-C for what they start in the background, and commands inherit that:
# `make test &` would wait in vain for those that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """What is compiled is named by what it is compiled from, and peaks are those of the machine:
    all tests share them, as the runs of a user do. It takes half of a short run's time. They
    share their locks too, and a record of what was tuned, which is not the user's."""
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers have the environment of this process
        folder = TemporaryDirectory(prefix="schedsearch-tests-", ignore_cleanup_errors=True)
        os.environ["XDG_CACHE_HOME"] = folder.name
        os.environ["XDG_STATE_HOME"] = os.path.join(folder.name, "state")
        config.add_cleanup(folder.cleanup)
