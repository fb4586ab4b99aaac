"""The page about a run: one HTML file that needs nothing else, or the same served and kept up to
date. `make page` builds `web/` from the sources, which are in `page/` of the repository.

What it shows may come from anybody's store. All of it is data, in a block that is not executed; a
policy in the page lets the browser run its one script and load nothing from anywhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from markupsafe import Markup

_WEB = files("schedsearch.present") / "web"

_PAGE = Markup(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript>{said} This page needs JavaScript, which is in it.</noscript>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
)


def page(data: Mapping[str, Any]) -> str:
    """The page of these data, as a file."""
    return _filled(data["title"], data["verdict"]["text"], pack(data))


def live_page(title: str) -> str:
    """The page that asks its own server for data."""
    return _filled(title, "", "", "connect-src 'self'; ")


def framed_page(title: str) -> str:
    """The page that is told its data by what is around it: `frame_script`."""
    return _filled(title, "", "")


def frame_script() -> str:
    """The module that shows `framed_page` in a notebook, as anywidget wants it."""
    return (_WEB / "frame.js").read_text("utf-8")


def pack(data: Mapping[str, Any]) -> str:
    """JSON, gzipped: candidates by the thousands have much in common. As base64, which cannot end
    the block that it is in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _filled(title: str, said: str, data: str, connects: str = "") -> str:
    script = (_WEB / "page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"img-src data:; {connects}base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        policy=policy,
        title=title,
        said=said,
        style=Markup((_WEB / "page.css").read_text("utf-8")),
        data=data,
        script=Markup(script),
    )
