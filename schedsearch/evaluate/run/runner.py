"""Runs the harness in a child that can always be killed, and reads its reports."""

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import BinaryIO

from schedsearch.core.records import Failure, Outcome
from schedsearch.evaluate.build.disk import disk_explained, require_files
from schedsearch.evaluate.build.process import (
    KILLED,
    child_environment,
    count_threads,
    has_ended,
    kill_group,
    kill_marked,
)
from schedsearch.evaluate.run.sandbox import parse_sandbox

_MAX_OUTPUT = 1 << 20
# While grandchildren hold the socket open its end is not seen; the leader's is, by polling.
_POLL_S = 0.05
_LAST_POLL_S = 0.001  # once the socket is closed

_MARK = "SCHEDSEARCH_CHILD"  # in the environment of a child and of its children

Handler = Callable[[list[str]], str | None]
"""Takes the words of one report; returns `g` or `s` (go, stop) where the harness asks."""


@dataclass(frozen=True)
class Limits:
    """Limits of the child. `silence_s`: longest time between two reports; `address_bytes`: virtual
    memory; `file_bytes`: largest file.
    """

    wall_s: float
    silence_s: float
    address_bytes: int
    file_bytes: int
    threads: int


def was_killed(failure: Failure) -> bool:
    """Whether the child, or a compiler, was ended from outside, which says nothing of the
    kernel."""
    return failure.message.startswith(KILLED)


