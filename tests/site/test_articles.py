"""What docs/articles says of articles: each claim and word has a page that answers it, its words in both languages, and a
run where one decides; the pages are what the data says."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import make_articles
import pytest

from collsim.locale.glossary import find_entries
from collsim.locale.name_families import find_family, list_families

CLAIMS, TERMS, QUESTIONS = (make_articles.load_claims()[key] for key in ("claims", "terms", "questions"))
PAGES = make_articles.list_pages()
APP = Path(__file__).parents[2] / "collsim" / "app" / "pages"
#: Lines of each article's text, to which `line` counts.
LAST_LINES = {1: 4, 2: 82, 3: 4, 4: 37, 5: 106}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_what_the_claims_say(path):
    assert path.read_text(encoding="utf-8") == make_articles.write_page(*PAGES[path])


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if "check" in c], ids=lambda c: f"{c['article']}:{c['line']} {c['en'][:40]}"
)
def test_the_run_of_a_claim_decides_as_the_page_says(claim):
    assert eval(claim["check"], dict(make_articles.NAMES)) is True


def test_figures_of_a_claim_without_a_run_are_on_its_page_which_has_one():
    for claim in (claim for claim in CLAIMS if "check" not in claim):
        page = (make_articles.DOCS / claim["page"].partition("#")[0]).read_text(encoding="utf-8")
        for language in ("en", "zh"):
            figures = re.findall(r"\d+\.\d+|\d+(?= (?:Gb/s|KiB|MiB|times))", claim[f"answer_{language}"])
            assert [figure for figure in figures if figure not in page] == []


def name_anchor(title):
    return re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")


def read_part(page):
    """The text of a page, or of one of its parts."""
    file, _, anchor = page.partition("#")
    text = (make_articles.DOCS / file).read_text(encoding="utf-8")
    if not anchor:
        return text
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return dict(zip(map(name_anchor, parts[1::2]), parts[2::2], strict=True))[anchor]


def find_answer(entry):
    """What the target says of an entry: the meaning in the glossary's row, or the paragraph with the words; nothing if none."""
    page, words = entry["page"], entry["has"]
    if page.startswith("app:"):
        return str(next(APP.glob(f"{page.removeprefix('app:')}*/*.py"), ""))
    text = read_part(page)
    if page.startswith("glossary.md"):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
        return next((row[2] for row in rows if row[0] == words or words in row[0].split(", ")), "")
    return next((part for part in re.split(r"\n\n|\n(?=\|)", text) if words in part), "")


def test_a_hundred_and_twenty_claims_and_words_are_answered():
    assert len(CLAIMS) + len(TERMS) >= 120
    assert len({(entry["article"], entry["en"]) for entry in (*CLAIMS, *TERMS)}) == len(CLAIMS) + len(TERMS)


@pytest.mark.parametrize(
    "entry", [*CLAIMS, *TERMS], ids=lambda entry: f"{entry['article']}:{entry['line']} {entry['en'][:30]}"
)
def test_what_a_claim_or_word_names_is_there_and_answers_it(entry):
    assert 1 <= entry["line"] <= LAST_LINES[entry["article"]]
    assert len(find_answer(entry)) >= 20, f"{entry['page']} has no {entry['has']!r}"


def test_an_answer_that_is_not_there_is_noticed():
    assert find_answer({"page": "glossary.md#words-of-articles", "has": "quantum"}) == ""
    assert find_answer({"page": "training.md", "has": "no such words stand there"}) == ""
    assert find_answer({"page": "app:teleport", "has": "x"}) == ""


def test_every_claim_has_a_verdict_and_its_words_in_both_languages():
    for claim in CLAIMS:
        assert claim["verdict"] in make_articles.VERDICTS
        assert all(claim[key].strip() for key in ("en", "zh", "answer_en", "answer_zh"))
        # A run decides it, or the page says why none can.
        assert "check" in claim or (len(claim["no_run_en"]) > 20 and len(claim["no_run_zh"]) > 10)


def test_each_article_has_claims_of_more_than_one_verdict_and_questions_for_a_class():
    verdicts = Counter((claim["article"], claim["verdict"]) for claim in CLAIMS)
    questions = Counter(question["article"] for question in QUESTIONS)
    for number in LAST_LINES:
        assert len([key for key in verdicts if key[0] == number]) > 1
        assert questions[number] >= 2
    assert len([claim for claim in CLAIMS if "check" in claim]) > 0.9 * len(CLAIMS)
    assert {claim["verdict"] for claim in CLAIMS} >= {"right", "right_if", "outdated", "wrong"}


FOLDER = make_articles.DOCS / "articles"
OTHERS = tomllib.loads((FOLDER / "other_terms.toml").read_text(encoding="utf-8"))["articles"]
INDEX = tomllib.loads((FOLDER / "field_index.toml").read_text(encoding="utf-8"))["parts"]


@pytest.mark.parametrize("part", INDEX, ids=lambda part: part["title"])
def test_each_name_of_the_field_has_a_row_in_the_glossary(part):
    assert len(part["terms"]) >= 80
    assert len(set(part["terms"])) == len(part["terms"])
    assert [term for term in part["terms"] if not find_entries(term)] == []


@pytest.mark.parametrize("article", OTHERS, ids=lambda article: article["source"].split("//")[1][:40])
def test_the_words_of_other_public_articles_have_a_row_in_the_glossary(article):
    assert len(article["terms"]) >= 15
    assert [term for term in article["terms"] if not find_entries(term)] == []


def test_each_family_of_names_has_a_name_in_the_index():
    named = {
        family.form for part in INDEX for term in part["terms"] if (match := find_family(term)) for family in match[:1]
    }
    assert {family.form for family in list_families()} - named == set()


def test_a_variable_of_nccl_is_not_taken_for_one_that_nccl_ignores():
    names = [term for part in INDEX if part["title"].startswith("variables and constants") for term in part["terms"]]
    assert len(names) > 300
    assert [name for name in names if find_entries(name)[0].term == "NCCL_*"] == []
    assert find_entries("NCCL_TIMEOUT_SECONDS")[0].term == "NCCL_*"
