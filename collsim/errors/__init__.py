"""Errors that say what was given, where, and how to correct it.

Every mistake a user can make ends in a `CollsimError`; the command line and the app show its sentence and nothing else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from ..locale import LANGUAGES, Text, choose_words, language_checks, load_messages
from ..locale.glossary import find_entries
from ..locale.synonyms import find_near_names, load_absent_names, simplify_word

#: Characters of names, values and lists in a message, and names in a list: whatever is passed, an error stays readable.
_LONGEST_NAME = 200
_LONGEST_VALUE = 80
_LONGEST_LIST = 600
_MAX_NAMES = 64
#: Python itself refuses to write whole numbers of more than 4,300 digits.
_MAX_BITS = 512


class Sentence:
    """A template with values for its fields, filled in when somebody reads it, in the language they read.

    Attributes:
        key: the English template, with its fields as `str.format` writes them; the catalogs find the translation by it
            (`collsim/locale/zh/errors/`). A template without values is taken as it is, braces too.
        values: what stands in the fields: numbers, texts, and again sentences or errors.

    Examples:
        >>> str(Sentence("step {number}", number=3))
        'step 3'
    """

    __slots__ = ("key", "values")

    def __init__(self, key: str, /, **values: object) -> None:
        """A sentence to be.

        Args:
            key: English template, with `{name}` for each value.
            values: By name; a Sentence among them is translated too.
        """
        self.key, self.values = key, values

    @classmethod
    def from_words(cls, words: Words | Exception, /, **values: object) -> Sentence:
        """Make a sentence of a text, a sentence or an error.

        Args:
            words: a template, whose fields `values` fill; a sentence, which stays as it is; or an error, whose sentence
                it is.
            values: of the fields of a template.

        Returns:
            The sentence.
        """
        if isinstance(words, CollsimError):
            return words.sentence
        if isinstance(words, Sentence):
            return words
        return cls(str(words), **values)

    def text(self, language: str = "en") -> str:
        """Fill in the template.

        Args:
            language: `en` or `zh`; a template that no catalog has stays English.

        Returns:
            The sentence in that language.
        """
        return _fill_template(_find_template(self.key, language), self.values, language)

    @property
    def texts(self) -> Text:
        """The sentence in every language, in the order of `LANGUAGES`."""
        return tuple(map(self.text, LANGUAGES))

    def capitalize(self) -> Sentence:
        """The sentence with a capital letter at its begin in English, whatever its template begins with.

        Examples:
            >>> str(Sentence("rank {rank} waits", rank=3).capitalize())
            'Rank 3 waits'
        """
        return _CapitalizedSentence(self.key, **self.values)

    def rename(self, names: Mapping[str, Text]) -> Sentence:
        """The sentence with other names for the things that its values are, in the sentences inside it too.

        Args:
            names: What to write for a value that is one of these texts: the name of a link as a picture has it.

        Examples:
            >>> sentence = Sentence("{link} is busy", link="node0/gpu0 → node0/nic0")
            >>> str(sentence.rename({"node0/gpu0 → node0/nic0": ("GPU 0 → NIC 0", "GPU 0 → 网卡 0")}))
            'GPU 0 → NIC 0 is busy'
        """
        values: dict[str, object] = {}
        for field, value in self.values.items():
            if isinstance(value, Sentence):
                value = value.rename(names)
            elif isinstance(value, str) and value in names:
                value = _Name(names[value])
            values[field] = value
        return Sentence(self.key, **values)

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
        values = {name: _make_picklable(value) for name, value in self.values.items()}
        return _rebuild_sentence, (type(self), self.key, values)


Words = str | Sentence


class CollsimError(ValueError):
    """A mistake in what collsim was given: the value, the place, and how to correct it.

    Raised with a template and the values of its fields, or with a Sentence. `str(error)` is the English sentence,
    `error.text("zh")` the Chinese one.

    Attributes:
        sentence: the template and its values.

    Examples:
        >>> error = CollsimError("ranks={ranks} is too small", ranks=0)
        >>> str(error), error.values
        ('ranks=0 is too small', {'ranks': 0})
    """

    _MAX_CHARACTERS = 4000  # of a message, however long the values in it are

    def __init__(self, template: Words = "", /, **values: object) -> None:
        """An error with its sentence.

        Args:
            template: English, with `{name}` for each value; or a Sentence, as it is.
            values: By name.
        """
        super().__init__(template)
        self.sentence = Sentence.from_words(template, **values)

    @property
    def key(self) -> str:
        """The English template."""
        return self.sentence.key

    @property
    def values(self) -> dict[str, object]:
        """The values of the template's fields, by name."""
        return self.sentence.values

    def text(self, language: str = "en") -> str:
        """The sentence; one that is too long loses its middle, since its end says how to correct the mistake.

        Args:
            language: `en` or `zh`.

        Returns:
            At most 4,000 characters, and 1,000 for a FormatError.
        """
        text = self.sentence.text(language)
        if len(text) <= self._MAX_CHARACTERS:
            return text
        half = self._MAX_CHARACTERS // 2
        return f"{text[:half]} … {text[3 - half :]}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (type(self), {**self.__dict__})


