"""What collsim says about a mistake, in the language of the page."""

from __future__ import annotations

import re

from collsim.errors import CollsimError, Words
from collsim.locale import Language

_BETWEEN_HAN = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
_HAN = re.compile("[\u4e00-\u9fff]")
_MAX_NAMES = 20  # a longer list of what is known helps nobody; the menu shows it
_KNOWN = {"en": "; known: ", "zh": "；可选："}


def write_sentence(error: CollsimError | Words, language: Language) -> str:
    """One sentence, with its full stop.

    Args:
        error: The error, or its words.
        language: `en` or `zh`.
    """
    if isinstance(error, str):
        text = error
    else:
        text = error.text(language)
    head, known, names = text.partition(_KNOWN[language])
    if known and names.count(",") >= _MAX_NAMES:
        text = head
    if language == "zh" and not _HAN.search(text):  # somebody's own words
        text = f"出错（英文原文）：{text}"
    if language == "en" and text.split(" ")[0].isalpha():
        text = text[:1].upper() + text[1:]
    return remove_chinese_spaces(
        text if text.endswith((".", "?", "。", "？")) else text + (".", "。")[language == "zh"]
    )


def remove_chinese_spaces(text: str) -> str:
    """Without the spaces that stand between Chinese words where a template has been filled with some.

    Args:
        text: The text.
    """
    return _BETWEEN_HAN.sub("", text)
