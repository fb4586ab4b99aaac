"""How a kernel compares with its peers, as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from schedsearch.core.decision import TOLERANCE, Decision
from schedsearch.core.records import PeerComparison
from schedsearch.present import format as fmt

AGAINST = "against others, on arrays as NumPy allocates them"

_VERDICTS = {
    Decision.FASTER: "faster",
    Decision.SLOWER: "slower",
    Decision.SAME: f"the same within {TOLERANCE:.0%}",
    Decision.INCONCLUSIVE: "inconclusive",
}


def against_lines(results: Sequence[PeerComparison]) -> Iterator[str]:
    """`1.04x [1.02, 1.06] as fast as numpy: faster; 1.02 ms, numpy 1.06 ms (20 rounds)`"""
    for each in results:
        if each.ratio is None:
            yield f"{each.peer}: not compared: {each.failure}"
            continue
        times = f"{fmt.duration(each.ours_s)}, {each.peer} {fmt.duration(each.theirs_s)}"
        rounds = fmt.count(each.rounds, "interleaved round")
        yield (
            f"{fmt.speedup(each.ratio)} as fast as {each.peer}: {_VERDICTS[each.decision]}; "
            f"{times} ({rounds})"
        )
        yield f"  {each.ran}"
        if each.configurations:
            tried = (f"{name} {fmt.duration(s)}" for name, s in each.configurations.items())
            yield f"  the fastest of: {', '.join(tried)}"
    without = dict.fromkeys(name for each in results for name in each.without)
    if without:
        yield f"(without {', '.join(without)} of this environment)"


def against_json(results: Sequence[PeerComparison]) -> list[dict[str, Any]]:
    """For programs; a peer that was not compared has a `failure`, and null as `ratio`."""
    return [asdict(each) | {"decision": str(each.decision)} for each in results]
