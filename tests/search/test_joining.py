"""Joining a Ray cluster of others: who may, and what runs where."""

from __future__ import annotations

import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import ray
from ray._private.utils import check_version_info

from schedsearch.core.errors import UserError
from schedsearch.search.workers.ray_hosts import joined_ray, require_token

from .ray_cluster import ON_LOOPBACK, started

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
WITHOUT_PATIENCE = {"RAY_gcs_server_port_wait_time_s": "2"}
"""Ray tries a wrong token for 20 s."""


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return path


def at(path: Path) -> dict[str, str]:
    return {"RAY_AUTH_TOKEN_PATH": str(path)}


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_token_of_this_user_alone_will_do(token: Path, mode: int) -> None:
    token.chmod(mode)
    require_token(at(token))
    (token.parent / "link").symlink_to(token)
    require_token(at(token.parent / "link"))
    require_token({"RAY_AUTH_TOKEN": "secret", "RAY_AUTH_MODE": "token"})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_token_that_others_can_read_is_refused(token: Path, mode: int) -> None:
    token.chmod(mode)
    with pytest.raises(UserError, match=f"mode {mode:04o}.*chmod 600 {token}") as refusal:
        require_token(at(token))
    assert token.read_text() not in str(refusal.value)


def test_what_is_no_token_is_refused(tmp_path: Path, token: Path) -> None:
    with pytest.raises(UserError, match=r"auth_token is not there(.|\n)*ray start --head"):
        require_token({"HOME": str(tmp_path)})
    with pytest.raises(UserError, match="not a regular file"):
        require_token(at(tmp_path))
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(UserError, match="not a regular file"):
        require_token(at(tmp_path / "fifo"))
    token.write_text("")
    with pytest.raises(UserError, match="is empty"):
        require_token(at(token))
    with pytest.raises(UserError, match="RAY_AUTH_MODE is disabled"):
        require_token({"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "secret"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(token: Path) -> None:
    os.chown(token, 65534, 65534)
    with pytest.raises(UserError, match="belongs to another user"):
        require_token(at(token))


@pytest.mark.parametrize("address", ["auto", "local", "ray://host:10001", ":6379", "host:x"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(UserError, match="give HOST:PORT"):
        joined_ray(address, 1, None)


def test_a_cluster_of_other_versions_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself compares them; of its text all is said."""
    other = {"ray_version": "2.9.3", "python_version": "3.8.10"}
    monkeypatch.setattr(ray, "init", lambda **_: check_version_info(other, "node 127.0.0.1"))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    here = f"Ray: {ray.__version__} Python: {platform.python_version()}"
    with (
        pytest.raises(UserError, match=f"Version mismatch: .* Ray: 2.9.3 Python: 3.8.10 .* {here}"),
        joined_ray("127.0.0.1:6379", 1, None),
    ):
        pass


@dataclass(frozen=True)
class Joined:
    address: str
    secret: str
    folder: Path

    def run(self, name: str, secret: str) -> subprocess.CompletedProcess[str]:
        """`schedsearch run`, with its store in `folder`."""
        (self.folder / name).mkdir()
        command = (
            "run", str(HERE / "kernels" / "product.py"), "--transforms", "reorder",
            "--budget", "150", "--trials", "2", "--json", "--ray-address", self.address,
        )  # fmt: skip
        hurry = WITHOUT_PATIENCE if secret != self.secret else {}
        environment = os.environ | ON_LOOPBACK | hurry | {"RAY_AUTH_TOKEN": secret}
        return subprocess.run(
            [sys.executable, "-m", "schedsearch.cli.main", *command],
            env=environment,
            cwd=self.folder / name,
            capture_output=True,
            text=True,
            timeout=400,
        )


def test_a_head_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ray's sockets would have longer names than Unix allows.
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with pytest.raises(RuntimeError, match=r"head did not start:(.|\n)*AF_UNIX"), started():
        pass


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Joined]:
    with started() as running:
        yield Joined(running.address, running.secret, tmp_path)


def test_the_search_uses_nodes_of_others_and_leaves_them_running(cluster: Joined) -> None:
    """Expansions had no other place than the second node; the head is there to refuse."""
    done = cluster.run("joined", cluster.secret)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["measured"] == 2
    refused = cluster.run("refused", secrets.token_hex(32))
    assert refused.returncode == 2, refused.stderr
    assert f"cannot join the Ray cluster at {cluster.address}" in refused.stderr
    assert "AuthenticationError" in refused.stderr
