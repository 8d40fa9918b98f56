"""What docs/articles.md says of articles: each claim has its page, its words in both languages, and a run where one decides."""

from collections import Counter

import make_articles
import pytest

import collsim as cs
from collsim.dtypes import list_dtypes
from collsim.training_scripts import read_script

CLAIMS = make_articles.load_claims()["claims"]
NAMES = {"cs": cs, "list_dtypes": list_dtypes, "read_script": read_script}


@pytest.mark.parametrize("language", make_articles.PAGES)
def test_the_page_is_what_the_claims_say(language):
    assert make_articles.PAGES[language].read_text(encoding="utf-8") == make_articles.write_page(language)


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if "check" in c], ids=lambda c: f"{c['article']}:{c['line']} {c['en'][:40]}"
)
def test_the_run_of_a_claim_decides_as_the_page_says(claim):
    assert eval(claim["check"], dict(NAMES)) is True


def test_every_claim_has_its_words_its_verdict_and_a_page():
    for claim in CLAIMS:
        assert claim["verdict"] in make_articles.VERDICTS
        assert all(claim[key].strip() for key in ("en", "zh", "answer_en", "answer_zh"))
        file, _, part = claim["page"].partition("#")
        text = (make_articles.DOCS / file).read_text(encoding="utf-8")
        titles = {
            line.lstrip("#").strip().lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")
        }
        assert not part or part in titles, claim["page"]


def test_each_article_has_claims_of_more_than_one_verdict():
    verdicts = Counter((claim["article"], claim["verdict"]) for claim in CLAIMS)
    for number in range(1, 6):
        assert len([key for key in verdicts if key[0] == number]) > 1
    assert len([claim for claim in CLAIMS if "check" in claim]) > len(CLAIMS) / 2
