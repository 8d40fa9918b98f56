"""Errors that say what was given, where, and the way out.

Every mistake a user can make ends in a `CollsimError`; doors (CLI, app) show its sentence and nothing else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable
from numbers import Number
from pathlib import Path
from typing import Any

_LONGEST_NAME = 200
_LONGEST_VALUE = 80
_LONGEST_LIST = 600
_MOST_NAMES = 64
_MOST_COMPARED = 2000
_MOST_BITS = 512


class Sentence:
    """Words of ours with values in them, written out when somebody reads them, in the language asked for.

    Attributes:
        key: the English template, with its fields as `str.format` writes them; in the catalogues it stands for the
            sentence (`collsim/chinese/`). Without values it is taken as it is, braces too.
        values: what stands in the fields: numbers, texts, and again sentences or errors.
    """

    __slots__ = ("key", "values")

    def __init__(self, key: str, /, **values: object) -> None:
        self.key, self.values = key, values

    @classmethod
    def of(cls, words: Words | Exception, /, **values: object) -> Sentence:
        """A template with its values as a sentence, or what an error says; a sentence stays as it is."""
        if isinstance(words, CollsimError):
            return words.sentence
        return words if isinstance(words, Sentence) else cls(str(words), **values)

    def text(self, language: str = "en") -> str:
        """The sentence in English (`en`) or Chinese (`zh`); a text that no catalogue has stays as it is."""
        return _filled(_template(self.key, language), self.values, language)

    def __add__(self, other: Words) -> Sentence:
        return Sentence("{first}{then}", first=self, then=other)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Sentence({self.text()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and (self.key, str(self)) == (other.key, str(other))

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return _sentence, (self.key, {name: _lasting(value) for name, value in self.values.items()})


Words = str | Sentence


class CollsimError(ValueError):
    """A mistake in what collsim was given: the value, the place, and how to mend it.

    Raised with a template and the values of its fields, or with a Sentence. `str(error)` is the English sentence,
    `error.text("zh")` the Chinese one; `key` and `values` are those of its Sentence.
    """

    _most = 4000  # characters of a message, whatever stands in it

    def __init__(self, template: Words = "", /, **values: object) -> None:
        super().__init__(template)
        self.sentence = Sentence.of(template, **values)

    @property
    def key(self) -> str:
        """The English template."""
        return self.sentence.key

    @property
    def values(self) -> dict[str, object]:
        """What stands in its fields."""
        return self.sentence.values

    def text(self, language: str = "en") -> str:
        """The sentence in English (`en`) or Chinese (`zh`)."""
        text, half = self.sentence.text(language), self._most // 2  # the way out stands at the end
        return text if len(text) <= self._most else f"{text[:half]} … {text[3 - half :]}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (type(self), {**self.__dict__})


class ScheduleError(CollsimError):
    """A schedule that cannot run, or that does not do what its collective promises.

    Attributes:
        step, rank, chunk: where it went wrong (0-based), or None where that has no meaning. In the template `{rank}`
            and `{chunk}` are these, and `{step}` is counted from 1, as everything that people read counts steps.
        from_start: no step makes it wrong, it is so from the start; `step` is 0 then.
        origin, cell: where it begins (`collsim.verify.origin`), and the cell (endpoint, slot) in which it shows, where
            `verify` found both.
    """

    from_start = False
    origin: Any = None
    cell: tuple[int | None, int | None] | None = None

    def __init__(
        self,
        template: Words = "",
        /,
        *,
        step: int | None = None,
        rank: int | None = None,
        chunk: int | None = None,
        **values: object,
    ):
        place = {"step": None if step is None else step + 1, "rank": rank, "chunk": chunk}
        super().__init__(template, **{name: at for name, at in place.items() if at is not None}, **values)
        self.step, self.rank, self.chunk = step, rank, chunk


class TopologyError(CollsimError):
    """A machine or network that cannot be built, or on which ranks cannot reach each other."""


class FormatError(CollsimError):
    """A file that is not what it claims to be: file, line or element, and what was expected."""

    _most = 1000


def _template(key: str, language: str) -> str:
    """What stands for a key in a catalogue."""
    if language != "zh":
        return key
    from .chinese import CATALOGUE  # late: most runs need no word of it

    return CATALOGUE.get(key, key)


def _filled(template: str, values: dict[str, object], language: str) -> str:
    """The template with its values in it; whatever these are, it ends in words."""
    if not values:
        return template
    said = {name: value.text(language) if isinstance(value, _SPEAKING) else value for name, value in values.items()}
    with contextlib.suppress(Exception):  # a value that cannot be written, or not as its field wants it
        return template.format_map(said)
    with contextlib.suppress(Exception):  # somebody's own words with braces in them
        return template.format_map({name: _Written(value) for name, value in said.items()})
    return template


class _Written:
    """A value as it is written, for what cannot be kept or written otherwise; the same whatever a field asks for."""

    __slots__ = ("bare", "quoted")

    def __init__(self, value: object) -> None:
        self.bare, self.quoted = _safely(str, value), _safely(repr, value)

    def __str__(self) -> str:
        return self.bare

    def __repr__(self) -> str:
        return self.quoted

    def __format__(self, spec: str) -> str:
        return self.bare


def _safely(writing: Callable[[object], str], value: object) -> str:
    try:
        return writing(value)
    except Exception:  # whatever somebody's own class does
        return str(shown(value)) if isinstance(value, int) else f"a {type(value).__name__}"


def _lasting(value: object) -> object:
    """A value that goes to another process: numbers, texts and sentences as they are, everything else as written."""
    if isinstance(value, CollsimError):
        return value.sentence
    return value if value is None or isinstance(value, str | Number | Sentence | _Written) else _Written(value)


def _sentence(key: str, values: dict[str, object]) -> Sentence:
    return Sentence(key, **values)


def _error(kind: type[CollsimError], state: dict[str, Any]) -> CollsimError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.sentence,)
    return error


_SPEAKING = (Sentence, CollsimError)


def shown(value: object, most: int = _LONGEST_VALUE) -> Words:
    """A value in a message, as Python writes it and however long it is: the first characters of what somebody gave.

    >>> print(shown("9" * 900_000, 8))
    '9999999…' of 900,000 characters
    """
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return Sentence("a number of {bits:,} bits", bits=value.bit_length())
    try:
        text = repr(value[:most]) if isinstance(value, str) else repr(value)
    except Exception:  # long numbers or deep lists inside, or whatever somebody's own class does
        return Sentence("a {kind}", kind=type(value).__name__)
    if isinstance(value, str) and len(value) > most:
        return Sentence("{start}…' of {length:,} characters", start=repr(value[: most - 1])[:-1], length=len(value))
    return text if len(text) <= max(most, _LONGEST_VALUE) + 2 else f"{text[:most]}…"


def unknown(what: Words, name: object, known: Iterable[str]) -> Sentence:
    """The sentence for an unknown name, with the nearest known ones (or those that contain it: `"ring"` for
    `"allreduce_ring"`).

    >>> print(unknown("machine", "dgx-h10", ["dgx-h100", "dgx-1v"]))
    unknown machine 'dgx-h10'; did you mean 'dgx-h100'?
    """
    names = sorted(known)
    said = {"what": Sentence.of(what), "name": shown(name, _LONGEST_NAME)}
    text = name if isinstance(name, str) else str(shown(name))
    if (
        len(text) <= _LONGEST_NAME
    ):  # a longer one is from a damaged file; the search for near names would take its square
        word = text.lower()
        short = [n for n in names[:_MOST_COMPARED] if len(n) <= _LONGEST_NAME]
        from difflib import get_close_matches  # only mistakes need it

        close = get_close_matches(text, short, n=3, cutoff=0.6)
        close += [n for n in short if len(word) > 2 and word in n.lower() and n not in close][:5]
        if close:
            return Sentence(
                "unknown {what} {name}; did you mean {close}?",
                **said,
                close=in_a_row(map(repr, close), "{first} or {then}"),
            )
    return Sentence("unknown {what} {name}; known: {known}", **said, known=_listed(names))


def in_a_row(parts: Iterable[Words], joint: str = "{first}, {then}") -> Words:
    """Several words or sentences one after another, `joint` between each and the next; nothing for none."""
    said, *others = [*parts] or [""]
    for other in others:
        said = Sentence(joint, first=said, then=other)
    return said


def _listed(names: list[str]) -> Words:
    """The names, as many of them as can be read."""
    length = 0
    for count, name in enumerate(names):
        length += len(name) + 2
        if length > _LONGEST_LIST or count == _MOST_NAMES:
            return Sentence("{names} and {more:,} more", names=", ".join(names[:count]), more=len(names) - count)
    return ", ".join(names) or Sentence("none")


def require_word(what: Words, value: object, known: Collection[str], error: type[CollsimError] = CollsimError) -> str:
    """The value, if it is one of the known words. Raises `error` with the nearest ones for anything else, of whatever
    type."""
    if not isinstance(value, str) or value not in known:
        raise error(unknown(what, value, known))
    return value


def require_list(name: str, values: object, example: str) -> None:
    """Raises CollsimError for what is no list, with one that is."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        why = "{name}={values!r} must be a list, for example {example}"
        raise CollsimError(why, name=name, values=values, example=example)


def require_path(value: object, what: Words = "path") -> Path:
    """A path from a text or a Path. Raises CollsimError for anything else (a number would be taken for an open
    file)."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(place := os.fspath(value), bytes):
        raise CollsimError(
            "{what}={value!r} is not a path; give a text or a Path, for example 'ring.html'", what=what, value=value
        )
    if "\0" in place:
        raise CollsimError("{what}={value!r} is not a path; it has a zero byte in it", what=what, value=value)
    return Path(place)
