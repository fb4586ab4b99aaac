"""Every function that "The path of a candidate" names is there."""

from __future__ import annotations

import re

from .pages import ROOT


def test_every_hop_names_a_function() -> None:
    page = (ROOT / "docs/design.md").read_text()
    section = page.split("## The path of a candidate")[1].split("\n## ")[0]
    hops = re.findall(r"^\d+\. .*?(?=^\d+\. |\Z)", section, re.MULTILINE | re.DOTALL)
    assert 10 <= len(hops) <= 15
    code = "\n".join(path.read_text() for path in (ROOT / "schedsearch").rglob("*.py"))
    for hop in hops:
        for name in re.findall(r"`([\w.]+)`", hop):
            owner, _, function = name.rpartition(".")
            if not name.endswith("_key"):
                assert re.search(rf"\n *(def|class) {function}\b", code), name
                assert not owner or re.search(rf"\nclass {owner}\b", code), name
