"""The page in a notebook, as a widget (anywidget)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.api.live import LivePage
from schedsearch.core.errors import UserError
from schedsearch.present import format as fmt
from schedsearch.present import html
from schedsearch.present.extras import anywidget
from schedsearch.present.page import frame_script, framed_page, pack

if TYPE_CHECKING:
    from schedsearch.api.searched import Search

EVERY_S = 1.0


def page_widget(about: Search) -> Any:
    """A widget that shows the search of `about`, and follows it in a thread until it ends, or the
    widget is closed. Raises UserError if there is nothing to show, or no anywidget."""
    live = LivePage(about.store, Path.cwd(), str(about.run.id), about.file)
    first = live.state(None, "")
    made = _kind()(page=framed_page(first["title"]), data=pack(first))
    made.still = str(html.block(_still(about)))
    made.on_msg(lambda _widget, asked, _buffers: made.send(answer(live, asked)))
    if first["progress"]:
        ended = threading.Event()
        made.observe(lambda _change: ended.set(), "comm")  # it is closed

        def show(data: str) -> None:
            made.data = data

        following = (live, first["version"], show, ended)
        threading.Thread(target=follow, args=following, daemon=True).start()
    return made


def answer(live: LivePage, asked: Any) -> dict[str, Any]:
    """To the page's question for a candidate."""
    try:
        id_ = int(asked["candidate"])
        return {"candidate": id_, "details": live.candidate(id_)}
    except (UserError, LookupError, TypeError, ValueError) as error:
        return {"candidate": asked.get("candidate"), "error": str(error)}


def follow(
    live: LivePage, version: str, show: Callable[[str], None], ended: threading.Event
) -> None:
    """Shows what has changed since `version`, as long as the search runs."""
    going = True
    while going and not ended.wait(EVERY_S):
        state = live.state(None, version)
        if state["version"] != version:
            version = state["version"]
            show(pack(state))
        going = state["progress"] is not None


def _still(about: Search) -> Iterator[object]:
    """Where nothing runs, such as in a notebook that was exported."""
    best = about.best
    measurement = best.record.measurement if best else None
    if best is None or measurement is None:
        yield fmt.nothing_faster(about.name)
        return
    yield html.strong(f"{about.name}: {fmt.claim(measurement)}")
    yield html.measurement(measurement)
    yield html.trace(best.record.trace)


@cache
def _kind() -> Any:
    """The widget's class: anywidget is loaded when one is made."""
    base = anywidget().AnyWidget
    from traitlets import Unicode

    def bundle(self: Any, **options: Any) -> Any:
        found = base._repr_mimebundle_(self, **options)
        data, *rest = found if isinstance(found, tuple) else (found,)
        shown = {**data, "text/html": self.still}
        return (shown, *rest) if rest else shown

    own = {
        "__doc__": "The page of a search.",
        "_esm": frame_script(),
        "page": Unicode().tag(sync=True),
        "data": Unicode().tag(sync=True),
        "still": "",
        "_repr_mimebundle_": bundle,
    }
    return type("PageWidget", (base,), own)
