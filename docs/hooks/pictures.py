"""Pictures and tables of pages as they suit a screen, whatever its width and colours.

Pictures become part of their page, so that they take its text colour: an image by itself follows
the system's colours, not those that the reader has chosen on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parents[1] / "pictures"

_IMAGE = re.compile(r'<img [^>]*src="[^"]*pictures/([\w.-]+\.svg)"[^>]*>')
_STYLE = re.compile(r"<style>.*?</style>\n?")
_SHORT_CELL = re.compile(r"<td>([^<]{1,30})</td>")


def on_page_content(html: str, **_: Any) -> str:
    """Short cells, such as figures with their units, are not broken over lines."""
    html = _IMAGE.sub(lambda found: drawn(found[1]), html)
    return _SHORT_CELL.sub(r'<td class="short">\1</td>', html)


def drawn(name: str) -> str:
    """The picture without its own style, which would be that of the whole page."""
    text = _STYLE.sub("", (PICTURES / name).read_text())
    return f'<span class="picture">{text}</span>'
