"""The catalogs of texts, both languages beside each other."""

import json
from pathlib import Path

import collsim.locale
from collsim.locale import LANGUAGES, load_messages

FOLDER = Path(collsim.locale.__file__).parent


def pair_texts(package="app"):
    """English and Chinese text by the key, of all files of a package."""
    english, chinese = (load_messages(language, package) for language in LANGUAGES)
    assert english.keys() == chinese.keys()
    return {key: (text, chinese[key]) for key, text in english.items()}


def pair_page_texts(page):
    """English and Chinese text by the key, of the file of one page of the app."""
    keys = json.loads((FOLDER / "en" / "app" / f"{page}.json").read_text(encoding="utf-8"))
    return {key: pair for key, pair in pair_texts().items() if key in keys}
