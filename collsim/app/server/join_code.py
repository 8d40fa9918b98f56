"""The join code of a class, the signed cookies of browsers, and QR codes (ISO/IEC 18004, made by segno) for a terminal
and for a page. Knows no Streamlit."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import secrets
from functools import lru_cache

import segno

from collsim.errors import CollsimError

#: No vowels, so that a code spells no word; no l, which looks like a 1. Six of these letters are 47,045,881 codes.
LETTERS = "bcdfghjkmnpqrstvwxz"
LENGTH = 6
#: The environment variable that sets the code, for a class that keeps its code.
VARIABLE = "COLLSIM_JOIN_CODE"


class CookieSigner:
    """Issues cookies that this server, and no other, recognizes: a random word and its signature, so that the server
    stores nothing.

    Args:
        purpose: enters the signature, so that a cookie of one purpose is none of another.
        secret: the key of the signature.
    """

    def __init__(self, purpose: str, secret: bytes):
        self._purpose, self._secret = purpose, secret

    def issue(self) -> str:
        """Return a new cookie."""
        word = secrets.token_urlsafe(12)
        return f"{word}.{self._sign(word)}"

    def is_issued(self, cookie: str) -> bool:
        """Whether this server issued the cookie."""
        word, _, signature = cookie.rpartition(".")
        return secrets.compare_digest(self._sign(word).encode(), signature.encode())

    def _sign(self, word: str) -> str:
        return hmac.new(self._secret, f"{self._purpose}:{word}".encode(), hashlib.sha256).hexdigest()


class JoinCode:
    """The code that opens the server to a client of the class.

    Attributes:
        code: in lower case.
        members: signs the cookies of clients that have entered the code.
        browsers: signs the cookies of browsers in which somebody has entered a wrong code.
    """

    def __init__(self, code: str = ""):
        """A code with fresh secrets, so that cookies of an earlier server are not valid.

        Args:
            code: Empty for a random one.
        """
        self.code = code or "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        secret = secrets.token_bytes(32)
        self.members, self.browsers = CookieSigner("member", secret), CookieSigner("browser", secret)

    def is_right(self, text: str) -> bool:
        """Whether a text is the code; capitals, blanks and dashes do not count."""
        plain = "".join(text.lower().replace("-", "").split())
        return secrets.compare_digest(plain.encode(), self.code.encode())


def read_join_code() -> str:
    """Return the code that `COLLSIM_JOIN_CODE` sets, or an empty text.

    Raises:
        CollsimError: the code is guessed too easily.
    """
    code = os.environ.get(VARIABLE, "").strip().lower()
    if code and (len(code) < LENGTH or not code.isalnum() or not code.isascii()):
        template = "{variable}={value!r}: a join code is at least {length} letters or digits, of a-z and 0-9"
        raise CollsimError(template, variable=VARIABLE, value=code, length=LENGTH)
    return code


def render_qr_text(text: str) -> str:
    """Return a QR code for a terminal: two modules a character, for light letters on a dark ground. On a light one it
    comes out inverted.

    Args:
        text: An address.
    """
    out = io.StringIO()
    segno.make(text, micro=False).terminal(out, border=2, compact=True)
    return out.getvalue()


@lru_cache(maxsize=64)
def render_qr_svg(text: str) -> str:
    """Return a QR code as an SVG in a data URI, dark on white with the quiet zone of four modules that readers want."""
    return str(segno.make(text, micro=False).svg_data_uri(scale=6, border=4, dark="#000", light="#fff"))
