"""Replay an untrusted schedule in a process of its own, which can be killed.

A trace is data, but may ask for endless work: Exo's operators take the longer the more
statements there are, its bare `except:` clauses swallow what a timer raises, and z3 hears no
signals. So a forked child replays: it has the procedure already, which cannot be sent to
another process, and what is wanted back, keys and C, is text.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.process import KILLED
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.replay import Replayer

REPLAY_S = 120.0
"""The longest known take 3 s on an idle machine, C included."""
REPLAY_BYTES = 4 << 30
"""On top of what this process has mapped. 100,000 statements are 200 MB."""
_ORPHANED_S = 10
"""CPU time on top of the limit, after which a child ends even if its parent was killed."""
_BEGINNING = "at its beginning"


class NoReplayError(Exception):
    """A trace gives no kernel, or not within the limits; the message says at which step."""


@dataclass(frozen=True)
class ReplayedKernel:
    """The kernel that a trace gives, its `ast_key`, and its C."""

    kernel: q.Proc
    ast_key: str
    code: GeneratedC


def replay_isolated(
    procedure: Any,
    trace: Trace,
    seconds: float = REPLAY_S,
    fp: FloatingPoint = FloatingPoint.FAST,
) -> ReplayedKernel:
    """Raises NoReplayError if the trace does not apply, breaks the floating-point contract `fp`,
    has no C, or needs more than so long or more memory than `REPLAY_BYTES`; UserError if somebody
    kills the process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    replayer = Replayer(procedure, fp=fp)
    child = context.Process(target=_replay, args=(replayer, trace, seconds, sender), daemon=True)
    child.start()
    sender.close()
    until, doing = time.monotonic() + seconds, _BEGINNING
    try:
        while receiver.poll(max(0.0, until - time.monotonic())):
            found = receiver.recv()
            if isinstance(found, ReplayedKernel):
                return found
            if isinstance(found, NoReplayError):
                raise found
            doing = found
        raise NoReplayError(f"replaying the schedule takes longer than {seconds:g} s, {doing}")
    except EOFError:
        child.join()
        code = child.exitcode or 0
        if code > 0:  # its traceback is on standard error
            raise RuntimeError(f"replaying the schedule failed, {doing}") from None
        if -code == signal.SIGKILL:
            raise UserError(f"the process that replays it was {KILLED}, {doing}") from None
        message = f"replaying the schedule was ended by signal {-code}, {doing}"
        raise NoReplayError(message) from None
    finally:
        child.kill()
        child.join()
        receiver.close()


def _replay(replayer: Replayer, trace: Trace, seconds: float, sender: Connection) -> None:
    """In the child: send the step at hand, and the result last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers, and ends this process
    _limit(math.ceil(seconds) + _ORPHANED_S)
    doing = _BEGINNING
    try:
        for number, rewrite in enumerate(trace.steps, 1):
            sender.send(doing := f"at step {number} ({rewrite})")
            replayer.state(Trace(trace.steps[:number]))
        sender.send(doing := "at its C")
        state = replayer.state(trace)
        code = generate_c(state.procedure, state.build)
        found = ReplayedKernel(state.ast, ast_key(state.ast, state.build), code)
    except ReplayError as error:
        sender.send(NoReplayError(f"the schedule does not apply: {error}"))
    except CodegenError as error:
        sender.send(NoReplayError(f"Exo generates no C for it: {error}"))
    except (MemoryError, RecursionError) as error:
        what = f"the schedule asks for too much: {type(error).__name__}, {doing}"
        sender.send(NoReplayError(what))
    else:
        sender.send(found)


def _limit(cpu_s: int) -> None:
    """Limit this process; stricter limits stay."""
    limits = {resource.RLIMIT_CPU: cpu_s}
    with suppress(OSError):  # without /proc there is no telling what is mapped
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + REPLAY_BYTES
    for kind, most in limits.items():
        soft, hard = resource.getrlimit(kind)
        known = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min([most, *known]), hard))
