"""The page as its readers use it: in Chromium, by keyboard, on a phone, in the dark, and while a
search writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from present.browser import Browser, browser
from store.store_data import ROOT, children, correct, start_tree

from schedsearch.api.live import LivePage
from schedsearch.api.report import report
from schedsearch.api.searched import Search, find_run
from schedsearch.api.serving import PageServer
from schedsearch.store import Store

from .test_report import grow

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[1] / "present" / "axe.min.js"

SERIOUS = """
axe.run().then(({violations}) => violations
  .filter(({impact}) => impact === "serious" || impact === "critical")
  .map(({id, nodes}) => id + ": " + nodes.map((node) => node.html).join(" ")))
"""

ROWS = "document.querySelectorAll('.candidates tbody tr').length"
SELECTED = "document.querySelector('aside h3').textContent"
COUNT = "document.querySelector('.filters output')?.textContent"


def typed(label: str, value: str) -> str:
    """A script that fills in the field with this label, as who types does."""
    return f"""
      (() => {{
        const field = [...document.querySelectorAll(".filters label")]
          .find((each) => each.textContent.startsWith("{label}")).querySelector("input, select");
        const kind = field.tagName == "SELECT" ? HTMLSelectElement : HTMLInputElement;
        Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(field, "{value}");
        field.dispatchEvent(new Event("input", {{bubbles: true}}));
        field.dispatchEvent(new Event("change", {{bubbles: true}}));
      }})()
    """


CLICKED = (
    "[...document.querySelectorAll('button, label')].find((e) => e.textContent == '%s').click()"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        grow(store, scope, run, 300)
        store.finish_run(run, "finished", {})
        yield store


@pytest.fixture
def tab(tmp_path: Path, store: Store) -> Iterator[Browser]:
    """A browser that shows the report, and in the end has not complained."""
    file = tmp_path / "report.html"
    file.write_text(report(Search(store, find_run(store, None))), encoding="utf-8")
    with browser(tmp_path) as tab:
        tab.screen(1400)
        tab.open(file.as_uri())
        tab.wait("document.querySelectorAll('.drawn svg').length >= 4")
        yield tab
        assert not tab.complaints


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(tab: Browser, width: int, dark: bool) -> None:
    tab.screen(width, dark=dark)
    tab.run(AXE.read_text() + "; 0")
    assert tab.run(SERIOUS) == []
    tab.run(CLICKED % "table")
    tab.run(CLICKED % "what differs")
    tab.wait(ROWS)
    assert tab.run(SERIOUS) == []


def test_axe_would_find_something(tab: Browser) -> None:
    tab.run(AXE.read_text() + "; 0")
    tab.run("document.querySelector('main').append(document.createElement('button')); 0")
    assert "button-name" in tab.run(SERIOUS)[0]


@pytest.mark.parametrize("width", [390, 800])
def test_nothing_is_wider_than_a_narrow_screen(tab: Browser, width: int) -> None:
    fits = f"document.documentElement.scrollWidth <= {width}"
    tab.screen(width)
    tab.wait(fits)  # pictures are drawn anew
    tab.run(CLICKED % "table")
    tab.wait(ROWS)
    assert tab.run(fits)


def test_the_tree_is_walked_by_keys(tab: Browser) -> None:
    tab.run("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    tab.press("Home")
    tab.wait(f"{SELECTED} == 'candidate 1, as written'")
    focused = "document.activeElement.getAttribute('aria-%s')"
    tab.wait(focused % "expanded" + " == 'true'")
    tab.press("ArrowLeft")
    tab.wait(focused % "expanded" + " == 'false'")
    tab.press("ArrowRight", "ArrowRight")
    tab.wait(f"{SELECTED} != 'candidate 1, as written'")
    tab.wait(focused % "level" + " == '2'")
    tab.wait(focused % "selected" + " == 'true'")


def test_the_table_is_sorted_and_turned_by_keys(tab: Browser, store: Store) -> None:
    tab.run(CLICKED % "table")
    tab.wait(ROWS)
    first = "document.querySelector('.candidates tbody .number').textContent"
    [scope] = store.scopes()
    assert tab.run(first) == str(store.best(scope, 1)[0].id)
    header = "document.querySelector('th:first-child button')"
    tab.run(f"{header}.focus()")
    tab.press("Enter")
    tab.press("Enter")
    tab.wait("document.querySelector('th').getAttribute('aria-sort') == 'ascending'")
    lowest = int(tab.run(first))
    tab.run("[...document.querySelectorAll('.pages button')].at(-1).focus()")
    tab.press("Enter")
    tab.wait(f"Number({first}) > {lowest}")
    tab.run("document.querySelector('.candidates tbody button').focus()")
    tab.press("Enter")
    tab.wait(f"{SELECTED} == 'candidate ' + {first}")


def test_filters_hold_for_table_and_tree(tab: Browser, store: Store) -> None:
    [scope] = store.scopes()
    rows = list(store.candidate_table(scope).dicts())
    measured = [row for row in rows if row["speedup"] is not None]
    assert tab.run(COUNT) == f"{len(measured)} of {len(rows)} candidates"
    fast = [row for row in measured if row["speedup"] >= 5]
    assert 0 < len(fast) < len(measured)
    tab.run(typed("At least", "5"))
    tab.wait(f"{COUNT} == '{len(fast)} of {len(rows)} candidates'")
    tab.run(CLICKED % "table")
    tab.wait(f"{ROWS} == {min(len(fast), 25)}")
    tab.run(CLICKED % "tree")
    ends = "[...document.querySelectorAll('.item')].filter((e) => !e.textContent.match(/^[▾▸]/))"
    tab.wait(f"{ends}.length")
    leaves = tab.run(f"{ends}.map((e) => parseFloat(e.querySelector('.speed').textContent))")
    assert all(leaf >= 4.99 for leaf in leaves)
    tab.run(typed("At least", ""))
    tab.run(CLICKED % "measured only")
    tab.wait(f"{COUNT} == '{len(rows)} of {len(rows)} candidates'")
    tab.run(typed("Outcome", "illegal"))
    illegal = [row for row in rows if row["outcome"] == "illegal"]
    tab.wait(f"{COUNT} == '{len(illegal)} of {len(rows)} candidates'")


def test_a_running_search_is_followed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        scope, run = start_tree(store)
        with PageServer(LivePage(store, tmp_path)) as server, browser(tmp_path) as tab:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            tab.screen(1400)
            tab.open(server.address)
            tab.wait(f"{COUNT} == '0 of 4 candidates'")
            assert server.token not in tab.run("location.href")
            assert tab.run("document.querySelector('.going').textContent")
            store.record(scope, run, correct(children(ROOT)[1].trace, 4.0))
            tab.wait(f"{COUNT} == '1 of 4 candidates'")
            tab.wait("document.querySelector('.claim').textContent.startsWith('4.00x')")
            tab.run(AXE.read_text() + "; 0")
            assert tab.run(SERIOUS) == []
            folded = "document.querySelector('.item').ariaExpanded == 'false'"
            tab.run("document.querySelector('.item').click()")
            tab.wait(folded)
            store.record(scope, run, correct(children(ROOT)[2].trace, 2.0))
            tab.wait(f"{COUNT} == '2 of 4 candidates'")
            assert tab.run(folded)  # what a reader has closed stays closed
            tab.run(CLICKED % "Pin the best")
            tab.wait("document.querySelector('.actions output').textContent.includes('--file')")
            store.finish_run(run, "finished", {})
            tab.wait("!document.querySelector('.going')")
            tab.reload()
            tab.wait(f"{COUNT} == '2 of 4 candidates'")
            server.shutdown()
            server.server_close()
            tab.wait("document.querySelector('.trouble')?.textContent.includes('has ended')")
