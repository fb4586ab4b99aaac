"""Ray's actors, and the software that their nodes need."""

from __future__ import annotations

import os
import pickle
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import ray
from ray._private.authentication.authentication_utils import is_token_auth_enabled
from ray.exceptions import RayError, RayTaskError

from schedsearch import __version__
from schedsearch.core.errors import UserError
from schedsearch.core.machine import collect_rarely
from schedsearch.search.workers.core_sharing import AnyTime, MeasuringPlace
from schedsearch.search.workers.jobs import BuildWorker, ExpandWorker, Loaded, WorkSpec
from schedsearch.search.workers.ray_hosts import HOW_TO_START
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.mirror import mirror


@dataclass(frozen=True)
class Abilities:
    """Versions that have to be equal on all nodes: only then does a trace mean the same there."""

    schedsearch: str
    exo: str
    z3: str
    procedure: str
    """Its `ast_key`."""
    tokens: bool
    """Does Ray ask for them there?"""

    @staticmethod
    def of(loaded: Loaded) -> Abilities:
        """Of this process. Raises UserError if the source is not here, or is another."""
        procedure = ast_key(mirror(loaded.replayer.root))
        versions = version("exo-lang"), version("z3-solver")
        return Abilities(__version__, *versions, procedure, is_token_auth_enabled())


class ExpandActor(ExpandWorker):
    def __init__(self, spec: WorkSpec, measuring: MeasuringPlace) -> None:
        measuring.leave()
        collect_rarely()
        os.nice(5)  # builds feed the measuring slot: they go first
        super().__init__(Loaded(spec))
        if not measuring.is_here:
            self.turn = AnyTime()

    def abilities(self) -> Abilities:
        return Abilities.of(self.loaded)


class BuildActor(BuildWorker):
    def __init__(self, spec: WorkSpec, measuring: MeasuringPlace) -> None:
        measuring.leave()
        collect_rarely()
        super().__init__(Loaded(spec))


def check_abilities(reference: Any, place: str, wanted: Abilities) -> None:
    """Compare the abilities of the actor at `place`, which `reference` will hold, with `wanted`.
    Raises UserError naming the node if they differ, or if the actor cannot work there."""
    address = next(n["NodeManagerAddress"] for n in ray.nodes() if n["NodeID"] == place)
    node = f"node {address} of the Ray cluster"
    try:
        found = ray.get(reference)
    except RayTaskError as error:
        raise UserError(f"{node} cannot work on this: {error.cause}") from error
    except RayError as error:
        raise UserError(f"{node} cannot run workers of schedsearch: {error}") from error
    if not found.tokens:
        raise UserError(
            f"{node} does not ask for tokens: whoever reaches it runs code there. {HOW_TO_START}"
        )
    for name, value in asdict(wanted).items():
        if (other := getattr(found, name)) != value:
            raise UserError(f"{node} has another {name}: {other}, here {value}")


def check_sendable(spec: WorkSpec) -> None:
    """A transform takes with it what its functions use: of a notebook, their text and values.
    Raises UserError for one that cannot be sent to workers."""
    for transform in spec.own:
        try:
            ray.cloudpickle.dumps(transform)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            raise UserError(
                f"{transform.name} cannot be sent to workers: {error}. In one process, and slower: "
                'executor="inline"'
            ) from error
