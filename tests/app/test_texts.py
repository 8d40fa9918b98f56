"""Both languages say the same things."""

import ast
import re
from pathlib import Path

import pytest
from catalogs import pair_page_texts, pair_texts

from collsim.app.texts import say
from collsim.locale import LANGUAGES, list_placeholders

SHARED = pair_page_texts("shell")
TEXTS = pair_texts()

APP = Path(__file__).parents[2] / "collsim" / "app"


def test_no_text_is_empty_in_either_language():
    assert not [
        key for key, pair in TEXTS.items() if len(pair) != len(LANGUAGES) or not all(text.strip() for text in pair)
    ]


def test_both_languages_fill_in_the_same_values():
    assert not [key for key, (en, zh) in TEXTS.items() if list_placeholders(en) != list_placeholders(zh)]


def test_sentences_are_translated_and_english_holds_no_chinese():
    same = [key for key, (en, zh) in TEXTS.items() if en == zh and " " in en and len(en.split()) > 3]
    chinese = [key for key, (en, _) in TEXTS.items() if re.search(r"[\u4e00-\u9fff]", en)]
    assert not same
    assert not chinese


def test_every_text_that_is_asked_for_exists_and_every_text_is_asked_for():
    source = "\n".join(path.read_text() for path in APP.rglob("*.py"))
    literal = {
        node.args[0].value
        for path in APP.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "t"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert literal <= set(TEXTS), literal - set(TEXTS)
    families = (
        "option.",
        "format.",
        "files.",
        "fabric.",
        "page.",
        "menu.",
        "compare.time",
        "compare.busbw",
        "nodes.",
        "col.",
        "p2p",
        "gdr",
        "mode.",
        "engine",
        "sharing.",
        "network.",
    )
    unused = [
        key
        for key in SHARED  # those of a page are looked for in the tests of that page
        if not re.search(f"[\"']{key}[\"']", source) and not key.startswith(families) and not key.endswith(".help")
    ]
    assert not unused


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_value_with_braces_does_not_fill_itself_in_again(language):
    assert "{used}" in say(language, "url.bad", name="n", value="{used}", why="w", used="5")
