"""The texts that people read: a folder for each language, in it a folder for each package, in that JSON files.

`zh/errors` translates the messages of errors; its keys are the English templates, as written where an error is raised.
The keys of all other files are short names, such as `train.optimizer`, and every language has the same. A value in
braces is filled in: `{sender}` as it is, `{Sender}` with a capital letter, and `{steps:step|steps}` is one of two
words, the first where the value is 1. A language may leave out a choice of words that it does not need.

A further language is one more folder, here or in the folder that `COLLSIM_LOCALE` names. What it lacks stays English.
A package that adds a lesson brings its texts with `add_texts`.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

Language: TypeAlias = str
#: The same text in each of `LANGUAGES`.
Text: TypeAlias = tuple[str, ...]
_PLACEHOLDER = re.compile(r"\{(\w+)(?::([^{}|]*)\|([^{}|]*))?\}")


def _list_folders() -> dict[Language, Path]:
    """The folder of each language: English first, then those of this package, then those that the user added."""
    folders = _list_languages(Path(__file__).parent)
    if added := os.environ.get("COLLSIM_LOCALE"):
        try:
            folders |= _list_languages(Path(added))
        except OSError as error:
            warnings.warn(f"COLLSIM_LOCALE={added!r} is left out: {error.strerror}", stacklevel=2)
    return folders


def _list_languages(home: Path) -> dict[Language, Path]:
    names = sorted(entry.name for entry in os.scandir(home) if entry.is_dir() and entry.name.isalpha())
    return {name: home / name for name in names}


_FOLDERS = _list_folders()
LANGUAGES: tuple[Language, ...] = tuple(_FOLDERS)
#: What refuses a language without texts; `collsim.errors`, which is above this package, adds it.
language_checks: list[Callable[[str], object]] = []
#: Folders of other packages, with the texts of what they add.
_ADDED: list[Path] = []


def add_texts(folder: str | os.PathLike[str]) -> None:
    """Add the texts of another package, such as those of its lesson.

    Args:
        folder: has a folder for each language, as `collsim/locale` has: `en/lessons/mine.json`. What a language lacks
            stays English.
    """
    _ADDED.append(Path(folder))
    load_messages.cache_clear()
    _load_templates.cache_clear()


@lru_cache(maxsize=256)
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
    import json  # late: `import collsim` reads no text

    messages: dict[str, str] = {}
    folders = (_FOLDERS[language], *(folder / language for folder in _ADDED))
    for file in (file for folder in folders for file in sorted((folder / package).glob("*.json"))):
        texts = json.loads(file.read_text(encoding="utf-8"))
        if duplicates := messages.keys() & texts.keys():
            raise ValueError(f"{sorted(duplicates)} stand in {file} and in another file of {package}")
        messages |= texts
    return messages


def translate(language: str, package: str, key: str, /, **values: object) -> str:
    """Return one text with its values. Braces inside a value are left alone, and so are names without a value.

    Args:
        language: `en` or `zh`.
        package: folder of the text, such as `app`.
        key: key of the text.
        **values: what stands where the text has a name in braces; a Text or a sentence in the same language.

    Raises:
        CollsimError: There are no texts in this language.
        KeyError: The package has no such text.

    Examples:
        >>> translate("en", "site", "tally", right=3, asked=4)
        '3 of 4 right'
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        for check in language_checks:
            check(language)
    k = LANGUAGES.index(language)
    return _fill_placeholders(_load_templates(package, key)[k], values, k)


def build_text(package: str, key: str, /, **values: object) -> Text:
    """Return one text with its values in every language.

    Args:
        package: folder of the text, such as `quiz`.
        key: key of the text.
        **values: as for `translate`.

    Raises:
        KeyError: The package has no such text.

    Examples:
        >>> build_text("site", "tally", right=3, asked=4)[0]
        '3 of 4 right'
    """
    templates = _load_templates(package, key)
    if not values:
        return templates
    return tuple(_fill_placeholders(template, values, k) for k, template in enumerate(templates))


def list_texts(package: str, prefix: str) -> tuple[Text, ...]:
    """Return the texts `prefix.1`, `prefix.2` and so on, as many as there are.

    Args:
        package: folder of the texts.
        prefix: their keys without the number.

    Examples:
        >>> list_texts("lessons", "ring.no_such_texts")
        ()
    """
    english = load_messages("en", package)
    texts: list[Text] = []
    while f"{prefix}.{len(texts) + 1}" in english:
        texts.append(_load_templates(package, f"{prefix}.{len(texts) + 1}"))
    return tuple(texts)


@runtime_checkable
class Translatable(Protocol):
    """What has words in every language: a Sentence, an error."""

    def text(self, language: str) -> str:
        """The words in a language."""


def repeat_text(text: str) -> Text:
    """Return a text that is the same in every language.

    Args:
        text: a number with its unit, a name.
    """
    return (text,) * len(LANGUAGES)


