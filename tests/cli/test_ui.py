"""`schedsearch ui`, as a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .invoke import COMMAND, Answer, environment

Run = Callable[..., Answer]


@contextmanager
def served(home: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address that it printed."""
    process = subprocess.Popen(
        [*COMMAND, "ui", "--no-browser", *args],
        cwd=home,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def asked(address: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
    where = urlsplit(address)
    assert where.hostname
    assert where.port
    cookie = f"schedsearch-{where.port}={where.query.removeprefix('token=')}"
    headers = {"Cookie": cookie, "Origin": f"http://{where.netloc}"}
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=200)
    method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
    connection.request(method, path, body=text, headers=headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.mark.normal
def test_a_candidate_is_looked_at_pinned_and_exported(tuned: Path) -> None:
    with served(tuned) as (process, address):
        status, state = asked(address, "/state")
        assert status == 200
        verdict = state["verdict"]
        assert isinstance(verdict, dict)
        best = verdict["id"]
        _, found = asked(address, f"/candidate/{best}")
        assert isinstance(found["forms"], dict)
        assert list(found["forms"]) == ["Schedule", "Exo", "Loop nest", "C", "Assembly"]
        _, pinned = asked(address, "/pin", {"candidate": best})
        assert str(pinned["done"]).startswith("Pinned ")
        assert (tuned / "schedules.lock").exists()
        _, exported = asked(address, "/export", {"candidate": best})
        for path in str(exported["done"]).removeprefix("Written: ").rstrip(".").split(", "):
            assert Path(path).is_file()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=200)
        assert process.returncode == 0
        assert "no longer served" in said
        assert "Traceback" not in said


@pytest.mark.normal
def test_it_ends_in_the_background_of_a_script_too(tuned: Path) -> None:
    """Shells let those ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with served(tuned) as (process, _):
            process.terminate()
            assert process.wait(timeout=200) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.normal
def test_what_cannot_be_served_is_explained(tuned: Path, run: Run) -> None:
    assert "no run 99" in run("ui", "99", "--no-browser").err
    assert "no tuning store at none.sqlite" in run("ui", "--store", "none.sqlite").err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = run("ui", "--no-browser", "--port", str(port))
    assert answer.code == 2
    assert f"port {port} cannot be used" in answer.err
