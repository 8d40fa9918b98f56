"""Doors of the room: the object that a notebook shows, and files by suffix, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CollsimError, Sentence, require_path
from ...files import replace_file, require_writable_file
from ..timeline.document import dumps, encode, sent, timeline
from .page import notebook_frame, standalone_page

if TYPE_CHECKING:
    from ...simulate import Trace

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """The player with one run in it. In a notebook it shows itself; `save` writes it to a file."""

    trace: Trace
    lang: str = "en"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_language(self.lang)

    @cached_property
    def timeline(self) -> dict[str, Any]:
        return timeline(self.trace)

    def _repr_html_(self) -> str:
        return _sentence(lambda: notebook_frame(encode(self.timeline), self.lang, **self.options))

    def widget(self) -> Any:
        """The player as a live widget: `w.state` says where it stands, `w.t = seconds` seeks, `w.timeline = ...` plays
        another run.

        Raises CollsimError where anywidget (extra `notebook`) is not installed.
        """
        from .widget import player_widget

        options = {key: value for key, value in self.options.items() if key != "height"}
        return player_widget()(timeline=encode(self.timeline), lang=self.lang, **options)

    def save(self, path: Any, **options: Any) -> Path:
        """As `save(trace, path)`, in the language of this animation."""
        return save(self.trace, path, **{"lang": self.lang, **options})

    def __repr__(self) -> str:
        return f"<Animation of {self.trace!r}>"


def require_language(lang: str) -> None:
    if not isinstance(lang, str) or lang not in LANGUAGES:
        raise CollsimError("unknown language {lang!r}; use 'en' or 'zh'", lang=lang)


def _sentence(call: Callable[[], str]) -> str:
    """A mistake in an option as the one kind of error that doors show."""
    try:
        return call()
    except CollsimError:
        raise
    except (TypeError, ValueError) as error:
        raise CollsimError(Sentence.from_words(error)) from error


# ---- files


def save(trace: Trace, path: Any, **options: Any) -> Path:
    """Write a run to a file; what is written follows from the suffix.

    `.html`: the player in one offline file (`lang`, `theme`, `view`, `t`). `.json`: the timeline. `.gif`, `.mp4`: a
    film (`lang`, `frames`). `.png`, `.svg`: the machine with the bytes on every link (`lang`, `dpi`).

    Raises:
        CollsimError for another suffix, an unknown option, a place where nothing can be written, or `.mp4` where ffmpeg
        is missing.
    """
    target = require_path(path)
    writer = WRITERS.get(target.suffix.lower())
    if writer is None:
        why = "cannot save to {target!r}: the suffix {suffix!r} is none of {writers}"
        raise CollsimError(why, target=str(target), suffix=target.suffix, writers=", ".join(WRITERS))
    require_writable_file(target)
    known = _options(target.suffix.lower())
    for name in options:
        if name not in known:
            why = "{suffix} has no option {name!r}; it has {known}"
            raise CollsimError(why, suffix=target.suffix, name=name, known=", ".join(known))
    require_language(options.get("lang", "en"))
    with replace_file(target) as temporary:
        _written(writer, trace, temporary, options)
    return target


def _options(suffix: str) -> list[str]:
    """Names of the options that the registry of formats lists for a picture of this suffix."""
    from ...io import formats

    entries = [entry for entry in formats().values() if entry.holds == "trace" and suffix in entry.suffixes]
    return [name for entry in entries for name, _ in entry.options]


def _written(writer: Callable[..., None], trace: Trace, path: Path, options: dict[str, Any]) -> None:
    try:
        writer(trace, path, **options)
    except CollsimError:
        raise
    except ValueError as error:
        raise CollsimError("cannot save {suffix}: {error}", suffix=path.suffix, error=error) from error


def _html(trace: Trace, path: Path, lang: str = "en", **options: Any) -> None:
    path.write_text(standalone_page(sent(trace), lang, **options), encoding="utf-8")


def _json(trace: Trace, path: Path, lang: str = "en") -> None:
    path.write_text(dumps(timeline(trace)), encoding="utf-8")


def _film(trace: Trace, path: Path, lang: str = "en", **options: Any) -> None:
    from ..pictures import film

    (film.mp4 if path.suffix.lower() == ".mp4" else film.gif)(trace, path, lang, **options)


def _still(trace: Trace, path: Path, lang: str = "en", **options: Any) -> None:
    from ..pictures.still import machine_picture

    machine_picture(trace, path, lang, **options)


WRITERS: dict[str, Callable[..., None]] = {
    ".html": _html,
    ".json": _json,
    ".gif": _film,
    ".mp4": _film,
    ".png": _still,
    ".svg": _still,
}
