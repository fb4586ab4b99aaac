"""Serves the live page to the browser of the user that started it, and to nobody else.

It listens on the loopback device. Other users of the machine reach that too, and so do pages of
other sites in the same browser. So the first request needs the token of the printed address, all
others the cookie that the answer sets. `Host` has to be this address (a name that was rebound to
127.0.0.1 is another), and what changes files asks for the page's own `Origin`.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlsplit

from schedsearch.api.live import LivePage
from schedsearch.core.errors import UserError
from schedsearch.present.page import live_page

LOOPBACK = "127.0.0.1"

IDLE_S = 30
"""A connection on which nothing is asked for so long is closed; each has one request."""

LONGEST = 1000
"""Bytes of what a browser sends: the id of a candidate."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Refusal(Exception):
    """An answer other than what was asked for."""

    status: HTTPStatus
    message: str


class PageServer(ThreadingHTTPServer):
    """`address` is what the user opens. `serve_forever` and `shutdown` as the standard library has
    them; `port` 0 takes a free one. Raises OSError if the port is taken."""

    daemon_threads = True

    def __init__(self, page: LivePage, port: int = 0) -> None:
        self.page, self.token = page, token_urlsafe(24)
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def origin(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}"

    @property
    def address(self) -> str:
        return f"{self.origin}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Its name: cookies of all ports of a host are sent to each."""
        return f"schedsearch-{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exc_info()[1], OSError):
            traceback.print_exc()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "schedsearch", ""
    timeout = IDLE_S

    def do_GET(self) -> None:
        self._answer(self._got)

    def do_POST(self) -> None:
        self._answer(self._posted)

    def _answer(self, asked: Callable[[], None]) -> None:
        try:
            self._require_own_host()
            asked()
        except Refusal as refusal:
            self._fail(refusal.status, refusal.message)
        except UserError as error:
            self._fail(HTTPStatus.CONFLICT, str(error))
        except OSError:
            raise
        except Exception as error:  # a bug, told in the terminal and on the page, which goes on
            traceback.print_exc()
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, f"an error of schedsearch: {error!r}")

    def _got(self) -> None:
        where = urlsplit(self.path)
        given = {name: values[-1] for name, values in parse_qs(where.query).items()}
        page = self.server.page
        if where.path == "/" and "token" in given:
            self._require(given["token"])
            self._send_page()
            return
        self._require(self._cookie())
        match where.path.split("/"):
            case ["", ""]:
                self._send_page()
            case ["", "state"]:
                run = _number(given["run"]) if "run" in given else None
                self._send_json(page.state(run, given.get("known", "")))
            case ["", "candidate", id_]:
                self._send_json(page.candidate(_number(id_)))
            case _:
                raise Refusal(HTTPStatus.NOT_FOUND, "no such page")

    def _posted(self) -> None:
        self._require(self._cookie())
        if self.headers.get("Origin") != f"http://{self.headers['Host']}":
            raise Refusal(HTTPStatus.FORBIDDEN, "not asked by the page itself")
        changes = {"/pin": self.server.page.pin, "/export": self.server.page.export}
        change = changes.get(self.path)
        if change is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "no such action")
        self._send_json({"done": change(self._candidate())})

    def _candidate(self) -> int:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST:
            raise Refusal(HTTPStatus.BAD_REQUEST, "not the id of a candidate")
        try:
            return int(json.loads(self.rfile.read(int(length)))["candidate"])
        except (ValueError, TypeError, LookupError) as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, "not the id of a candidate") from error

    def _require_own_host(self) -> None:
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            raise Refusal(HTTPStatus.FORBIDDEN, "not the address of this page")

    def _require(self, token: str) -> None:
        if not compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(
                HTTPStatus.FORBIDDEN,
                "open the whole address that `schedsearch ui` printed, with its token",
            )

    def _cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._send_json({"error": message}, status)

    def _send_json(self, data: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        self._send(status, "application/json", text, {})

    def _send_page(self) -> None:
        name, token = self.server.cookie, self.server.token
        kept = {"Set-Cookie": f"{name}={token}; HttpOnly; SameSite=Strict; Path=/"}
        text = live_page(f"schedsearch: {self.server.page.store.name}")
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", text, kept)

    def _send(self, status: HTTPStatus, kind: str, text: str, more: dict[str, str]) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (HEADERS | more).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests come all the time: nothing is printed."""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Refusal(HTTPStatus.NOT_FOUND, "not a number")
    return int(text)
