"""What collsim says about a mistake, in the language of the page."""

from __future__ import annotations

import re

from collsim.errors import CollsimError, Sentence, Words
from collsim.locale import Language

_BETWEEN_HAN = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
_HAN = re.compile("[\u4e00-\u9fff]")
_MAX_NAMES = 20  # a longer list of what is known helps nobody; the menu shows it


def write_sentence(error: CollsimError | Words, language: Language) -> str:
    """One sentence, with its full stop.

    Args:
        error: The error, or its words.
        language: Of the page.
    """
    if isinstance(error, str):
        text = error
    else:
        text = error.text(language)
        sentence = Sentence.from_words(error)
        if (shorter := _leave_out_long_lists(sentence)) != sentence:
            text = shorter.text(language)
    if language == "zh" and not _HAN.search(text):  # somebody's own words
        text = f"出错（英文原文）：{text}"
    if language != "zh" and text.split(" ")[0].isalpha():
        text = text[:1].upper() + text[1:]
    return remove_chinese_spaces(
        text if text.endswith((".", "?", "。", "？")) else text + (".", "。")[language == "zh"]
    )


def _leave_out_long_lists(sentence: Sentence) -> Sentence:
    """The sentence without the names that are known, in it and in the sentences inside it, where they are many."""
    values = {
        name: _leave_out_long_lists(Sentence.from_words(value)) if isinstance(value, Sentence | CollsimError) else value
        for name, value in sentence.values.items()
    }
    unknown = values.get("unknown")
    if isinstance(unknown, Sentence) and str(values.get("known")).count(",") >= _MAX_NAMES:
        return unknown
    if not values:
        return sentence
    return type(sentence)(sentence.key, **values)


def remove_chinese_spaces(text: str) -> str:
    """Without the spaces that stand between Chinese words where a template has been filled with some.

    Args:
        text: The text.
    """
    return _BETWEEN_HAN.sub("", text)