def complete_text(text: Sequence[str]) -> Text:
    """Return a text of somebody's code, which has the first languages, with English for the others.

    Args:
        text: English, and perhaps Chinese.
    """
    return (*text, *[text[0]] * (len(LANGUAGES) - len(text)))


def join_texts(separator: str, texts: Iterable[Text | str]) -> Text:
    """Return texts one after another.

    Args:
        separator: what goes between them, as `collsim/locale/<language>/words/separators.json` calls it: `sentences`,
            `clauses`, `items`, `and`, `or`.
        texts: in order; a `str` is the same in every language.

    Examples:
        >>> join_texts("and", ["rank 0", "rank 1"])[0]
        'rank 0 and rank 1'
    """
    complete_texts = [repeat_text(text) if isinstance(text, str) else text for text in texts]
    between = build_text("words", separator)
    return tuple(between[k].join(text[k] for text in complete_texts) for k in range(len(LANGUAGES)))


def map_languages(text: Text) -> dict[Language, str]:
    """Return a text by language, as pages and players take it.

    Args:
        text: In every language.
    """
    return dict(zip(LANGUAGES, text, strict=True))


def split_languages(texts: Sequence[Text]) -> dict[Language, list[str]]:
    """Return texts as columns of a table, one for each language.

    Args:
        texts: Each in every language.
    """
    return {language: [text[k] for text in texts] for k, language in enumerate(LANGUAGES)}


def match_language(wish: str) -> Language:
    """Return the language that a browser or an address asks for; English for one without texts.

    Args:
        wish: Such as `zh-CN,zh;q=0.9`.

    Examples:
        >>> match_language("zh-CN,zh;q=0.9"), match_language("")
        ('zh', 'en')
    """
    return next((language for language in LANGUAGES if wish.lower().startswith(language)), "en")


def list_items(items: Sequence[Text | str], last: str = "and", between: str = "items") -> Text:
    """Return a list as a sentence has it: `1, 3 and 5`.

    Args:
        items: The entries of the list.
        last: what goes before the last one, as in `join_texts`.
        between: what goes before the others.
    """
    if len(items) < 2:
        return join_texts(between, items)
    return join_texts(last, [join_texts(between, items[:-1]), items[-1]])


def has_text(package: str, key: str) -> bool:
    """Whether a package has a text.

    Args:
        package: folder of the text.
        key: key of the text.
    """
    return key in load_messages("en", package)


def list_placeholders(text: str) -> set[str]:
    """Return the names that stand in braces in a text; a choice of words between two is none."""
    names = {match[1] for match in _PLACEHOLDER.finditer(text) if match[2] is None}
    return {name[:1].lower() + name[1:] for name in names}


@lru_cache(maxsize=4096)
def _load_templates(package: str, key: str) -> Text:
    """A text in each language with its braces; a language that lacks it has the English one."""
    english = load_messages("en", package)[key]
    return tuple(load_messages(language, package).get(key, english) for language in LANGUAGES)


@lru_cache(maxsize=8192)
def _split_template(template: str) -> tuple[tuple[str, re.Match[str] | None], ...]:
    """The words of a template, each with the placeholder behind it; names of thousands of links share one template."""
    parts, start = [], 0
    for match in _PLACEHOLDER.finditer(template):
        parts.append((template[start : match.start()], match))
        start = match.end()
    return (*parts, (template[start:], None))


def _fill_placeholders(template: str, values: Mapping[str, object], k: int) -> str:
    """A template with its values; `k`: which entry of a value that is a Text."""
    return "".join(
        part
        for words, match in _split_template(template)
        for part in (words, "" if match is None else _fill_placeholder(match, values, k))
    )


def choose_words(template: str, values: Mapping[str, object]) -> str:
    """Return a template with one of two words for each choice by a number, its other braces as they are.

    Args:
        template: with choices such as `{count:node|nodes}`.
        values: of the numbers; without one the second word counts.

    Examples:
        >>> choose_words("{count:,} {count:node|nodes}", {"count": 1})
        '{count:,} node'
    """
    return _PLACEHOLDER.sub(
        lambda match: match[0] if match[2] is None else _choose_word(match, values.get(match[1])), template
    )


def _choose_word(match: re.Match[str], value: object) -> str:
    if str(value) == "1":
        return match[2]
    return match[3]


def _fill_placeholder(match: re.Match[str], values: Mapping[str, object], k: int) -> str:
    name, _, plural = match.groups()
    value_name = name
    if name not in values:
        value_name = name[:1].lower() + name[1:]
        if value_name not in values:
            return match[0]
    value = values[value_name]
    if plural is not None:
        return _choose_word(match, value)
    if isinstance(value, tuple):
        text = str(value[k])
    elif isinstance(value, str | int | float):  # before the protocol, whose check takes ten times as long
        text = str(value)
    elif isinstance(value, Translatable):
        text = value.text(LANGUAGES[k])
    else:
        text = str(value)
    if name == value_name or text[1:2].isupper():  # xGMI keeps its small letter
        return text
    return text[:1].upper() + text[1:]
