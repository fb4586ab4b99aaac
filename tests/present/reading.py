"""Reading HTML back."""

from __future__ import annotations

from base64 import b64decode
from html.parser import HTMLParser

SVG = "data:image/svg+xml;base64,"
VOID = {"br", "img", "link", "meta"}


def pictures(read: Reader) -> list[Reader]:
    """The SVG of images that are in the page itself, in order."""
    sources = [named["src"] or "" for tag, named in read.tags if tag == "img"]
    assert all(source.startswith(SVG) for source in sources)
    return [Reader(b64decode(source.removeprefix(SVG)).decode()) for source in sources]


class Reader(HTMLParser):
    """Tags, which have to close in order, and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed("".join(html))  # plain text, whatever it was
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
