"""A Ray to work with: one of our own on this machine, or a cluster that others started.

Both are context managers, and give `Host`; what they start ends with them. Ray's processes
die with the *thread* that started them (PR_SET_PDEATHSIG).

Ray goes on without an error after its own processes died, for ever (2.60): a run has to ask.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import ray
from ray._private import ray_constants
from ray._private.authentication.authentication_token_setup import enable_token_auth_by_default
from ray.exceptions import RayError

from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.process import WITHHELD, kill_marked

_NEEDED = {ray_constants.PROCESS_TYPE_GCS_SERVER, ray_constants.PROCESS_TYPE_RAYLET}
_MARK = "SCHEDSEARCH_RAY"  # in the environment of all that Ray starts
_TRIES, _CONNECT_S = 2, 3.0
_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@dataclass(frozen=True)
class Host:
    """`here` is this machine's node; `places` are the nodes for workers that expand, one
    entry each. `dead` says what Ray cannot do without and is not there any more."""

    here: str
    places: tuple[str, ...]
    dead: Callable[[], list[str]]

    def check(self) -> None:
        """Raises UserError then: Ray would wait for ever, and replace no worker."""
        if dead := self.dead():
            raise UserError(
                f"{' and '.join(dead)}. What was measured is kept, and the same command "
                "continues.\nWithout Ray, in one process and slower: --executor inline"
            )


@contextmanager
def own_ray(workers: int) -> Iterator[Host]:
    """With its sockets and logs in a directory of its own: by default they are in
    `/tmp/ray`, and stay there.

    Whatever is left of it in the end is killed: agents whose raylet died try for a minute to
    tell Ray's head, which is gone too (2.60).
    """
    _own_token()
    mark = secrets.token_hex(8)
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        try:
            with _loopback(), _environment(_MARK, mark):
                ray.init(
                    address="local",
                    _temp_dir=folder,
                    num_cpus=workers,
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                )
            here = ray.get_runtime_context().get_node_id()
            yield Host(here, (here,) * workers, _dead_processes)
        finally:
            ray.shutdown()
            kill_marked(f"{_MARK}={mark}")


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
        yield Host(here, _places(here, free, limit), _silent(_servers(address, here)))
    finally:
        ray.shutdown()


def _dead_processes() -> list[str]:
    """Of those that this process started."""
    dead = {name for name, _ in ray._private.worker._global_node.dead_processes()}
    return [f"Ray's {name} died, perhaps because memory ran out" for name in sorted(dead & _NEEDED)]


def _servers(address: str, here: str) -> dict[str, tuple[str, int]]:
    """Where those listen whom a driver in the cluster needs: its head, and the node here."""
    host, _, port = address.rpartition(":")
    node = next(node for node in ray.nodes() if node["NodeID"] == here)
    return {
        f"the head of the Ray cluster at {address}": (host.strip("[]"), int(port)),
        "this machine's node of the Ray cluster": (
            node["NodeManagerAddress"],
            node["NodeManagerPort"],
        ),
    }


def _silent(servers: Mapping[str, tuple[str, int]]) -> Callable[[], list[str]]:
    def dead() -> list[str]:
        return [f"{name} does not answer" for name, at in servers.items() if not _listens(at)]

    return dead


def _listens(place: tuple[str, int]) -> bool:
    for _ in range(_TRIES):
        try:
            socket.create_connection(place, _CONNECT_S).close()
        except OSError:
            continue
        return True
    return False


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
    """Ray's own message may be a traceback, whose last line names the error."""
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    reason = lines[-1] if any("Traceback" in line for line in lines) else " ".join(lines)
    return (
        f"cannot join the Ray cluster at {address}: {reason}\n"
        "It has to run there, with this Ray and Python and the token that this user has, and a "
        "node of it has to run on "
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
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable for the processes that start meanwhile, but not for our own kernels and
    compilers, which another thread runs. Afterwards the variable stays, empty, because that thread
    may be copying the environment."""
    WITHHELD.add(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ[name] = ""


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


HOW_TO_START = (
    "Make a token and start the cluster with it, on each machine with the same file:\n"
    "  (umask 077; mkdir -p ~/.ray; openssl rand -hex 32 > ~/.ray/auth_token)\n"
    "  RAY_AUTH_MODE=token ray start --head --port 6379      # on the first machine\n"
    "  RAY_AUTH_MODE=token ray start --address HOST:6379     # on the others"
)


def require_token(environment: Mapping[str, str]) -> None:
    """Raises UserError unless there is a token that only this user can read.

    Anybody who has the token runs code on the whole cluster as its user. Ray (2.60) takes it from
    `RAY_AUTH_TOKEN`, else from the file `RAY_AUTH_TOKEN_PATH`, else from `~/.ray/auth_token`.
    """
    if environment.get("RAY_AUTH_MODE", "token").lower() != "token":
        raise UserError(
            f"RAY_AUTH_MODE is {environment['RAY_AUTH_MODE']}: a cluster is joined with a token "
            f"only, because without one whoever reaches it runs code there. {HOW_TO_START}"
        )
    if environment.get("RAY_AUTH_TOKEN"):
        return
    default = Path(environment.get("HOME") or Path.home()) / ".ray" / "auth_token"
    _check_file(Path(environment.get("RAY_AUTH_TOKEN_PATH") or default))


def _check_file(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UserError(
            f"joining a Ray cluster takes a token, and {path} is not there. {HOW_TO_START}"
        ) from error
    except OSError as error:
        raise UserError(f"cannot read the token of Ray, {path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"the token of Ray, {path}, is not a regular file")
        if status.st_uid != os.geteuid():
            raise UserError(f"the token of Ray, {path}, belongs to another user; use your own")
        if others := stat.S_IMODE(status.st_mode) & 0o077:
            raise UserError(
                f"others may have seen the token of Ray: {path} has mode "
                f"{stat.S_IMODE(status.st_mode):04o} ({others:04o} too much). Make a new token, "
                f"or, if nobody else was on the machine: chmod 600 {path}"
            )
        if not os.read(descriptor, 1):
            raise UserError(f"the token of Ray, {path}, is empty. {HOW_TO_START}")
    finally:
        os.close(descriptor)
