"""A word of the field, looked up: `cs.glossary`."""

from __future__ import annotations

from ..errors import CollsimError, format_value, join_words
from ..locale.glossary import GlossaryEntry, find_entries, find_near_terms

__all__ = ["glossary"]


def glossary(word: str) -> list[GlossaryEntry]:
    """Look a word of the field up: what it means, its Chinese, and what of collsim shows it.

    Args:
        word: as an article, a script or a log has it; capitals, hyphens and prefixes do not matter.

    Returns:
        One to three rows of the glossary.

    Raises:
        CollsimError: the glossary has no such word; the message names those that are near.

    Examples:
        >>> import collsim as cs
        >>> print(cs.glossary("ncclAllReduce")[0])
        allreduce · 全归约（全规约）: everybody ends with the sum of all buffers
    """
    entries = find_entries(str(word))
    if entries:
        return entries
    if near := find_near_terms(str(word)):
        message = "the glossary has no {word}; did you mean {close}?"
        raise CollsimError(message, word=format_value(word), close=join_words(near, "{first} or {then}"))
    message = "the glossary has no {word}; ask for one word of NCCL, MPI, PyTorch or networks, such as 'GDR'"
    raise CollsimError(message, word=format_value(word))
