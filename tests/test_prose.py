"""How the pages read, in figures that may only get better: the length of sentences, and words that the style refuses."""

import prose
import pytest

#: Pages with long sentences and refused words, each with how many; those that are not named have neither. Lower a
#: figure in the change that makes it smaller.
LIMITS: dict[str, tuple[int, int]] = {
    "docs/accuracy.md": (6, 24),
    "docs/accuracy/pages/accuracy.md": (2, 20),
    "docs/accuracy/pages/intervals.md": (0, 3),
    "docs/accuracy/pages/left_out.md": (3, 2),
    "docs/accuracy/pages/mpi_left_out.md": (1, 0),
    "docs/algorithms.md": (0, 5),
    "docs/hangs.md": (1, 0),
    "docs/training.md": (5, 15),
}
#: Pages whose sentences are longer than the goal: the median that they have.
MEDIANS: dict[str, float] = {
    "docs/accuracy.md": 22.5,
    "docs/accuracy/pages/accuracy.md": 20.5,
    "docs/accuracy/pages/intervals.md": 23.5,
    "docs/accuracy/pages/left_out.md": 33.0,
    "docs/articles.md": 24.5,
    "docs/design.md": 19.5,
    "docs/formats.md": 20.5,
    "docs/synthesis.md": 22.0,
    "docs/tables.md": 18.5,
}
PAGES = {path.relative_to(prose.ROOT).as_posix(): path for path in prose.list_pages()}
FIGURES = {name: prose.measure(path.read_text(encoding="utf-8")) for name, path in PAGES.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_has_short_sentences_and_the_words_of_the_field(name):
    figures = FIGURES[name]
    long, refused = LIMITS.get(name, (0, 0))
    assert len(figures.long) <= long, "\n".join(figures.long)
    assert len(figures.findings) <= refused, "\n".join(map(" | ".join, figures.findings))
    assert figures.median < MEDIANS.get(name, prose.MEDIAN), (
        f"half of the sentences have {figures.median} words or more"
    )


def test_a_limit_is_what_a_page_has():
    """A page that got better keeps what it gained."""
    measured = {name: (len(figures.long), len(figures.findings)) for name, figures in FIGURES.items()}
    assert {name: measured.get(name) for name in LIMITS} == LIMITS
    assert {name for name in MEDIANS if FIGURES[name].median < prose.MEDIAN} == set()


def test_a_long_sentence_a_refused_word_and_a_private_metaphor_are_found():
    long = " ".join(["word"] * 46)
    figures = prose.measure(
        f"# Who has used the house\n\n{long}. The rooms are behind `walls`.\n\n| who used | a door |\n"
    )
    assert figures.lengths == (46, 4 + 1)
    assert [len(figures.long), [word for word, _, _ in figures.findings]] == [1, ["rooms"]]
    now = "at the workers who used least comes first and who used much holds half of them at most"
    assert prose.measure(now).findings
    assert (
        prose.measure("Workers serve the lightest users first; a heavy user gets at most half of them.").findings == ()
    )


def test_code_comments_tables_and_abbreviations_are_no_sentences():
    page = "One, e.g. this.\n\n```\nbeside. anew.\n```\n<!-- beside -->\n- Two `a. b`.\n- Three [beside the link](house.md)\n"
    assert prose.split_sentences(page) == ["One, e.g this.", "Two code.", "Three beside the link"]