class _EndedError(Exception):
    """The child must be ended: CRASH if it sent something that is not a report, TIMEOUT if it takes
    too long, REFUSED if it started more threads than it may."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(outcome, message)


@disk_explained()
def run_harness(
    executable: Path,
    job: Callable[[str], str],
    limits: Limits,
    handle: Handler,
    output: BinaryIO | None = None,
    words: int = 500,
    files: Sequence[str | Path] = (),
    given_up: Event | None = None,
) -> Failure | None:
    """Run one job; None if the harness reported `end` and every report was well formed.

    `job` gets the nonce that every report must start with, and returns the text for the harness's
    stdin. The records of a job are appended to `output`. Messages have at most the last `words`
    characters of the child's stderr. The child is ended soon after another thread has `given_up`.
    Failures are REFUSED (by the sandbox), CRASH (signals, early
    exits, garbage on the channel) and TIMEOUT. All processes that the child started are killed.
    Raises DiskError if there is no room for temporary files, or if one of the `files` that the
    child reads is gone.
    """
    with disk_explained(tempfile.gettempdir()):
        failure = _run(executable, job, limits, handle, output, words, given_up or Event())
    if failure is not None:
        require_files(files)
    return failure


def _run(
    executable: Path,
    job: Callable[[str], str],
    limits: Limits,
    handle: Handler,
    output: BinaryIO | None,
    words: int,
    given_up: Event,
) -> Failure | None:
    nonce, mark = secrets.token_hex(8), secrets.token_hex(8)
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as errors:
        text.write(job(nonce).encode())
        text.seek(0)
        with theirs:
            given = [theirs.fileno(), *([output.fileno()] if output else [])]
            child = subprocess.Popen(
                [executable, *map(str, given)],
                stdin=text,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=given,
                start_new_session=True,
                env=child_environment({_MARK: mark}),
            )
        channel = _Channel(ours, nonce, handle, given_up)
        try:
            channel.serve(child, limits)
        except _EndedError as error:
            return error.failure
        finally:
            kill_group(child)
            if not channel.confined:
                kill_marked(f"{_MARK}={mark}")
        if channel.refused:
            return Failure(
                Outcome.REFUSED, f"the kernel called {channel.refused}; the sandbox refused it"
            )
        if channel.ended and child.returncode == 0:
            return None
        return _death(child.returncode, _tail(errors, words))


class _Channel:
    def __init__(self, sock: socket.socket, nonce: str, handle: Handler, given_up: Event) -> None:
        self.sock = sock
        self.given_up = given_up
        self.nonce = nonce
        self.handle = handle
        self.pending = b""
        self.received = 0
        self.ended = False  # `end` was the last report
        self.refused = ""  # calls that the sandbox refused
        self.confined = True  # to its group, unless the child says otherwise
        self.heard_at = time.monotonic()

    def serve(self, child: subprocess.Popen[bytes], limits: Limits) -> None:
        """Handle reports until the child is gone."""
        deadline = self.heard_at + limits.wall_s
        alive = listening = True
        while alive:
            alive = not has_ended(child)
            if listening:
                listening = self._drain(_POLL_S if alive else 0)
            else:
                time.sleep(_LAST_POLL_S)
            if alive:  # after what it reported, so that errors say what it was doing
                self._check(child, limits, deadline)
        if self.pending:
            raise _EndedError(
                Outcome.CRASH, f"the kernel's process sent half a report: {self.pending[:80]!r}"
            )

    def _check(self, child: subprocess.Popen[bytes], limits: Limits, deadline: float) -> None:
        now = time.monotonic()
        if self.given_up.is_set():
            raise _EndedError(Outcome.TIMEOUT, "given up")
        if now >= deadline:
            raise _EndedError(Outcome.TIMEOUT, f"still running after {limits.wall_s:.3g} s")
        if now >= self.heard_at + limits.silence_s:
            raise _EndedError(Outcome.TIMEOUT, f"no sign of life for {limits.silence_s:.3g} s")
        if (threads := count_threads(child)) > limits.threads:
            message = f"the kernel started {threads} threads, and may have {limits.threads}"
            raise _EndedError(Outcome.REFUSED, message)

    def _drain(self, wait_s: float) -> bool:
        """Handle the data that have arrived; False at the end of the stream."""
        while select.select([self.sock], [], [], wait_s)[0]:
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:  # it died with our answer unread
                return False
            if not data:
                return False
            self.received += len(data)
            if self.received > _MAX_OUTPUT:
                raise _EndedError(Outcome.CRASH, "the kernel's process flooded its result channel")
            *lines, self.pending = (self.pending + data).split(b"\n")
            for line in lines:
                self._report(line)
            wait_s = 0
        return True

    def _report(self, line: bytes) -> None:
        words = line.decode("ascii", "replace").split()
        if len(words) < 2 or words[0] != self.nonce or self.ended:
            raise _EndedError(Outcome.CRASH, f"the kernel's process sent garbage: {line[:80]!r}")
        self.heard_at = time.monotonic()
        if words[1] == "end":
            self.ended = True
            return
        if words[1] == "refused":
            self.refused = f"{' '.join(words[2:3])}({' '.join(words[3:])})"
            return
        try:
            if words[1] == "sandbox":
                self.confined = parse_sandbox(words[2:]).filtered
            answer = self.handle(words[1:])
        except (ValueError, IndexError) as error:
            raise _EndedError(Outcome.CRASH, f"malformed report {line[:80]!r}: {error}") from error
        if answer is not None:
            with contextlib.suppress(BrokenPipeError):  # its end is dealt with where it is read
                self.sock.sendall(answer.encode())


def _death(code: int, stderr: str) -> Failure:
    detail = f": {stderr}" if stderr else ""
    if code >= 0:
        return Failure(Outcome.CRASH, f"the kernel's process exited early (code {code}){detail}")
    if -code == signal.SIGSYS:  # so the report of it was blocked too
        message = "the sandbox refused a system call of the kernel, made with signals blocked"
        return Failure(Outcome.REFUSED, f"{message} (as when a program is started)")
    if -code == signal.SIGKILL:
        return Failure(Outcome.CRASH, f"{KILLED}{detail}")
    known = -code in set(signal.Signals)
    name = signal.Signals(-code).name if known else f"signal {-code}"
    if -code in (signal.SIGALRM, signal.SIGXCPU):
        return Failure(Outcome.TIMEOUT, f"time limit exceeded ({name})")
    return Failure(Outcome.CRASH, f"{name}{detail}")


def _tail(file: BinaryIO, count: int) -> str:
    """The end of the child's stderr (glibc's abort messages, mostly)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - count, 0))
    return file.read().decode("utf-8", "replace").strip()
