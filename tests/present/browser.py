"""A headless Chromium for tests of the page, driven by its own protocol over two pipes: what is
typed reaches the page as keys do, and the size of the screen and its colours are a phone's too."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

PATIENCE_S = 60

# Words of the protocol's answers where a page has gone before it could answer.
_REPLACED = ("navigated", "context")

_TRUE = """(() => {
  try { return Boolean(%s) }
  catch (error) { if (error instanceof TypeError) return false; throw error }
})()"""

_KEYS = {"Enter": "\r", " ": " ", "Tab": "\t"}


class PageReplaced(Exception):
    """The page was replaced by another before it had answered."""


class Browser:
    """One tab. `complaints` are what its console said of errors, what its policy refused too."""

    def __init__(self, process: subprocess.Popen[bytes], into: int, out: int) -> None:
        self._process, self._into, self._out = process, into, out
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def open(self, address: str) -> None:
        """It has drawn the page when this returns."""
        self._send("Page.navigate", url=address)
        self.wait("document.querySelector('main section')")

    def reload(self) -> None:
        """The page is drawn anew when this returns: the old one does not answer for it."""
        self.run("window.old = true")
        self._send("Page.reload")
        self.wait("!window.old && document.querySelector('main section')")

    def screen(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._send("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """The value of an expression, once it is there if it is a promise."""
        options = {"returnByValue": True, "awaitPromise": True}
        found = self._send("Runtime.evaluate", expression=script, **options)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = PATIENCE_S) -> None:
        """Until an expression is true, on whatever page is there by then: it may be about what is
        not drawn yet."""
        end = time.monotonic() + seconds
        while not self._true(script):
            assert time.monotonic() < end, (script, self.run("document.body.innerText"))
            time.sleep(0.05)

    def _true(self, script: str) -> bool:
        try:
            return bool(self.run(_TRUE % script))
        except PageReplaced:
            return False

    def press(self, *keys: str) -> None:
        for key in keys:
            text = {"text": _KEYS[key]} if key in ("Enter", " ") else {}
            codes = {"Enter": 13, "Tab": 9, " ": 32, "ArrowDown": 40, "ArrowUp": 38}
            codes |= {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
            known = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
            self._send("Input.dispatchKeyEvent", type="keyDown", **known, **text)
            self._send("Input.dispatchKeyEvent", type="keyUp", **known)
            self.run("new Promise(requestAnimationFrame)")

    def picture(self, path: Path, *, whole: bool = True) -> None:
        found = self._send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def _send(self, method: str, **params: Any) -> Any:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._into, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if any(word in answer.get("error", {}).get("message", "") for word in _REPLACED):
                    raise PageReplaced(answer)
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(said["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning"):
                self.complaints.append(str(said["args"]))
            case "Log.entryAdded" if said["entry"]["level"] == "error":
                self.complaints.append(said["entry"]["text"])

    def _read(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._out, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Skips the test where there is none. `folder` is for its profile."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no browser here")
    read_in, into = os.pipe()
    out, write_out = os.pipe()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    command = [found, *options, f"--user-data-dir={folder / 'profile'}"]
    # The browser reads from descriptor 3 and writes to 4.
    shell = f'exec 3<&{read_in} 4>&{write_out}; exec "$@" 2>/dev/null'
    process = subprocess.Popen(
        ["bash", "-c", shell, "browser", *command], pass_fds=(read_in, write_out)
    )
    os.close(read_in)
    os.close(write_out)
    try:
        yield Browser(process, into, out)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        os.close(into)
        os.close(out)
