"""What stands in an address: words, each with the field that it sets and how it is read and written. Nothing here knows
Streamlit."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, TypeVar

from collsim.errors import CollsimError, Words

LONGEST = 60
T = TypeVar("T")


@dataclass(frozen=True)
class Complaint:
    """A part of an address that cannot be used.

    Attributes:
        name: of the parameter.
        value: what the address says.
        reason: why that cannot be used.
        used: what is used in its place.
    """

    name: str
    value: str
    reason: Words
    used: str


def shorten(text: str, most: int = LONGEST) -> str:
    """At most so much of a text that a stranger wrote.

    Args:
        text: The text.
        most: Number of characters to keep.
    """
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"


def write_value(value: object) -> str:
    """A value as it stands in an address.

    Args:
        value: The value.
    """
    if isinstance(value, bool):
        return {True: "on", False: "off"}[value]
    return str(value)


def split_words(text: str) -> dict[str, str]:
    """Split a run or a step that is one word of an address: `algorithm:allreduce_tree;machine:dgx-a100`. Rows of
    numbers in a value have `|` between them, as `join_words` writes them.

    Args:
        text: From an address; what is not name:value is left out.

    Returns:
        The values by their names.
    """
    parts = (part.split(":", 1) for part in text.split(";") if ":" in part)
    return {name: value.replace("|", ";") for name, value in parts}


def join_words(words: Mapping[str, str]) -> str:
    """Write a run or a step as one word of an address, which `split_words` reads.

    Args:
        words: The values by their names.
    """
    return ";".join(f"{name}:{value.replace(';', '|')}" for name, value in words.items())


def require_words(text: str) -> str:
    """A run or a step that is one word of an address, as it was written. Whether there are such names and values is
    seen when it is raced.

    Args:
        text: From an address.

    Raises:
        CollsimError: A part is not name:value.
    """
    if not all(":" in part for part in text.split(";")):
        raise CollsimError("it is not name:value")
    return text


def pack_text(text: str) -> str:
    """A text as letters that an address may hold.

    Args:
        text: The text.
    """
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack_text(letters: str, most: int) -> str:
    """The text that was packed, never more than so many bytes of it.

    Args:
        letters: As an address has it.
        most: Bytes of the text.

    Raises:
        ValueError: That is no packed text.
        EOFError: It is cut short, or longer.
    """
    opened = zlib.decompressobj()
    try:
        raw = opened.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), most)
    except zlib.error as error:
        raise ValueError("not packed") from error
    text = raw.decode()
    if not opened.eof or opened.unconsumed_tail:
        raise EOFError
    return text


def write_size(nbytes: int) -> str:
    """A size as an address has it: in the largest unit of which it is a whole number.

    Args:
        nbytes: A number of bytes.
    """
    units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    return next((f"{nbytes // unit}{name}" for unit, name in units if nbytes and nbytes % unit == 0), f"{nbytes}B")


@dataclass(frozen=True)
class Word:
    """One word of an address.

    Attributes:
        name: the parameter of the address.
        read: makes a value of its text, or raises CollsimError; None where other words are needed to read it, so that
            the address's `agree` does.
        field: of the value that the address is of; the word itself unless said. Several, with a comma, where the text
            holds several values.
        limit: characters that its text may have.
        write: makes the text of a value.
        instead: what a complaint says is used in its place; unless said, what the field is without it.
        default_field: the field whose value a complaint names, where it is not the one that the word sets.
    """

    name: str
    read: Callable[[str], Any] | None = None
    field: str = ""
    limit: int = LONGEST
    write: Callable[[Any], str] = write_value
    instead: str | None = None
    default_field: str = ""

    @property
    def fields(self) -> list[str]:
        return (self.field or self.name).split(",")

    def read_fields(self, text: str, plain: Any, complaints: list[Complaint]) -> dict[str, Any]:
        """The fields that a text sets; none, and a complaint, where it cannot be used.

        Args:
            text: The text.
            plain: The value that a bare address stands for.
            complaints: Gets an entry for each word that cannot be used.
        """
        try:
            if len(text) > self.limit:
                raise CollsimError("{characters} characters are too many.", characters=len(text))
            value: Any = text
            if self.read:
                value = self.read(text)
        except CollsimError as error:
            if self.default_field:
                used = str(getattr(plain, self.default_field))
            else:
                used = self.instead or self.write_fields(plain) or "–"
            complaints.append(Complaint(self.name, shorten(text), error.sentence, used))
            return {}
        if len(self.fields) == 1:
            value = (value,)
        return dict(zip(self.fields, value, strict=True))

    def write_fields(self, value: object) -> str:
        """Its text for what a value holds; empty where the value has no such field.

        Args:
            value: The value.
        """
        values = [getattr(value, name, None) for name in self.fields]
        if None in values:
            return ""
        if len(values) == 1:
            return self.write(values[0])
        return self.write(tuple(values))


#: Controls: a list that folds up, values in sight, a text with a unit, a whole number, on or off, several of a list.
ControlKind: TypeAlias = Literal["menu", "segments", "quantity", "number", "switch", "several"]


@dataclass(frozen=True)
class Control:
    """What sets a field of a page, as `shell.form` draws it.

    Attributes:
        kind: Which control it is.
        known: The values on offer; whatever else the field holds joins them.
        least: The least number.
        most: The largest number.
        text: Key of the label where it is another one than that of the field on its page.
        names: What values are called: the beginning of the keys of their texts, or `machine` or `algorithm`.
    """

    kind: ControlKind
    known: Callable[[], Iterable[Any]] = tuple
    least: int = 1
    most: int = 1
    text: str = ""
    names: str = ""


def declare_word(
    default: T,
    read: Callable[[str], Any] | None,
    name: str = "",
    *,
    limit: int = LONGEST,
    write: Callable[[Any], str] = write_value,
    instead: str | None = None,
    control: Control | None = None,
) -> T:
    """A field of a dataclass that stands in the address of a page as a word.

    Args:
        default: Value of the field in a bare address.
        read: As in `Word`.
        name: The word in an address; the name of the field unless given.
        limit: As in `Word`.
        write: As in `Word`.
        instead: As in `Word`.
        control: What sets it on the page.
    """
    word = Word(name, read, limit=limit, write=write, instead=instead)
    return field(default=default, metadata={"word": word, "control": control})


def get_field(value: Any, name: str) -> tuple[Word, Control]:
    """The word and the control of a field.

    Args:
        value: A dataclass, or a value of one.
        name: The field.
    """
    metadata = next(entry.metadata for entry in fields(value) if entry.name == name)
    return metadata["word"], metadata["control"]


def list_words(value: Any) -> tuple[Word, ...]:
    """The words that the fields of a dataclass declare, in their order.

    Args:
        value: The dataclass, or a value of it.
    """
    declared = [(entry.name, entry.metadata["word"]) for entry in fields(value) if "word" in entry.metadata]
    return tuple(replace(word, name=word.name or name, field=name) for name, word in declared)


def read_words(
    words: Iterable[Word], query: Mapping[str, str], plain: object = None
) -> tuple[dict[str, Any], list[Complaint]]:
    """Fields that the words of a query set, and complaints; nothing is raised.

    Args:
        words: The words that an address may hold.
        query: Words of the address.
        plain: The value that a bare address stands for.
    """
    fields: dict[str, object] = {}
    complaints: list[Complaint] = []
    for word in words:
        if word.name in query and word.read is not None:
            fields |= word.read_fields(query[word.name], plain, complaints)
    return fields, complaints


#: Makes the value of the fields found in a query, and adds to the complaints.
Agree = Callable[[dict[str, Any], Mapping[str, str], list[Complaint]], object]


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

    def read(self, query: Mapping[str, str]) -> tuple[object, list[Complaint]]:
        """The value that a query asks for, and complaints about what cannot be used; nothing is raised.

        Args:
            query: Words of the address.
        """
        fields, complaints = read_words(self.words, query, self.plain)
        if self.agree is not None:
            return self.agree(fields, query, complaints), complaints
        if not fields:
            return self.plain, complaints
        return replace(self.plain, **fields), complaints

    def write(self, value: object) -> dict[str, str]:
        """The words that ask for a value; what is as usual is left out.

        Args:
            value: The value.
        """
        words = {
            word.name: word.write_fields(value)
            for word in self.words
            if word.write_fields(value) != word.write_fields(self.plain)
        }
        if self.adapt is not None:
            words = self.adapt(value, words)
        return {name: text for name, text in words.items() if text}
