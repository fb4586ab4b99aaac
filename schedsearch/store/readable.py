"""What can be asked of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC, Outcome, Target, Workload
from schedsearch.core.stats import Estimate
from schedsearch.store import candidates, described, ranking, scopes, tables, totals
from schedsearch.store.joint import joint
from schedsearch.store.schema import CandidateRow
from schedsearch.store.transactions import Transactions
from schedsearch.store.views import Run, Sample, Scope, StoredCandidate, Table, Timed


class Readable(Transactions):
    """The half of `Store` that changes nothing; its contract is there."""

    def walk(self, scope: Scope) -> Iterator[StoredCandidate]:
        """The whole tree, by id: parents come before their children.

        One candidate at a time, so that a million of them need not be in memory; what is
        written meanwhile is not seen.
        """
        with self._read() as connection:
            yield from candidates.walk(connection, scope)

    def load(self, scope: Scope) -> list[StoredCandidate]:
        """All of `walk`."""
        return list(self.walk(scope))

    def counts(self, scope: Scope) -> tuple[int, int]:
        """How many candidates there are, and how many of them have been measured."""
        with self._read() as connection:
            return totals.counts(connection, scope)

    def known(self, scope: Scope, trace_keys: Sequence[str]) -> set[str]:
        """Those of `trace_keys` that are stored, whatever their outcome."""
        with self._read() as connection:
            return candidates.known(connection, scope, trace_keys)

    def find(self, scope: Scope, trace_keys: Sequence[str]) -> list[StoredCandidate]:
        """Those of `trace_keys` that are stored, by id."""
        with self._read() as connection:
            return candidates.find(connection, scope, trace_keys)

    def best(self, scope: Scope, limit: int = 10) -> list[StoredCandidate]:
        """Correct and measured candidates of all trees of the scope's workload and target,
        the fastest first. Of a schedule in several trees, what the last one found out counts.

        Ranked by what all their timings say together (`joint.py`), else by the latest
        measurement; equal ones by id.
        """
        with self._read() as connection:
            return ranking.best(connection, scope, limit)

    def joint(self, scope: Scope) -> dict[str, Estimate]:
        """By trace key: speed-ups by all timings together, of those of this scope that were
        timed more than to screen them."""
        with self._read() as connection:
            found = joint(connection, scope)
            keys = candidates.trace_keys(connection, scope, found.keys())
        return {key: found[id_] for id_, key in keys.items()}

    def candidate(self, candidate_id: int) -> StoredCandidate:
        """Raises UserError if there is none with this id."""
        with self._read() as connection:
            found = candidates.select_candidates(connection, CandidateRow.id == candidate_id)
        if not found:
            raise UserError(
                f"no candidate {candidate_id} in tuning store {self.name}; list them to find its id"
            )
        return found[0]

    def children(self, candidate_id: int) -> list[StoredCandidate]:
        """Children of a candidate by id, the rejected ones too; empty if not expanded."""
        with self._read() as connection:
            return candidates.select_candidates(connection, CandidateRow.parent_id == candidate_id)

    def samples(self, scope: Scope, version: int) -> list[Sample]:
        """Correct and measured candidates of every workload on this scope's target that have
        features of this version, in the order of their first measurements. Of the scope's
        own workload only those of its tree."""
        with self._read() as connection:
            return ranking.samples(connection, scope, version)

    def code(self, code_key: str) -> GeneratedC | None:
        """Generated C, None if not stored."""
        with self._read() as connection:
            return described.code(connection, code_key)

    def scopes(self) -> list[Scope]:
        """Every workload and target that was ever run together: the trees begun last."""
        with self._read() as connection:
            return scopes.scopes(connection)

    def trees(self, scope: Scope) -> list[Scope]:
        """All trees of the scope's workload and target, the one begun last at the end."""
        with self._read() as connection:
            return scopes.trees(connection, scope)

    def afresh(self, scope: Scope) -> Scope:
        """A scope without candidates for the same workload and target: a new tree, which is
        there for others as soon as a run is started in it."""
        trees = self.trees(scope)
        return replace(scope, tree=trees[-1].tree + 1) if trees else scope

    def find_scope(self, workload: Workload, target: Target) -> Scope | None:
        """The scope of a workload on a target, the tree begun last; None if it was never
        registered."""
        with self._read() as connection:
            return scopes.find_scope(connection, workload.key, target.key)

    def runs(self, scope: Scope | None = None) -> list[Run]:
        """Runs of one scope or of all, the oldest first."""
        with self._read() as connection:
            return described.runs(connection, scope)

    def expanded(self, run_id: int) -> int:
        """How many candidates a run found children of."""
        with self._read() as connection:
            return totals.expanded(connection, run_id)

    def timeline(self, scope: Scope) -> list[Timed]:
        """Every measurement of a verified candidate, the oldest first."""
        with self._read() as connection:
            return ranking.timeline(connection, scope)

    def outcomes(self, scope: Scope) -> dict[Outcome | None, int]:
        """Number of candidates per outcome; None: not measured."""
        with self._read() as connection:
            return totals.outcomes(connection, scope)

    def duplicates(self, scope: Scope) -> dict[str, int]:
        """Number of duplicates per level (`ast`, `code`, `binary`)."""
        with self._read() as connection:
            return totals.duplicates(connection, scope)

    def stage_seconds(self, scope: Scope) -> dict[str, float]:
        """Seconds per stage, over all runs."""
        with self._read() as connection:
            return totals.stage_seconds(connection, scope)

    def candidate_table(self, scope: Scope, parent_id: int | None = None) -> Table:
        """Every candidate, or every child of one, without its trace and samples, parents first
        (see `tables.py`)."""
        with self._read() as connection:
            return tables.candidates(connection, scope, parent_id)

    def measurement_table(self, scope: Scope) -> Table:
        """Every timing without its samples, the oldest first."""
        with self._read() as connection:
            return tables.measurements(connection, scope)

    def stage_table(self, scope: Scope) -> Table:
        """Seconds by run and stage."""
        with self._read() as connection:
            return tables.stages(connection, scope)

    def workload(self, scope: Scope) -> Workload:
        with self._read() as connection:
            return described.workload(connection, scope)

    def target(self, scope: Scope, run_id: int | None = None) -> Target:
        """As the last run had it, or that run: compilers' patch levels differ between runs on
        one target, and numbers of cores."""
        with self._read() as connection:
            return described.target(connection, scope, run_id)

    def target_of(self, candidate: StoredCandidate) -> Target:
        """As the run had it whose measurement ranks the candidate, else the one that found it."""
        with self._read() as connection:
            return described.target_of(connection, candidate)

    def source(self, scope: Scope) -> str:
        """Text of the workload's source file: data, never executed from here."""
        with self._read() as connection:
            return described.source(connection, scope)
