"""Every word of the app, in English and Chinese: those of all modules of this folder, each with its `TEXTS`.

A value in braces is filled in by `say`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Literal

from . import __name__ as _package
from . import __path__ as _path

Language = Literal["en", "zh"]
LANGUAGES: dict[Language, str] = {"en": "EN", "zh": "中文"}


def _collect_texts() -> dict[str, tuple[str, str]]:
    """The texts of all modules beside this one. Raises ValueError for a key that stands in two of them."""
    text_of_key: dict[str, tuple[str, str]] = {}
    for module in pkgutil.iter_modules(_path):
        if module.name != "catalogue":
            texts = importlib.import_module(f"{_package}.{module.name}").TEXTS
            if twice := text_of_key.keys() & texts.keys():
                raise ValueError(f"texts {sorted(twice)} stand in {module.name}.py and in another module")
            text_of_key |= texts
    return text_of_key


TEXTS: dict[str, tuple[str, str]] = _collect_texts()

_BRACES = re.compile(r"\{(\w+)\}")


def say(language: Language, key: str, /, **values: object) -> str:
    """One text. Values stand where the text has their name in braces; braces inside a value are left alone.

    Args:
        language: `en` or `zh`.
        key: Key of the text or control.
        **values: Values of the text by name.
    """
    text = TEXTS[key][0 if language == "en" else 1]
    return _BRACES.sub(lambda m: str(values.get(m[1], m[0])), text)


def list_placeholders(text: str) -> set[str]:
    """Names in braces.

    Args:
        text: The text.
    """
    return set(_BRACES.findall(text))
