"""The live page's server: the requests that it answers, and its answers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from store.store_data import CODE, ROOT, children, correct, start

from schedsearch.api.live import LivePage
from schedsearch.api.serving import PageServer
from schedsearch.core.records import Keys
from schedsearch.store import Store
from schedsearch.store.views import Scope

pytestmark = pytest.mark.normal


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Any
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Client:
    server: PageServer
    store: Store
    scope: Scope
    run: int

    def ask(self, path: str, body: Any = None, method: str = "", **headers: str) -> Answer:
        """As the page asks; a header given as "" is left out."""
        own = {
            "Cookie": f"{self.server.cookie}={self.server.token}",
            "Origin": self.server.origin,
            "Host": f"127.0.0.1:{self.server.server_port}",
        } | headers
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=200)
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        given = {name: value for name, value in own.items() if value}
        method = method or ("GET" if text is None else "POST")
        connection.request(method, path, body=text, headers=given)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.headers, answer.read().decode())
        connection.close()
        return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start(store)
        store.add_code([CODE])
        store.add_root(scope, run, correct(ROOT, 1.0))
        store.add_expansion(scope, run, ROOT.key, children(ROOT), {"rewrite": 0.5})
        with PageServer(LivePage(store, tmp_path)) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            yield Client(server, store, scope, run)
            server.shutdown()


def test_it_listens_on_the_loopback_device_alone(client: Client) -> None:
    assert client.server.server_address[0] == "127.0.0.1"
    assert client.server.address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("path", ["/", "/state", "/candidate/1", "/nowhere"])
def test_who_has_no_token_is_refused(client: Client, path: str) -> None:
    for cookie in ("", f"{client.server.cookie}=guess", "other=1", "\x01="):
        answer = client.ask(path, Cookie=cookie)
        assert answer.status == 403
        assert "candidate" not in answer.text
    assert client.ask("/?token=guess").status == 403
    assert client.ask("/?token=guess", Cookie="").status == 403


@pytest.mark.parametrize("path", ["/pin", "/export"])
def test_who_has_no_token_changes_nothing(client: Client, tmp_path: Path, path: str) -> None:
    before = {*tmp_path.iterdir()}
    assert client.ask(path, {"candidate": 1}, Cookie="").status == 403
    assert client.ask(path, {"candidate": 1}, Origin="").status == 403
    assert client.ask(path, {"candidate": 1}, Origin="http://127.0.0.1:1").status == 403
    assert client.ask(path, {"candidate": 1}, Origin="null").status == 403
    assert {*tmp_path.iterdir()} == before


def test_the_token_of_the_address_becomes_a_cookie(client: Client) -> None:
    answer = client.ask(f"/?token={client.server.token}", Cookie="")
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.ask("/state", Cookie=cookie.split(";")[0]).status == 200
    assert client.server.token not in answer.text


def test_a_name_that_was_rebound_is_refused(client: Client) -> None:
    for host in ("evil.example", f"evil.example:{client.server.server_port}", "127.0.0.1"):
        assert client.ask("/state", Host=host).status == 403
        assert client.ask(f"/?token={client.server.token}", Host=host).status == 403
    assert client.ask("/state", Host=f"localhost:{client.server.server_port}").status == 200


def test_browsers_are_told_to_keep_it_apart(client: Client) -> None:
    answer = client.ask("/")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "connect-src 'self'" in unescape(answer.text)
    assert "default-src 'none'" in unescape(answer.text)


def test_what_is_written_meanwhile_is_in_the_next_answer(client: Client) -> None:
    first = client.ask("/state").data
    assert first["candidates"]["speedup"] == [1.0, None, None, None]
    same = client.ask(f"/state?known={first['version']}").data
    assert set(same) == {"version", "progress"}
    assert same["progress"]["phase"]
    client.store.record(client.scope, client.run, correct(children(ROOT)[1].trace, 4.0))
    second = client.ask(f"/state?known={first['version']}").data
    assert second["candidates"]["speedup"] == [1.0, None, 4.0, None]
    assert second["version"] != first["version"]
    client.store.finish_run(client.run, "finished", {})
    third = client.ask(f"/state?known={second['version']}").data
    assert third["progress"] is None
    assert "finished" in third["runs"][0]["name"]


def test_a_run_is_chosen_by_its_number(client: Client) -> None:
    _, other = start(client.store, "other")
    client.store.add_root(client.store.scopes()[1], other, correct(ROOT, 1.0))
    assert client.ask("/state").data["procedure"] == "other"
    chosen = client.ask(f"/state?run={client.run}").data
    assert chosen["procedure"] == "mm"
    assert [each["id"] for each in chosen["runs"]] == [other, client.run]
    assert client.ask("/state?run=99").status == 409


def test_a_candidate_has_its_code_and_samples(client: Client) -> None:
    known = correct(children(ROOT)[0].trace, 2.0)
    client.store.record(client.scope, client.run, replace(known, keys=Keys(code=CODE.key)))
    id_ = client.store.best(client.scope, 1)[0].id
    found = client.ask(f"/candidate/{id_}").data
    assert CODE.source in found["forms"]["C"]
    assert found["samples"]["ratios"]
    assert "mm was tuned from kernels/mm.py" in found["said"]  # which is not there


@pytest.mark.parametrize(
    "path", ["/candidate/x", "/candidate/1/2", "/candidate/" + "9" * 30, "/%2e%2e/s.sqlite"]
)
def test_there_is_nothing_else(client: Client, path: str) -> None:
    assert client.ask(path).status == 404


def test_a_candidate_that_is_not_there_is_said_to_be(client: Client) -> None:
    answer = client.ask("/candidate/99")
    assert answer.status == 409
    assert "99" in answer.data["error"]


@pytest.mark.parametrize("body", ["", "x", "[]", "{}", '{"candidate": null}', "1" * 5000])
def test_a_body_that_is_no_candidate_is_refused(client: Client, body: str) -> None:
    assert client.ask("/pin", body).status == 400


def test_other_methods_and_actions_do_not_exist(client: Client) -> None:
    assert client.ask("/delete", {"candidate": 1}).status == 404
    assert client.ask("/", method="PUT").status == 501
    assert client.ask("/pin", {"candidate": 1}).status == 409  # as written: nothing to pin
