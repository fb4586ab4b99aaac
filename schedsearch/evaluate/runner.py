"""Runs the harness in a child that can always be killed, and reads what it reports."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from schedsearch.core.records import Failure, Outcome
from schedsearch.evaluate.process import kill_group

_MAX_OUTPUT = 1 << 20
# While grandchildren hold the socket open its end is not seen; the leader's is, by polling.
_POLL_S = 0.05

Handler = Callable[[list[str]], str | None]
"""Takes the words of one report; returns `g` or `s` (go, stop) where the harness asks."""


@dataclass(frozen=True)
class Limits:
    """What the child may use. `address_bytes`: virtual memory; `file_bytes`: largest file."""

    wall_s: float
    address_bytes: int
    file_bytes: int


class _ProtocolError(Exception):
    """The child sent something that is not a report."""


def run_harness(
    executable: Path, job: Callable[[str], str], limits: Limits, handle: Handler
) -> Failure | None:
    """Run one job; None if the harness reported `end` and every report was well formed.

    `job` gets the nonce that every report must start with, and returns the text
    for the harness's stdin. Failures are CRASH (signals, early exits, garbage on
    the channel) and TIMEOUT. Whatever the child started is killed, as far as it
    stayed in the child's process group.
    """
    nonce = secrets.token_hex(8)
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as errors:
        text.write(job(nonce).encode())
        text.seek(0)
        with theirs:
            child = subprocess.Popen(
                [executable, str(theirs.fileno())],
                stdin=text,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )
        try:
            ended = _Channel(ours, nonce, handle).serve(child, limits.wall_s)
        except _ProtocolError as error:
            return Failure(Outcome.CRASH, str(error))
        except subprocess.TimeoutExpired:
            return Failure(Outcome.TIMEOUT, f"still running after {limits.wall_s:.3g} s")
        finally:
            kill_group(child)
        if ended and child.returncode == 0:
            return None
        return _death(child.returncode, _tail(errors))


class _Channel:
    def __init__(self, sock: socket.socket, nonce: str, handle: Handler) -> None:
        self.sock = sock
        self.nonce = nonce
        self.handle = handle
        self.pending = b""
        self.received = 0
        self.ended = False

    def serve(self, child: subprocess.Popen[bytes], wall_s: float) -> bool:
        """Handle reports until the child is gone; whether `end` was the last of them."""
        deadline = time.monotonic() + wall_s
        alive = True
        while alive:
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired("harness", wall_s)
            alive = child.poll() is None
            if not self._drain(min(left, _POLL_S) if alive else 0):
                child.wait(max(deadline - time.monotonic(), 0))
                alive = False
        if self.pending:
            raise _ProtocolError(f"the kernel's process sent half a report: {self.pending[:80]!r}")
        return self.ended

    def _drain(self, wait_s: float) -> bool:
        """Handle what has arrived; False at the end of the stream."""
        while select.select([self.sock], [], [], wait_s)[0]:
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:  # it died with our answer unread
                return False
            if not data:
                return False
            self.received += len(data)
            if self.received > _MAX_OUTPUT:
                raise _ProtocolError("the kernel's process flooded its result channel")
            *lines, self.pending = (self.pending + data).split(b"\n")
            for line in lines:
                self._report(line)
            wait_s = 0
        return True

    def _report(self, line: bytes) -> None:
        words = line.decode("ascii", "replace").split()
        if len(words) < 2 or words[0] != self.nonce or self.ended:
            raise _ProtocolError(f"the kernel's process sent garbage: {line[:80]!r}")
        if words[1] == "end":
            self.ended = True
            return
        try:
            answer = self.handle(words[1:])
        except (ValueError, IndexError) as error:
            raise _ProtocolError(f"malformed report {line[:80]!r}: {error}") from error
        if answer is not None:
            with contextlib.suppress(BrokenPipeError):  # its end is dealt with where it is read
                self.sock.sendall(answer.encode())


def _death(code: int, stderr: str) -> Failure:
    detail = f": {stderr}" if stderr else ""
    if code >= 0:
        return Failure(Outcome.CRASH, f"the kernel's process exited early (code {code}){detail}")
    name = signal.Signals(-code).name
    if -code in (signal.SIGALRM, signal.SIGXCPU):
        return Failure(Outcome.TIMEOUT, f"time limit exceeded ({name})")
    return Failure(Outcome.CRASH, f"{name}{detail}")


def _tail(file: BinaryIO, count: int = 500) -> str:
    """The end of what the child wrote to stderr (glibc's abort messages, mostly)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - count, 0))
    return file.read().decode("utf-8", "replace").strip()
