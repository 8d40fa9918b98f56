"""Who may come in: everybody at this computer, and from the room whoever gave the join code. Knows no Streamlit."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets

from collsim.errors import CollsimError

#: No vowels, so that no word is spelled; no l, which looks like a 1. Six of them are 47 million codes.
_LETTERS = "bcdfghjkmnpqrstvwxz"
LENGTH = 6
#: The variable that sets the code, for a class that keeps one.
VARIABLE = "COLLSIM_JOIN_CODE"


class Admission:
    """A join code, and the cookies of those who gave it: a random word and its signature, so that nothing is stored."""

    def __init__(self, code: str = ""):
        self.code = code or "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))
        self._secret = secrets.token_bytes(32)

    def opens(self, given: str) -> bool:
        """Is this the code? Capitals, blanks and dashes do not count."""
        plain = "".join(given.lower().replace("-", "").split())
        return secrets.compare_digest(plain.encode(), self.code.encode())

    def cookie(self) -> str:
        """A new one."""
        word = secrets.token_urlsafe(12)
        return f"{word}.{self._signature(word)}"

    def knows(self, cookie: str) -> bool:
        """Did this server give that cookie?"""
        word, _, signature = cookie.rpartition(".")
        return secrets.compare_digest(self._signature(word).encode(), signature.encode())

    def _signature(self, word: str) -> str:
        return hmac.new(self._secret, word.encode(), hashlib.sha256).hexdigest()


def code_wanted() -> str:
    """The code that `COLLSIM_JOIN_CODE` sets, or nothing. Raises CollsimError for one that is easily guessed."""
    given = os.environ.get(VARIABLE, "").strip().lower()
    if given and (len(given) < LENGTH or not given.isalnum() or not given.isascii()):
        why = "{variable}={given!r}: a join code is at least {length} letters or digits, of a-z and 0-9"
        raise CollsimError(why, variable=VARIABLE, given=given, length=LENGTH)
    return given
