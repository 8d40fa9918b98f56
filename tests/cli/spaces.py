"""What counts as a space that people do not type."""

import unicodedata


def odd_spaces(text):
    """Spaces, joiners and line separators in a text other than the plain ones."""
    return {unicodedata.name(c) for c in set(text) if unicodedata.category(c) in ("Zs", "Zl", "Zp", "Cf") and c != " "}