class UnknownEntryError(CollsimError, KeyError):
    """A catalog (`cs.algorithms()`, `cs.machines()`, ...) has no entry of that name; the message has the nearest.

    It is a KeyError too, so that `in` and `get` work as for any mapping.

    Examples:
        >>> import collsim as cs
        >>> cs.machines()["dgx-h10"]
        Traceback (most recent call last):
        collsim.errors.UnknownEntryError: unknown entry 'dgx-h10'; did you mean 'dgx-h100' or 'dgx-a100' or 'dgx-1v'?
    """


class ScheduleError(CollsimError):
    """A schedule that cannot run, or that does not do what its collective promises.

    In the template `{rank}` and `{chunk}` are the attributes of that name, and `{step}` is counted from 1, as in
    everything that people read.

    Attributes:
        step: the step in which it goes wrong, from 0; None where that has no meaning.
        rank: the endpoint at which it goes wrong, likewise.
        chunk: the slot in which it goes wrong, likewise.
        from_start: no step makes it wrong, it is so from the start; `step` is 0 then.
        origin: where it begins (`collsim.verify.origin.Origin`), where `verify` finds that.
        cell: the endpoint and the slot in which it shows at the end, where `verify` finds the origin.

    Examples:
        >>> import collsim as cs
        >>> cs.steps.repeat("no step", times=2, shift=1, modulus=2)
        Traceback (most recent call last):
        ...
        collsim.errors.ScheduleError: repeat wants a step made with copy(...) or reduce(...), got 'no step'
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
        """An error with its sentence and its place in the schedule.

        Args:
            template: As in `CollsimError`; `{step}` counts from 1, as people do.
            step: From 0; None where no step is meant.
            rank: None where no rank is meant.
            chunk: None where no chunk is meant.
            values: As in `CollsimError`.
        """
        if step is not None:
            values["step"] = step + 1
        if rank is not None:
            values["rank"] = rank
        if chunk is not None:
            values["chunk"] = chunk
        super().__init__(template, **values)
        self.step, self.rank, self.chunk = step, rank, chunk


class TopologyError(CollsimError):
    """A machine or network that cannot be built, or on which ranks cannot reach each other.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.switch(4)["gpu9"]  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        collsim.errors.TopologyError: ...'gpu9'...
    """


class FormatError(CollsimError):
    """A file that is not what it claims to be: file, line or element, and what was expected.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.parse_topology_text("speed: 3")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        collsim.errors.FormatError: text, line 1: topology: unknown key 'speed'; known: ...
    """

    _MAX_CHARACTERS = 1000


def _find_template(key: str, language: str) -> str:
    if language == "en":
        return key
    if language not in LANGUAGES:
        return key
    return load_messages(language, "errors").get(key, key)


def _fill_template(template: str, values: dict[str, object], language: str) -> str:
    """The template with its values in it. It never fails, since it is used where something went wrong already."""
    if not values:
        return template
    if "|" in template:
        template = choose_words(template, values)
    texts = {name: value.text(language) if isinstance(value, _HAS_TEXT) else value for name, value in values.items()}
    with contextlib.suppress(Exception):  # a value that cannot be written, or not as its field wants it
        return template.format_map(texts)
    with contextlib.suppress(Exception):  # braces that are no fields
        return template.format_map({name: _WrittenValue(value) for name, value in texts.items()})
    return template


class _CapitalizedSentence(Sentence):
    """A sentence that stands alone."""

    __slots__ = ()

    def text(self, language: str = "en") -> str:
        words = super().text(language)
        if language == "en":
            words = words[:1].upper() + words[1:]
        return words


class _Name(NamedTuple):
    """What a thing is called in each language."""

    names: Text

    def text(self, language: str) -> str:
        if language not in LANGUAGES:
            return self.names[0]
        return self.names[LANGUAGES.index(language)]

    def __str__(self) -> str:
        return self.names[0]


class _WrittenValue:
    """The text of a value that cannot be pickled or formatted; the same text whatever format its field asks for."""

    __slots__ = ("plain", "quoted")

    def __init__(self, value: object) -> None:
        self.plain, self.quoted = _write_safely(str, value), _write_safely(repr, value)

    def __str__(self) -> str:
        return self.plain

    def __repr__(self) -> str:
        return self.quoted

    def __format__(self, spec: str) -> str:
        return self.plain


def _write_safely(write: Callable[[object], str], value: object) -> str:
    try:
        return write(value)
    except Exception:  # whatever the class of the value does
        if isinstance(value, int):
            return str(format_value(value))
        return f"a {type(value).__name__}"


def _make_picklable(value: object) -> object:
    """A value that goes to another process: numbers, texts and sentences as they are, everything else as its text."""
    if isinstance(value, CollsimError):
        return value.sentence
    if value is None or isinstance(value, str | Number | Sentence | _Name | _WrittenValue):
        return value
    return _WrittenValue(value)


def _rebuild_sentence(kind: type[Sentence], key: str, values: dict[str, object]) -> Sentence:
    return kind(key, **values)


def _rebuild_error(kind: type[CollsimError], state: dict[str, Any]) -> CollsimError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.sentence,)
    return error


_HAS_TEXT = (Sentence, CollsimError, _Name)


def format_value(value: object, longest: int = _LONGEST_VALUE) -> Words:
    """Write a value as Python does, and no more than its first characters, for a message about what somebody gave.

    Args:
        value: anything.
        longest: characters that are written.

    Returns:
        The text, or a sentence where the value is too long or cannot be written.

    Examples:
        >>> print(format_value("9" * 900_000, 8))
        '9999999…' of 900,000 characters
    """
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return Sentence("a number of {bits:,} bits", bits=value.bit_length())
    try:
        if isinstance(value, str):
            text = repr(value[:longest])
        else:
            text = repr(value)
    except Exception:  # long numbers or deep lists inside, or whatever the class of the value does
        return Sentence("a {kind}", kind=type(value).__name__)
    if "\n" in text:  # a table or an array of many lines: its type says more
        return Sentence("a {kind}", kind=type(value).__name__)
    if isinstance(value, str) and len(value) > longest:
        return Sentence("{start}…' of {length:,} characters", start=repr(value[: longest - 1])[:-1], length=len(value))
    if len(text) <= max(longest, _LONGEST_VALUE) + 2:
        return text
    return f"{text[:longest]}…"


def describe_unknown(what: Words, name: object, known: Iterable[str]) -> Sentence:
    """Say that a name is unknown, with the nearest known ones.

    Args:
        what: what it should be the name of.
        name: what was given.
        known: all names that there are. What other tools call so is the answer (`"alpha"` for `"latency"`); else those
            that contain the given name count as near, too, as `"allreduce_ring"` does for `"ring"`. A word of the
            field that is near none is explained as in the glossary.

    Returns:
        The sentence.

    Examples:
        >>> print(describe_unknown("machine", "dgx-h10", ["dgx-h100", "cluster"]))
        unknown machine 'dgx-h10'; did you mean 'dgx-h100'?
    """
    names = sorted(known)
    values: dict[str, object] = {"what": Sentence.from_words(what), "name": format_value(name, _LONGEST_NAME)}
    if isinstance(name, str):
        text = name
    else:
        text = str(format_value(name))
    if len(text) <= _LONGEST_NAME:
        if reason := load_absent_names().get(simplify_word(text)):
            return Sentence("unknown {what} {name}: {reason}", **values, reason=Sentence(reason))
        close = find_near_names(text, names)
        if close:
            close_names = join_words(map(repr, close), "{first} or {then}")
            return Sentence("unknown {what} {name}; did you mean {close}?", **values, close=close_names)
        if what != "key" and (entries := find_entries(text)):  # a key of a file is no word of the field
            values["meaning"] = _Name(entries[0].meanings)
            unknown = Sentence("unknown {what} {name} (the glossary: {meaning})", **values)
            return Sentence("{unknown}; known: {known}", unknown=unknown, known=_list_names(names))
    unknown = Sentence("unknown {what} {name}", **values)
    return Sentence("{unknown}; known: {known}", unknown=unknown, known=_list_names(names))


def join_words(parts: Iterable[Words], joint: str = "{first}, {then}") -> Words:
    """Put words or sentences one after another.

    Args:
        parts: the words; nothing is the empty text.
        joint: a template for two of them, with the fields `first` and `then`.

    Returns:
        One text or sentence.

    Examples:
        >>> print(join_words(["ring", "tree", "mesh"], "{first} or {then}"))
        ring or tree or mesh
    """
    sentence, *others = [*parts] or [""]
    for other in others:
        sentence = Sentence(joint, first=sentence, then=other)
    return sentence


def _list_names(names: list[str]) -> Words:
    """The names, as many of them as can be read."""
    length = 0
    for count, name in enumerate(names):
        length += len(name) + 2
        if length > _LONGEST_LIST or count == _MAX_NAMES:
            return Sentence("{names} and {more:,} more", names=", ".join(names[:count]), more=len(names) - count)
    return ", ".join(names) or Sentence("none")


def require_word(what: Words, value: object, known: Collection[str], error: type[CollsimError] = CollsimError) -> str:
    """Check that a value is one of the known words.

    Args:
        what: what the word stands for, for the message.
        value: what was given, of whatever type.
        known: the words.
        error: the class to raise.

    Returns:
        The value.

    Raises:
        CollsimError: it is none of them; the message has the nearest ones. It is of the class `error`.

    Examples:
        >>> require_word("engine", "event", ("event", "lockstep"))
        'event'
    """
    if not isinstance(value, str) or value not in known:
        raise error(describe_unknown(what, value, known))
    return value


def require_flags(**flags: object) -> None:
    """Check that options are True or False.

    Args:
        **flags: their values by name.

    Raises:
        CollsimError: one is neither.

    Examples:
        >>> require_flags(overlap=True)
    """
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise CollsimError("{name}={value!r} must be True or False", name=name, value=value)


def require_language(language: str) -> str:
    """Check that there are texts in a language.

    Args:
        language: `en` or `zh`.

    Returns:
        The language.

    Raises:
        CollsimError: there are none.

    Examples:
        >>> require_language("zh")
        'zh'
    """
    return require_word("language", language, LANGUAGES)


language_checks.append(require_language)


def is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value is a list or something else to iterate over, and no text.

    Args:
        value: what was given; an array of numpy may have no axis, so that there is nothing to iterate over.

    Returns:
        True for what has entries.

    Examples:
        >>> is_list([1, 2]), is_list("1, 2")
        (True, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def require_list(name: str, values: object, example: str) -> None:
    """Check that a value is a list or another collection, and no text.

    Args:
        name: of the parameter.
        values: what was given.
        example: a right value, for the message.

    Raises:
        CollsimError: it is none.

    Examples:
        >>> require_list("sizes", [1, 2], "['1MiB']")
    """
    if not is_list(values):
        message = "{name}={values!r} must be a list, for example {example}"
        raise CollsimError(message, name=name, values=values, example=example)


def require_short_range(name: str, values: object, most: int = 1_000_000) -> None:
    """Refuse a range of more numbers than are taken one by one: it takes no memory itself, and its numbers would.

    Args:
        name: of the parameter.
        values: what was given.
        most: numbers that it may have.

    Raises:
        CollsimError: it is a range of more.

    Examples:
        >>> require_short_range("nbytes", range(8, 64, 8))
    """
    if isinstance(values, range) and values[most:]:  # `len` cannot say how long the longest are
        message = "{name}={values!r} has more than {most:,} numbers; give a shorter range, or a list"
        raise CollsimError(message, name=name, values=values, most=most)


def require_text(name: str, value: object) -> None:
    """Check that a value is a text.

    Args:
        name: of the parameter.
        value: what was given.

    Raises:
        CollsimError: it is none.

    Examples:
        >>> require_text("source", "Patarasuk and Yuan 2009")
    """
    if not isinstance(value, str):
        raise CollsimError("{name}={value!r} must be a text, for example {name}='...'", name=name, value=value)


def require_path(value: object, what: Words = "path") -> Path:
    """Check that a value is a path: a text or a Path, and no number, which would be taken for an open file.

    Args:
        value: what was given.
        what: the parameter's name.

    Returns:
        The path.

    Raises:
        CollsimError: it is none.

    Examples:
        >>> require_path("ring.html").suffix
        '.html'
    """
    if not isinstance(value, (str, os.PathLike)) or isinstance(path := os.fspath(value), bytes):
        message = "{what}={value!r} is not a path; give a text or a Path, for example 'ring.html'"
        raise CollsimError(message, what=what, value=value)
    if "\0" in path:
        raise CollsimError("{what}={value!r} is not a path; it has a zero byte in it", what=what, value=value)
    return Path(path)
