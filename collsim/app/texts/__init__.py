"""Every word of the app, by its key: `collsim/locale/LANGUAGE/app`."""

from __future__ import annotations

from collsim.locale import LANGUAGES, Language, Text, load_messages, translate


def say(language: Language, key: str, /, **values: object) -> str:
    """Return one text. Values stand where the text has their name in braces; braces inside a value are left alone."""
    return translate(language, "app", key, **values)


def write_texts(key: str, /, **values: object) -> Text:
    """Return one text in every language. A value may be a Text itself.

    Args:
        key: Key of the text.
        **values: What stands in braces in it.
    """
    return tuple(
        say(language, key, **{name: value[k] if isinstance(value, tuple) else value for name, value in values.items()})
        for k, language in enumerate(LANGUAGES)
    )


def has_text(key: str) -> bool:
    """Is there a text of this key?"""
    return key in load_messages("en", "app")
