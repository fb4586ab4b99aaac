"""One HTML file that needs nothing else: text, figures and trees, with the scripts that draw them.

The content of a page may come from anybody's store. Text is escaped; data is JSON in blocks that
are not executed; a policy in the page lets the browser run these scripts alone and load nothing
from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from schedsearch.present.html import joined, tag

_WEB = files("schedsearch.present") / "web"

_PAGE = Markup(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{blocks}
{scripts}
</body>
</html>
"""
)


def page(name: str, body: Iterable[object], data: Mapping[str, Any], library: str) -> str:
    """HTML of `body`, whose `figure` and `tree` places are filled with `data`, by name: JSON
    values. `library` is Plotly's own JavaScript."""
    scripts = [library, _asset("tree.js"), _asset("page.js")]
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    blocks = (
        tag("script", _json(value), type="application/json", id=key) for key, value in data.items()
    )
    run = (tag("script", Markup(script)) for script in scripts)
    return _PAGE.format(
        policy=policy,
        title=name,
        style=Markup(_asset("page.css")),
        body=joined(body, "\n"),
        blocks=joined(blocks, "\n"),
        scripts=joined(run, "\n"),
    )


def figure(name: str) -> Markup:
    """The place where the figure of this name is drawn."""
    return tag("div", class_="figure", role="img", aria_label=name, data_figure=name)


def tree(name: str) -> Markup:
    """The place where the search tree of this name is drawn."""
    return tag("div", data_tree=name)


def items(texts: Iterable[object], kind: str = "") -> Markup:
    return tag("ul", *(tag("li", text) for text in texts), class_=kind)


def facts(rows: Sequence[tuple[object, object]]) -> Markup:
    """Names and values, a row each."""
    return tag("table", *(tag("tr", tag("th", name), tag("td", value)) for name, value in rows))


def _json(value: Any) -> Markup:
    """JSON that cannot end its block, nor open another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _asset(name: str) -> str:
    return (_WEB / name).read_text("utf-8")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
