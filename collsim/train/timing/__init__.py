"""When the tasks of a step run: each collective by itself, or all of them on the links that they share."""

from .alone import alone
from .shared import Part, SharedPart, shared
from .spans import common, joined, length, without

__all__ = ["Part", "SharedPart", "alone", "common", "joined", "length", "shared", "without"]
