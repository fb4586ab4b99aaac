"""A peer at its best: of the ways in which it can compute, the fastest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from schedsearch.peers.configurations import USUAL, Configuration, shown
from schedsearch.peers.contender import Contender, Terms, What
from schedsearch.peers.rounds import Plan, seconds, time_interleaved

# Enough to tell apart what differs by more than some per cent.
_TRIAL = Plan(rounds=5, seconds=5.0)


@dataclass(frozen=True)
class Peer:
    """Code, words on `how` it computes, and the configurations that are tried."""

    name: str
    what: What
    how: str = ""
    configurations: tuple[Configuration, ...] = (USUAL,)


@dataclass(frozen=True)
class Entered:
    """The peer, prepared in its fastest configuration; exactly what `ran`, and the seconds per
    call of all configurations that were `tried`."""

    contender: Contender
    ran: str
    tried: Mapping[str, float]


def enter(peer: Peer, terms: Terms) -> Entered:
    """Configurations that turn out to be one and the same are tried once. Raises PeerError."""
    ways: dict[str, Contender] = {}
    with ExitStack() as stack:
        seen: set[tuple[str, ...]] = set()
        for variables in peer.configurations:
            contender = stack.enter_context(Contender(peer.what, terms, variables))
            own = tuple(sorted(contender.libraries))
            if own in seen:
                contender.close()
            else:
                ways[shown(variables) or "as it chooses"] = contender
            seen.add(own)
        tried: dict[str, float] = {}
        if len(ways) > 1:
            timed = time_interleaved(ways, _TRIAL, threads=len(terms.cores))
            tried = {n: seconds(each) for n, each in timed.items()}
        best = ways[min(tried, key=tried.__getitem__, default=next(iter(ways)))]
        stack.pop_all()
    for other in ways.values():
        if other is not best:
            other.close()
    return Entered(best, _ran(peer, best), tried)


def _ran(peer: Peer, contender: Contender) -> str:
    """`derived; numpy 2.4.6; openblas 0.3.31, SkylakeX`"""
    if peer.what.kind == "native":
        return peer.how
    versions = {name: f"{name} {version}" for name, version in contender.versions.items()}
    own = versions.get(peer.what.library)
    return "; ".join(
        filter(None, [peer.how, *([own] if own else versions.values()), *contender.libraries])
    )
