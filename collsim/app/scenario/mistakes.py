"""What collsim says about a mistake, in the language of the page."""

from __future__ import annotations

import re

from collsim.errors import CollsimError
from collsim.teach.chinese import chinese

from ..texts.catalogue import Language, say
from .outcome import Refused

_HAN = re.compile("[\u4e00-\u9fff]")
_MOST_NAMES = 20  # a longer list of what is known helps nobody; the menu shows it


def sentence(error: CollsimError | str, language: Language) -> str:
    """One sentence, with its full stop."""
    if isinstance(error, Refused):
        return say(language, error.key, **error.values)
    text = str(error)
    head, known, names = text.partition("; known: ")
    text = head if known and names.count(",") >= _MOST_NAMES else text
    if language == "zh":
        found = chinese(text).replace("' or '", "'、'")
        text = found if _HAN.search(found) else f"出错（英文原文）：{text}"
    text = text[:1].upper() + text[1:] if language == "en" and text.split(" ")[0].isalpha() else text
    return text if text.endswith((".", "?", "。", "？")) else text + (".", "。")[language == "zh"]
