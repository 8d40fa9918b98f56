"""What stands in an address: words, each with the field that it sets and how it is read and written. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from collsim.errors import CollsimError, Words

LONGEST = 60


@dataclass(frozen=True)
class Complaint:
    """A part of an address that cannot be used: what it said, why not, and what is used in its place."""

    name: str
    value: str
    why: Words
    used: str


def shortened(text: str, most: int = LONGEST) -> str:
    """At most so much of a text that a stranger wrote."""
    return text if len(text) <= most else text[: most - 1] + "…"


def written(value: Any) -> str:
    """A value as it stands in an address."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def size_word(nbytes: int) -> str:
    """A size as an address has it: in the largest unit of which it is a whole number."""
    units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    return next((f"{nbytes // unit}{name}" for unit, name in units if nbytes and nbytes % unit == 0), f"{nbytes}B")


@dataclass(frozen=True)
class Word:
    """One word of an address.

    Attributes:
        read: makes a value of its text, or raises CollsimError; None where other words are needed to read it, so that
        the address's `agree` does.
        field: of the value that the address is of; the word itself unless said. Several, with a comma, where the text
        holds several values.
        limit: characters that its text may have. write: makes the text of a value.
        instead: what a complaint says is used in its place; unless said, what the field, or the one named in `usual`,
        is without it.
    """

    name: str
    read: Callable[[str], Any] | None = None
    field: str = ""
    limit: int = LONGEST
    write: Callable[[Any], str] = written
    instead: str | None = None
    usual: str = ""

    @property
    def fields(self) -> list[str]:
        return (self.field or self.name).split(",")

    def of(self, field: str) -> Word:
        """The same word where it sets another field."""
        return replace(self, field=field)

    def found(self, text: str, plain: Any, complaints: list[Complaint]) -> dict[str, Any]:
        """The fields that a text sets; none, and a complaint, where it cannot be used."""
        try:
            if len(text) > self.limit:
                raise CollsimError("{characters} characters are too many.", characters=len(text))
            value = self.read(text) if self.read else text
        except CollsimError as error:
            used = str(getattr(plain, self.usual)) if self.usual else self.instead or self.said(plain) or "–"
            complaints.append(Complaint(self.name, shortened(text), error.sentence, used))
            return {}
        return dict(zip(self.fields, value if len(self.fields) > 1 else (value,), strict=True))

    def said(self, value: Any) -> str:
        """Its text for what a value holds; empty where the value has no such field."""
        held = [getattr(value, name, None) for name in self.fields]
        return "" if None in held else self.write(held[0] if len(held) == 1 else tuple(held))


def read_words(
    words: Iterable[Word], query: Mapping[str, str], plain: Any = None
) -> tuple[dict[str, Any], list[Complaint]]:
    """Fields that the words of a query set, and complaints; nothing is raised."""
    found: dict[str, Any] = {}
    complaints: list[Complaint] = []
    for word in words:
        if word.name in query and word.read is not None:
            found |= word.found(query[word.name], plain, complaints)
    return found, complaints


#: Makes the value of the fields found in a query, and adds to the complaints.
Agree = Callable[[dict[str, Any], Mapping[str, str], list[Complaint]], Any]


@dataclass(frozen=True)
class PageAddress:
    """What of a value stands in an address.

    Attributes:
        plain: the value of a bare address.
        words: in the order in which they are read.
        agree: makes the value where fields depend on one another; unless given, `plain` with the fields that were
        found.
        adapt: changes the words of a value where more than its differences from `plain` must be said, or less.
    """

    plain: Any = None
    words: tuple[Word, ...] = ()
    agree: Agree | None = None
    adapt: Callable[[Any, dict[str, str]], dict[str, str]] | None = None

    def read(self, query: Mapping[str, str]) -> tuple[Any, list[Complaint]]:
        """The value that a query asks for, and complaints about what cannot be used; nothing is raised."""
        found, complaints = read_words(self.words, query, self.plain)
        if self.agree is not None:
            return self.agree(found, query, complaints), complaints
        return replace(self.plain, **found) if found else self.plain, complaints

    def write(self, value: Any) -> dict[str, str]:
        """The words that ask for a value; what is as usual is left out."""
        said = {word.name: word.said(value) for word in self.words if word.said(value) != word.said(self.plain)}
        said = said if self.adapt is None else self.adapt(value, said)
        return {name: text for name, text in said.items() if text}
