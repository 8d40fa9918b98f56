"""How the pages read: the length of sentences, and words that the style refuses."""

from statistics import median

import prose
import pytest

PAGES = {path.relative_to(prose.ROOT).as_posix(): path for path in prose.list_pages()}
FIGURES = {name: prose.measure(path.read_text(encoding="utf-8")) for name, path in PAGES.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_has_short_sentences_and_the_words_of_the_field(name):
    """The same limits for every page."""
    figures = FIGURES[name]
    assert figures.long == ()
    assert figures.findings == ()
    assert figures.median < prose.MEDIAN, f"half of the sentences have {figures.median} words or more"


#: A cell whose refused words are right: the name of a lesson.
LESSON = "Do it for real"


@pytest.mark.parametrize("name", sorted({*PAGES} - {"docs/glossary.md"}))  # it explains words of others
def test_headings_and_tables_have_the_words_of_the_field(name):
    cells = prose.split_cells(PAGES[name].read_text(encoding="utf-8"))
    assert prose.find_refused(cell for cell in cells if cell != LESSON) == ()


#: Texts whose refused words are right: the name of a lesson, and of its notebook.
NAMES = {"lessons/13_real.json: real.lesson"}


def test_texts_of_the_app_have_short_sentences_and_the_words_of_the_field():
    figures = {name: prose.measure(text) for name, text in prose.read_catalogs().items()}
    assert len(figures) > 3000
    assert {name: one.long for name, one in figures.items() if one.long} == {}
    assert {name: one.findings for name, one in figures.items() if one.findings and name not in NAMES} == {}
    by_folder = {}
    for name, one in figures.items():
        by_folder.setdefault(name.partition("/")[0], []).extend(one.lengths)
    assert {name: median(lengths) for name, lengths in by_folder.items() if median(lengths) >= prose.MEDIAN} == {}


def test_catalogs_are_read_without_their_values():
    texts = prose.read_catalogs()
    assert texts["js/lab.json: lab.medianRun"] == "median run, no. value of value"
    assert "value" in texts["lessons/02_server.json: server.before.1"]
    assert not any("{apart}" in text for text in texts.values())


def test_a_long_sentence_a_refused_word_and_a_private_metaphor_are_found():
    long = " ".join(["word"] * 41)
    figures = prose.measure(
        f"# Who has used the house\n\n{long}. The rooms are behind `walls`.\n\n| who used | a door |\n"
    )
    assert figures.lengths == (41, 4 + 1)
    assert [len(figures.long), [word for word, _, _ in figures.findings]] == [1, ["rooms"]]
    now = "at the workers who used least comes first and who used much holds half of them at most"
    assert prose.measure(now).findings
    assert (
        prose.measure("Workers serve the lightest users first; a heavy user gets at most half of them.").findings == ()
    )


def test_a_refused_word_of_a_heading_and_of_a_cell_is_found():
    page = "# All `rooms`\n\n| a | [beside](x.md) |\n|---|---|\n| `beside` | anew |\n\n```\n| whoever |\n```\n"
    assert prose.split_cells(page)[:3] == ["All code", "a", "beside"]
    assert [word for word, _, _ in prose.find_refused(prose.split_cells(page))] == ["beside", "anew"]


def test_code_comments_tables_quotes_and_abbreviations_are_no_sentences():
    page = "One, e.g. this.\n\n```\nbeside. anew.\n```\n<!-- beside -->\n> beside\n\n- Two `a. b`.\n- Three [beside the link](house.md)\n"
    assert prose.split_sentences(page) == ["One, e.g this.", "Two code.", "Three beside the link"]
