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


def _found() -> dict[str, tuple[str, str]]:
    """The texts of all modules beside this one. Raises ValueError for a key that stands in two of them."""
    found: dict[str, tuple[str, str]] = {}
    for module in pkgutil.iter_modules(_path):
        if module.name != "catalogue":
            texts = importlib.import_module(f"{_package}.{module.name}").TEXTS
            if twice := found.keys() & texts.keys():
                raise ValueError(f"texts {sorted(twice)} stand in {module.name}.py and in another module")
            found |= texts
    return found


TEXTS: dict[str, tuple[str, str]] = _found()

_BRACES = re.compile(r"\{(\w+)\}")


def say(language: Language, key: str, /, **values: object) -> str:
    """One text. Values stand where the text has their name in braces; braces inside a value are left alone."""
    text = TEXTS[key][0 if language == "en" else 1]
    return _BRACES.sub(lambda m: str(values.get(m[1], m[0])), text)


def placeholders(text: str) -> set[str]:
    """Names in braces."""
    return set(_BRACES.findall(text))
