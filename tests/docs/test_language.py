"""The pages stay easy to read: a lead in one sentence, short paragraphs and sentences, one name
for each thing, links that go somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import PAGES, ROOT
from .prose import leads_with, paragraphs, sentences, words

LEAD, PARAGRAPH, SENTENCES, WHATS = 28, 105, 20.5, 15
"""The most words of a lead, of a paragraph, of a page's sentences on average; the most "what" in
a thousand words."""

TITLE = 20
"""The most letters of a title in the sidebar."""

OLD_NAMES = ("unscheduled", "the original procedure", "the procedure as it is")
"""Of the baseline, as the glossary calls it."""

HAND_WRITTEN = [page for page in PAGES if page.name != "extending.md"]
"""That page has headings and text from the code only."""


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_a_page_leads_with_one_sentence(page: Path) -> None:
    lead = leads_with(page.read_text())
    assert lead, "the title is followed by something else than a sentence"
    assert len(sentences(lead)) == 1, lead
    assert words(lead) <= LEAD, lead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paragraphs_are_short(page: Path) -> None:
    for paragraph in paragraphs(page.read_text()):
        assert words(paragraph) <= PARAGRAPH, paragraph


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_sentences_are_short_and_plain(page: Path) -> None:
    found = list(paragraphs(page.read_text()))
    lengths = [words(each) for paragraph in found for each in sentences(paragraph)]
    assert sum(lengths) / len(lengths) <= SENTENCES
    text = " ".join(found)
    assert not (twisted := re.findall(r"\bwhat [^.,;:]{1,40} is what\b", text, re.I)), twisted
    whats = len(re.findall(r"\bwhat\b", text, re.I))
    assert 1000 * whats / max(words(text), 300) <= WHATS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_baseline_has_one_name(page: Path) -> None:
    if page.name == "glossary.md":  # says which names it does not have
        return
    text = " ".join(paragraphs(page.read_text()))
    assert not [name for name in OLD_NAMES if name in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_links_name_are_there(page: Path) -> None:
    """Also of pages that are not on the site. Some are made when the site is built."""
    made = {ROOT / "docs/reference" / f"{name}.md" for name in ("cli", "transforms", "exo")}
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            there = (page.parent / target).resolve()
            assert there.exists() or there in made, target


def test_every_page_has_a_short_title_in_the_sidebar() -> None:
    nav = re.findall(r"- (?:(.+): )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    named = {path: title for title, path in nav}
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in PAGES if docs in page.parents}
    assert pages <= named.keys()
    assert all(0 < len(title) <= TITLE for title in named.values()), named


def test_the_checks_find_what_they_are_for() -> None:
    text = "# Title\n\nOne. Two.\n\n| a | b |\n|---|---|\n| a cell | |\n\n- an item\n"
    assert leads_with(text) == "One. Two."
    assert sentences("One. Two.") == ["One.", "Two."]
    assert list(paragraphs(text)) == ["One. Two.", "an item"]
    assert leads_with("# Title\n\n```sh\ncommand\n```\n\nText.\n") == ""
    assert words("it isn't 12 % `code`") == 4
