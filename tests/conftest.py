from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

# Property tests are repeatable, and slow or busy machines are no failure.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# Shells ignore Ctrl-C for what they start in the background, and commands inherit that:
# `make test &` would wait in vain for those that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """What is compiled is named by what it is compiled from, and peaks are those of the machine:
    all tests share them, as the runs of a user do. It takes half of a short run's time. They
    share their locks too, and a record of what was tuned, which is not the user's. Programs are
    those that are installed now: a compiler that comes later would be another target."""
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers have the environment of this process
        folder = TemporaryDirectory(prefix="schedsearch-tests-", ignore_cleanup_errors=True)
        Path(folder.name).chmod(0o755)  # other users' programs are there too
        os.environ["XDG_CACHE_HOME"] = folder.name
        os.environ["XDG_STATE_HOME"] = os.path.join(folder.name, "state")
        os.environ["PATH"] = installed_now(os.get_exec_path(), Path(folder.name, "programs"))
        config.add_cleanup(folder.cleanup)


@pytest.fixture(autouse=True)
def nothing_tuned_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test tunes in this process is not offered to the tests that come after it."""
    monkeypatch.setattr("schedsearch.deploy.sources._tuned_here", [])


def installed_now(path: list[str], links: Path) -> str:
    """A PATH of the programs on `path`. Those of virtual environments stay where they are: they
    have to find it from there."""
    environments = [each for each in path if Path(each, "../pyvenv.cfg").exists()]
    links.mkdir()
    for directory in path:
        if directory in environments or not os.path.isdir(directory):
            continue
        for program in os.scandir(directory):
            if not os.path.lexists(links / program.name) and os.access(program.path, os.X_OK):
                (links / program.name).symlink_to(os.path.abspath(program.path))
    return os.pathsep.join([*environments, str(links)])


_MARKS = re.compile(
    r"^pytestmark = \[?pytest\.mark\.(normal|slow)(?:[,\]].*|  #.*)?$", re.MULTILINE
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files all of whose tests the marker expression leaves out are not imported: that took more
    than half of the time of `make fast`, on each of its workers."""
    expression = str(config.getoption("markexpr"))
    if " or " in expression or "(" in expression or not collection_path.match("test_*.py"):
        return None
    found = _MARKS.search(collection_path.read_text())
    return True if found and f"not {found[1]}" in expression else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--passed-to", metavar="FILE", help="append the names of tests that pass")
    parser.addoption("--passed-in", metavar="FILE", help="leave out the tests that it names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if file := config.getoption("--passed-in"):
        passed = set(Path(file).read_text().splitlines())
        config.hook.pytest_deselected(items=[each for each in items if each.nodeid in passed])
        items[:] = [each for each in items if each.nodeid not in passed]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """How many tests were skipped, by reason; and which passed, where that is asked for."""
    file = config.getoption("--passed-to")
    if file and "PYTEST_XDIST_WORKER" not in os.environ:
        of = {
            kind: {each.nodeid for each in terminalreporter.stats.get(kind, [])}
            for kind in ("passed", "failed", "error")
        }
        passed = of["passed"] - of["failed"] - of["error"]  # some fail when all is taken down
        with Path(file).open("a") as names:
            names.writelines(f"{each}\n" for each in sorted(passed))
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(each.longrepr[2]).removeprefix("Skipped: ") for each in skipped)
    if reasons:
        terminalreporter.write_sep("=", f"{len(skipped)} skipped")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:4} {reason}")
