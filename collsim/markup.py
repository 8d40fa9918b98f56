"""Text on its way into HTML: the one place where a number and its unit get a space that does not break.

Texts of collsim have plain spaces, so that they can be searched, compared and copied. Where a line may break between
`4.73` and `ms`, in HTML and in wrapped titles of pictures, the space becomes U+00A0. `viz/player/model/units.js` does
the same for what the players write.
"""

from __future__ import annotations

import html
import re

#: A space between a digit and a unit; not before `%` as Python's operator (`2 % n`).
UNIT_SPACE = re.compile(
    r" (?=(?:(?:[kKMGT]i?)?B(?:/s)?|[kMGT]?bit/s|ms|[µun]?s|×|倍|times|%(?! \w\b))(?![A-Za-z0-9_]))(?<=[0-9∞] )"
)


def bind_units(text: str) -> str:
    """The text with a no-break space between each number and its unit: `4.73 ms` stays on one line."""
    return UNIT_SPACE.sub("\N{NO-BREAK SPACE}", text)


def escape_text(text: str) -> str:
    """A text as HTML: special characters escaped, numbers bound to their units. For code take `html.escape`."""
    return html.escape(bind_units(text))
