"""A Ray to work with: one of our own on this machine, or a cluster that others started.

Both are context managers, and give `Host`; what they start ends with them. Ray's processes
die with the *thread* that started them (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import ray
from ray._private import ray_constants
from ray._private.authentication.authentication_token_setup import enable_token_auth_by_default
from ray.exceptions import RayError

from schedsearch.core.errors import UserError
from schedsearch.search.ray_token import require_token

_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@dataclass(frozen=True)
class Host:
    """`here` is this machine's node; `places` are the nodes for workers that expand, one
    entry each."""

    here: str
    places: tuple[str, ...]


@contextmanager
def own_ray(workers: int) -> Iterator[Host]:
    """With its sockets and logs in a directory of its own: by default they are in
    `/tmp/ray`, and stay there."""
    _own_token()
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        try:
            with _loopback():
                ray.init(
                    address="local",
                    _temp_dir=folder,
                    num_cpus=workers,
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                )
            here = ray.get_runtime_context().get_node_id()
            yield Host(here, (here,) * workers)
        finally:
            ray.shutdown()


def joined_ray(address: str, free: int, limit: int | None) -> AbstractContextManager[Host]:
    """Leaving it does not stop it: only our own workers end. `free` cores of this machine are
    for them.

    Raises UserError without a token, and if it cannot be joined.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise UserError(f"--ray-address {address}: give HOST:PORT, as `ray start --head` says it")
    require_token(os.environ)
    return _joined(address, free, limit)


@contextmanager
def _joined(address: str, free: int, limit: int | None) -> Iterator[Host]:
    enable_token_auth_by_default()
    try:
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (RayError, OSError, RuntimeError, ValueError) as error:
            raise UserError(_not_joined(address, error)) from error
        here = ray.get_runtime_context().get_node_id()
        yield Host(here, _places(here, free, limit))
    finally:
        ray.shutdown()


def _places(here: str, free: int, limit: int | None) -> tuple[str, ...]:
    """One for each core that Ray has, node by node in turn, until there are `limit`."""
    cores = {
        node["NodeID"]: int(node["Resources"].get("CPU", 0))
        for node in ray.nodes()
        if node["Alive"]
    }
    cores[here] = min(cores[here], free)
    turns = range(max(cores.values()))
    places = tuple(node for turn in turns for node, count in cores.items() if turn < count)
    if not places:
        raise UserError("no node of the Ray cluster has a core to work with (`ray status`)")
    return places[:limit]


def _not_joined(address: str, error: Exception) -> str:
    """Ray's own message is a traceback; what was wrong is its last line."""
    reason = str(error.__cause__ or error).strip().splitlines()[-1]
    return (
        f"cannot join the Ray cluster at {address}: {reason}\n"
        "It has to run there, with the token that this user has, and a node of it has to run on "
        f"this machine (`ray start --address {address}`)."
    )


def _own_token() -> None:
    """Give Ray a token of this process alone, unless the user chose otherwise.

    Ray would keep one in a file, which it makes readable for everybody (2.60); whoever has
    the token runs code as this user.
    """
    if not any(name in os.environ for name in _AUTHENTICATION):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def _loopback() -> Iterator[None]:
    """Have Ray started at 127.0.0.1 instead of at an address that others can reach.

    `ray.init` replaces that address if it is asked for it by `_node_ip_address` (2.60);
    where Ray has no clusters, as on macOS, it is the default.
    """
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
