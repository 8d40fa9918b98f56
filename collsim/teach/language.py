"""The languages that questions, exercises and worksheets speak."""

from __future__ import annotations

from ..errors import CollsimError, describe_unknown
from ..locale import LANGUAGES


def require_language(language: str) -> str:
    """The language itself. Raises CollsimError for one that is not spoken here."""
    if language not in LANGUAGES:
        raise CollsimError(describe_unknown("language", language, LANGUAGES))
    return language
