"""The texts that people read: a folder for each language, in it a folder for each package, in that JSON files.

`zh/errors` translates what collsim says of mistakes; its keys are the English templates as they stand where an error is
raised. The keys of all other files are short names, such as `train.optimizer`, and every language has the same. A value
in braces is filled in. A further language is one more folder, and its code in `LANGUAGES`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
#: The same text in each of `LANGUAGES`, where it does not stand in a file of this folder.
Text = tuple[str, str]
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@lru_cache(maxsize=32)
def load_messages(language: str, package: str) -> dict[str, str]:
    """Return the texts of one package in one language by their keys, of all its files.

    Args:
        language: `en` or `zh`.
        package: folder within that of the language, such as `app`; one that the language lacks has no texts.

    Returns:
        The texts; they are shared, so nobody may change them.

    Raises:
        ValueError: A key stands in two files, or there is no such language.

    Examples:
        >>> load_messages("zh", "app")["page.train"]
        '训练'
    """
    if language not in LANGUAGES:
        raise ValueError(f"no texts are in the language {language!r}")
    messages: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / language / package).glob("*.json")):
        texts = json.loads(file.read_text(encoding="utf-8"))
        if twice := messages.keys() & texts.keys():
            raise ValueError(f"{sorted(twice)} stand in {file} and in another file of {package}")
        messages |= texts
    return messages


def translate(language: str, package: str, key: str, /, **values: object) -> str:
    """Return one text with its values. Braces inside a value are left alone, and so are names without a value.

    Args:
        language: `en` or `zh`.
        package: folder of the text, such as `app`.
        key: key of the text.
        **values: what stands where the text has a name in braces.

    Raises:
        KeyError: The package has no such text.

    Examples:
        >>> translate("en", "site", "tally", right=3, asked=4)
        '3 of 4 right'
    """
    return _PLACEHOLDER.sub(lambda name: str(values.get(name[1], name[0])), load_messages(language, package)[key])


def list_placeholders(text: str) -> set[str]:
    """Return the names that stand in braces in a text."""
    return set(_PLACEHOLDER.findall(text))
