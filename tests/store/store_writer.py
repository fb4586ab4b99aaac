"""What the fault tests run in processes of their own."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from store_data import ROOT, children, correct, start

from schedsearch.core.records import TuningRecord
from schedsearch.store import Store

CHILDREN = 50
WAIT_S = 60
"""For the other processes: one that failed must not hold up the rest for ever."""


def write_forever(where: str, acknowledge: Connection) -> None:
    """Grow the tree breadth first; say what was written after each transaction."""
    acknowledge.send("ready")
    store = Store.open(where)
    scope, run = start(store)
    acknowledge.send(("run", run))
    store.add_root(scope, run, TuningRecord(ROOT, None))
    acknowledge.send(("root", ROOT.key))
    while True:
        waiting = [c for c in store.load(scope) if not c.expanded]
        for parent in waiting[:20]:
            kids = children(parent.record.trace, CHILDREN)
            store.add_expansion(scope, run, parent.trace_key, kids, {"expand": 0.5})
            acknowledge.send(("expanded", parent.trace_key))
            store.record(scope, run, correct(kids[0].trace, 2.0))
            acknowledge.send(("measured", kids[0].trace.key))


def open_at_once(where: str, together: Barrier, acknowledge: Connection) -> None:
    together.wait(WAIT_S)
    with Store.open(where) as store:
        scope, run = start(store)
        acknowledge.send((scope, run))


def grow(where: str, name: str, together: Barrier, acknowledge: Connection) -> None:
    """Expand a tree of one's own, and compete for the expansions of a shared one."""
    with Store.open(where) as store:
        own, own_run = start(store, name)
        shared, shared_run = start(store, "shared")
        for scope, run in ((own, own_run), (shared, shared_run)):
            store.add_root(scope, run, TuningRecord(ROOT, None))
        together.wait(WAIT_S)
        won = []
        trace = ROOT
        for _ in range(30):
            kids = children(trace)
            store.add_expansion(own, own_run, trace.key, kids, {"expand": 1.0})
            if store.add_expansion(shared, shared_run, trace.key, kids, {"expand": 1.0}):
                won.append(trace.key)
            trace = kids[0].trace
            store.record(own, own_run, correct(trace, 2.0))
            store.record(shared, shared_run, correct(trace, 2.0))
        acknowledge.send(won)


def die_running(where: str) -> None:
    store = Store.open(where)
    start(store)
    os.kill(os.getpid(), signal.SIGKILL)
