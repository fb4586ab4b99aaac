"""Kill a search over and over until it is through, and compare with one left in peace."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path

from faults import checks
from faults.driving import Best, Committed, Plan, SayingStore, begin, best_of, drive
from schedsearch.search.strategies.make import STRATEGIES
from schedsearch.store.database import Store

PATIENCE_S = 120.0
"""Without a sign of life for so long, a search hangs."""


@dataclass(frozen=True)
class End:
    """What a search that exhausted its space found, and its best."""

    found: checks.Found
    best: Best


@dataclass(frozen=True)
class Report:
    """`kills` of the searches, and how many transactions were committed before them."""

    plan: Plan
    kills: int
    commits: int


def processes(*more: str) -> ForkServerContext:
    """Processes that start fast: the slow imports, and those of `more` modules, are done once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["alembic.command", "schedsearch.search.engine.driver", *more])
    return context


def plan_of(seed: int) -> Plan:
    return Plan(seed, sorted(STRATEGIES)[seed % len(STRATEGIES)])


def kill_drivers(context: ForkServerContext, folder: Path, seed: int, most: int = 25) -> Report:
    """Kill the driver of one search up to `most` times, each time after a random number of
    transactions, in the middle of whatever it does then. Raises AssertionError if anything
    is lost, or the search ends otherwise than one that was never disturbed."""
    plan, moments = plan_of(seed), random.Random(seed)
    with Store.open(folder / "undisturbed.sqlite") as store:
        peaceful = finish(store, plan)
    path = folder / "killed.sqlite"
    committed: list[Committed] = []
    kills = 0
    done: Best | None = None
    while done is None:
        alive = moments.randint(0, 12) if kills < most else None
        said, done = _live(context, path, plan, alive, moments.uniform(0.0, 0.01))
        committed += said
        kills += done is None
        if path.exists():  # not if it was killed before it made one
            checks.check(path, committed)
    with Store.open(path) as store:
        (scope,) = store.scopes()
        assert End(checks.found(store, scope), done) == peaceful
        checks.screened_once(store, scope)
    return Report(plan, kills, len(committed))


class _Dead(BaseException):
    """The end of a process, in one."""


def die_after(store: Store, plan: Plan, commits: int) -> bool:
    """Let a search end after so many transactions; False if it was through before."""
    left = commits

    def tell(commit: Committed) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Dead

    try:
        begin(SayingStore(store, tell), plan).run()
    except _Dead:
        return True
    return False


def finish(store: Store, plan: Plan, interrupt_at: int | None = None) -> End:
    """Search, or go on with what is stored, to the end or until Ctrl-C at that step."""
    search = begin(store, plan, interrupt_at)
    search.run()
    checks.screened_once(store, search.ledger.scope)
    return End(checks.found(store, search.ledger.scope), best_of(search))


def _live(
    context: ForkServerContext, path: Path, plan: Plan, alive: int | None, grace_s: float
) -> tuple[list[Committed], Best | None]:
    """Let the search go on for `alive` transactions (None: to the end) and `grace_s` more
    seconds, then kill it. What it committed; Best if it was through before."""
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=drive, args=(path, plan, send), daemon=True)
    child.start()
    send.close()
    said: list[Committed] = []
    done: Best | None = None
    try:
        while done is None and (alive is None or len(said) < alive):
            assert receive.poll(PATIENCE_S), f"{plan} hangs"
            match receive.recv():
                case Committed() as commit:
                    said.append(commit)
                case Best() as done:
                    pass
        if done is None:
            time.sleep(grace_s)
            child.kill()
        while True:  # what it said before it died
            match receive.recv():
                case Committed() as commit:
                    said.append(commit)
                case Best() as done:
                    pass
    except EOFError:
        pass
    finally:
        child.kill()
        child.join()
    return said, done


def together(context: ForkServerContext, path: Path, plans: Sequence[Plan]) -> list[Best]:
    """What searches that run at the same time name the best. What each committed must be there."""
    started = []
    for plan in plans:
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=drive, args=(path, plan, send), daemon=True)
        child.start()
        send.close()
        started.append((child, receive))
    said: list[Committed] = []
    ended: list[Best] = []
    for child, receive in started:
        with suppress(EOFError):
            while receive.poll(PATIENCE_S):
                message = receive.recv()
                (ended if isinstance(message, Best) else said).append(message)
        child.join()
        assert child.exitcode == 0
    checks.check(path, said)
    return ended
