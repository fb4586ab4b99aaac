"""A Ray cluster of two nodes on the loopback device.

The head has no cores for workers, so that whatever Ray may place is on the other node. As a
program (`python ray_cluster.py DIRECTORY`) it prints the address, and ends with its input.
"""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir

START_S = 120.0
ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@dataclass(frozen=True)
class RayCluster:
    """A cluster that runs: where, its token, and the process that started it."""

    address: str
    secret: str
    process: subprocess.Popen[str]


@contextmanager
def started() -> Iterator[RayCluster]:
    secret = secrets.token_hex(32)
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secret}
    with (
        TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,
        TemporaryFile("w+") as said,
    ):
        process = subprocess.Popen(
            [sys.executable, __file__, folder],
            env=os.environ | ON_LOOPBACK | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        assert process.stdout is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], START_S)
            address = process.stdout.readline().strip() if ready else ""
            if not address:
                process.kill()
                said.seek(0)
                found = [said.read()[-2000:], *logs(Path(folder))]
                raise RuntimeError("\n".join(["Ray's head did not start:", *found]))
            yield RayCluster(address, secret, process)
            process.communicate(timeout=200)
        finally:
            process.kill()


def logs(folder: Path) -> Iterator[str]:
    """The ends of what the processes of Ray's head have said."""
    for file in sorted(folder.glob("session_2*/logs/*")):
        if file.is_file() and (text := file.read_text(errors="replace").strip()):
            yield f"{file.name}: {text[-1000:]}"


def serve(folder: Path) -> None:
    from ray.cluster_utils import Cluster

    # Wherever the head's files are, its address is written there, and Ray makes no such folder.
    Path(gettempdir(), "ray").mkdir(exist_ok=True)
    cluster = Cluster()
    for cores in (0, 1):
        cluster.add_node(
            num_cpus=cores,
            node_ip_address="127.0.0.1",
            temp_dir=str(folder) if cores == 0 else None,
            include_dashboard=False if cores == 0 else None,
        )
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
