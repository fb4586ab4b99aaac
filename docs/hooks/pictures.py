"""Pictures become part of their page when the site is built, so that they take its text colour.

An image by itself follows the system's colours, not those that the reader has chosen on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parents[1] / "pictures"

_IMAGE = re.compile(r'<img [^>]*src="[^"]*pictures/([\w.-]+\.svg)"[^>]*>')
_STYLE = re.compile(r"<style>.*?</style>\n?")


def on_page_content(html: str, **_: Any) -> str:
    return _IMAGE.sub(lambda found: drawn(found[1]), html)


def drawn(name: str) -> str:
    """The picture without its own style, which would be that of the whole page."""
    text = _STYLE.sub("", (PICTURES / name).read_text())
    return f'<span class="picture">{text}</span>'
