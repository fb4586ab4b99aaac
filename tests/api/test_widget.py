"""The page as a widget: the kernel's side, and the frame in a browser."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from present.browser import browser
from store.store_data import ROOT, children, correct, start_tree

from schedsearch.api.live import LivePage
from schedsearch.api.searched import Search, find_run
from schedsearch.api.widget import answer, follow
from schedsearch.present.page import frame_script, framed_page, pack
from schedsearch.store import Store

pytestmark = pytest.mark.normal


def unpacked(data: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(data)))


def test_a_running_search_is_followed_to_its_end(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        live = LivePage(store, tmp_path)
        first = live.state(None, "")
        store.record(scope, run, correct(children(ROOT)[1].trace, 4.0))
        shown: list[str] = []

        def show(data: str) -> None:
            shown.append(data)
            store.finish_run(run, "finished", {})

        follow(live, first["version"], show, threading.Event())
    told = [unpacked(data) for data in shown]
    assert [each["verdict"]["text"][:5] for each in told] == ["4.00x", "4.00x"]
    assert told[0]["progress"]
    assert told[-1]["progress"] is None


def test_what_cannot_be_answered_is_said(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        start_tree(store)
        live = LivePage(store, tmp_path)
        assert answer(live, {"candidate": 1})["details"]["forms"] == {}
        assert "99" in answer(live, {"candidate": 99})["error"]
        assert answer(live, {"candidate": "x"})["error"]


def test_an_exported_notebook_shows_the_verdict_and_the_samples(tmp_path: Path) -> None:
    pytest.importorskip("anywidget", reason="the environment is older than requirements.lock")
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        store.record(scope, run, correct(children(ROOT)[1].trace, 4.0))
        store.finish_run(run, "finished", {})
        made = Search(store, find_run(store, None)).widget()
        shown = made._repr_mimebundle_()[0]
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "4.00x" in shown["text/html"]
    assert "data:image/svg+xml;base64," in shown["text/html"]
    assert unpacked(made.data)["title"].startswith("mm")


HOST = """<!DOCTYPE html><meta charset="utf-8"><main><section id="cell"></section></main>
<script type="module">
%s
const told = %s;
const heard = {};
window.asked = [];
const model = {
  get: (name) => told[name],
  on: (name, use) => (heard[name] = use),
  off: () => {},
  send: ({candidate}) => {
    asked.push(candidate);
    heard["msg:custom"](told.details[candidate]);
  },
};
window.change = () => { told.data = told.later; heard["change:data"](); };
widget.render({ model, el: document.getElementById("cell") });
</script>
"""


@pytest.mark.slow
def test_the_frame_shows_what_it_is_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        live = LivePage(store, tmp_path)
        store.record(scope, run, correct(children(ROOT)[1].trace, 4.0))
        first = pack(live.state(None, ""))
        store.record(scope, run, correct(children(ROOT)[0].trace, 8.0))
        told = {
            "page": framed_page("mm"),
            "data": first,
            "later": pack(live.state(None, "")),
            "details": {n: answer(live, {"candidate": n}) for n in range(1, 5)},
        }
    module = frame_script().replace("export default", "const widget =")
    host = HOST % (module, json.dumps(told).replace("</", "<\\/"))
    (tmp_path / "host.html").write_text(host, encoding="utf-8")
    inside = "document.querySelector('iframe').contentDocument"
    with browser(tmp_path) as tab:
        tab.screen(1400)
        tab.open((tmp_path / "host.html").as_uri())
        tab.wait("document.querySelector('iframe')")  # made by a module, which runs last
        tab.wait(f"{inside}?.querySelector('.claim')?.textContent.startsWith('4.00x')")
        tab.wait(f"{inside}.body.innerText.includes('mm was tuned from kernels/mm.py')")
        assert 3 in tab.run("asked")
        assert tab.run(f"{inside}.querySelector('.going').textContent")
        assert not tab.run(f"{inside}.querySelector('.actions')")  # those write files here
        tab.run("change()")
        tab.wait(f"{inside}.querySelector('.claim').textContent.startsWith('8.00x')")
        assert not tab.complaints
