"""A PostgreSQL server of the tests' own: no network, its files in a temporary directory."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

USER = "tester"
_START_S = 120


def programs() -> Path | None:
    """Directory of `initdb` and `postgres`, None if they are not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    packaged = Path("/usr/lib/postgresql").glob("*/bin/initdb")  # Debian's, not on PATH
    newest = max(packaged, key=lambda path: path.stat().st_mtime, default=None)
    return newest.parent if newest else None


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """A running server; yields the URL of its database `postgres`, without a query's end.

    It dies with this process. Its files are synced to no disk: nothing here outlives it.
    """
    bin_ = programs()
    assert bin_ is not None
    identity = _unprivileged()
    data = directory / "data"
    if identity:
        os.chown(directory, identity["user"], identity["group"])
    subprocess.run(
        [bin_ / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
        cwd=directory,
        capture_output=True,
        check=True,
        **identity,
    )
    process = subprocess.Popen(
        [bin_ / "postgres", "-D", data, "-k", directory, "-F", "-c", "listen_addresses="],
        cwd=directory,
        stderr=subprocess.DEVNULL,
        preexec_fn=_die_with_parent,
        **identity,
    )
    url = f"postgresql://{USER}@/postgres?host={directory}"
    try:
        _await(url, process)
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # "fast shutdown"
        process.wait(_START_S)


@contextmanager
def temporary_server() -> Iterator[str]:
    """As `server`, in a directory with a name short enough for a socket's."""
    with (
        tempfile.TemporaryDirectory(prefix="schedsearch-pg-") as directory,
        server(Path(directory)) as url,
    ):
        yield url


def _unprivileged() -> dict[str, Any]:
    """For subprocess: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _die_with_parent() -> None:
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGINT, 0, 0, 0)


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.02)
