"""Tuning on first use: a search in a process of its own, on arrays of its own.

The child never loads the caller's file, which may do anything when it is loaded: it gets the
procedure as Exo prints it. Of processes that want the same at the same time one searches, and the
others wait for what it finds.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.numbers import duration
from schedsearch.core.records import RunStatus
from schedsearch.deploy.choose import Offer, Request, Source, misfit
from schedsearch.deploy.no_forks import no_forks
from schedsearch.deploy.sources import STORE, TUNE, offers_of_store
from schedsearch.evaluate.build.process import child_environment, kill_group, kill_marked
from schedsearch.search.setup.subject import cache_dir
from schedsearch.search.workers.lease import locked

_MOST_S = 1_000_000.0
"""Python waits for a child for at most 2^31 ms."""
_GRACE_S = 120.0
"""Over the budget: to start on a busy machine, and to end."""
_MARK = "SCHEDSEARCH_FIRST_USE"  # in the environment of the search, and of what it starts
_ENDING_S = 10.0
"""After Ctrl-C, to write down what was found."""


def tune_seconds() -> float | None:
    """What `SCHEDSEARCH_TUNE` says; None if it is not set. Raises UserError for nonsense."""
    text = os.environ.get(TUNE)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_S:
        raise UserError(
            f"{TUNE}={text}: give the seconds that a kernel may be tuned when it is first called, "
            f"at most {_MOST_S:.0f}, such as {TUNE}=60, or unset it"
        )
    return seconds


def tuned(request: Request, write: Callable[[], Path], store: Path | str, seconds: float) -> Source:
    """What a search of `seconds` for these sizes finds, kept in `store`; `write` makes a file of
    the procedure. Nothing is searched if something that fits has come there since, or such a search
    has ended. One that fails is no error: the source says why it has nothing. Ctrl-C is passed on,
    and keeps what was found."""
    name = f"{TUNE}={seconds:g}"
    sizes = sorted(request.sizes.items())
    mark = digest_of([request.proc_key, sizes, os.path.abspath(store)])
    place = cache_dir() / f"tuning-{mark}.lock"
    what = f"{request.proc}({', '.join(f'{size}={value}' for size, value in sizes)})"
    with locked(place, waiting=lambda holder: _say(f"{holder} tunes {what}; waiting for it")):
        try:
            found = _fitting(store, request)
            if not found and not _searched(store, request, seconds):
                _say(f"tuning {what} for {duration(seconds)}")
                _search(write(), request, store, seconds)
                found = _fitting(store, request)
        except (UserError, OSError) as error:
            return Source(name, problem=f"not tuned: {error}")
        finally:
            place.unlink(missing_ok=True)  # whoever waits for it makes a new one
    return Source(
        name, found, "" if found else "the search found nothing faster that can be loaded"
    )


def _fitting(store: Path | str, request: Request) -> tuple[Offer, ...]:
    """None if the store is not there yet; the search says what else is wrong with it."""
    try:
        with no_forks():
            found = tuple(offers_of_store(store, request.proc))
    except UserError:
        return ()
    return tuple(offer for offer in found if not misfit(request, offer))


def _searched(store: Path | str, request: Request, seconds: float) -> bool:
    """Whether a search for these sizes, at least as long, has come to its end."""
    from schedsearch.store.database import Store

    try:
        with no_forks(), Store.open(store, create=False) as opened:
            for scope in opened.scopes():
                workload = opened.workload(scope)
                same = workload.proc_key == request.proc_key and workload.proc == request.proc
                if same and dict(workload.sizes) == dict(request.sizes):
                    for run in opened.runs(scope):
                        ended = run.status is RunStatus.FINISHED
                        if ended and run.settings.get("budget_s", 0.0) >= seconds:
                            return True
    except UserError:
        return False  # as for `_fitting`
    return False


def _search(file: Path, request: Request, store: Path | str, seconds: float) -> None:
    """Raises UserError if the child does not come to its end, OSError if it cannot be started."""
    with tempfile.TemporaryDirectory(prefix="schedsearch-") as out:
        pairs = [f"{size}={value}" for size, value in request.sizes.items()]
        sizes = [part for pair in pairs for part in ("--size", pair)]
        argv: Sequence[str] = [
            *(sys.executable, "-m", "schedsearch", "run", str(file), request.proc, *sizes),
            *("--budget", f"{seconds:f}", "--store", str(store), "--executor", "inline"),
            *("--out", out),
        ]
        own = secrets.token_hex(8)
        path = os.pathsep.join(filter(None, sys.path))
        environment = child_environment({"PYTHONPATH": path, _MARK: own})
        for variable in (TUNE, STORE):
            environment.pop(variable, None)
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=environment,
            start_new_session=True,  # Ctrl-C is passed on once
        )
        try:
            _, said = child.communicate(timeout=seconds + _GRACE_S)
        except subprocess.TimeoutExpired as error:
            raise UserError(f"the search did not end within {seconds + _GRACE_S:g} s") from error
        except BaseException:
            child.send_signal(signal.SIGINT)
            try:
                child.communicate(timeout=_ENDING_S)
            except subprocess.TimeoutExpired:
                pass
            raise
        finally:
            kill_group(child)
            if child.returncode:  # its compilers have sessions of their own
                kill_marked(f"{_MARK}={own}")
    if child.returncode:
        last = said.strip().splitlines()[-1:] or [f"the search ended with {child.returncode}"]
        raise UserError(last[0])


def _say(text: str) -> None:
    """To people; logs of programs stay as they are."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"schedsearch: {text}", file=sys.stderr)
