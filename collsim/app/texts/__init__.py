"""Every word of the app, by its key: `collsim/locale/LANGUAGE/app`."""

from __future__ import annotations

from collsim.locale import Language, load_messages, translate


def say(language: Language, key: str, /, **values: object) -> str:
    """Return one text. Values stand where the text has their name in braces; braces inside a value are left alone."""
    return translate(language, "app", key, **values)


def has_text(key: str) -> bool:
    """Is there a text of this key?"""
    return key in load_messages("en", "app")
