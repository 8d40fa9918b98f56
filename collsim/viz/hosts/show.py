"""What users of `viz` call: the object that a notebook shows, and files by suffix, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ...errors import CollsimError, Sentence, require_language, require_path
from ...errors.arguments import check_arguments
from ...files import replace_file, require_writable_file
from ..timeline.timeline_document import build_encoded_timeline, build_timeline, dump_json, encode
from ..timeline.timeline_types import Timeline
from .notebook_tables import format_printed_trace
from .player_page import FrameOptions, build_notebook_frame, build_standalone_page

if TYPE_CHECKING:
    from ...simulate import Trace


_STILL_DPI = 110


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """The player with one run in it. In a notebook it shows itself; `save` writes it to a file.

    Attributes:
        trace: the run that is played.
        language: `en` or `zh`.
        options: of the player, as `animate` takes them.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import animate
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> animate(trace).save("ring.html").name
        'ring.html'
    """

    trace: Trace
    language: str = "en"
    options: FrameOptions = field(default_factory=FrameOptions)

    def __post_init__(self) -> None:
        require_language(self.language)

    @cached_property
    def timeline(self) -> Timeline:
        return build_timeline(self.trace)

    def _repr_html_(self) -> str:
        return _convert_errors(lambda: build_notebook_frame(encode(self.timeline), self.language, **self.options))

    def _repr_png_(self) -> bytes | None:
        """A still picture, for readers of notebooks that show images and no HTML, and for published copies, in whose
        HTML GitHub removes the player; None where it cannot be drawn, since the player needs no matplotlib."""
        from ..pictures.figure import render_png
        from ..pictures.machine_picture import draw_machine_figure

        try:
            return render_png(draw_machine_figure(self.trace, self.language), _STILL_DPI)
        except CollsimError:
            return None

    def widget(self) -> Any:
        """The player as a live widget: `w.state` says where it stands, `w.t = seconds` seeks, `w.timeline = ...` plays
        another run.

        Raises:
            CollsimError: Where anywidget (extra `notebook`) is not installed.
        """
        from .widget import create_widget_class

        options = {key: value for key, value in self.options.items() if key != "height"}
        return create_widget_class()(timeline=encode(self.timeline), language=self.language, **options)

    def save(self, path: str | PathLike[str], **options: object) -> Path:
        """As `save_run(trace, path)`, in the language of this animation.

        Args:
            path: The file to write.
            **options: Options of the format, as for `save_run`.
        """
        return save_run(self.trace, path, **{"language": self.language, **options})

    def __repr__(self) -> str:
        return f"<Animation of {self.trace!r}>"


@check_arguments
def animate(trace: Trace, language: str = "en", **options: Unpack[FrameOptions]) -> Animation:
    """The player, for a notebook cell: shows itself, also in exported notebooks without a network.

    Args:
        trace: The run.
        language: `en` or `zh`.
        **options: Of the frame: `height` (pixels), `theme` (`light`, `dark`), `view` (`physical`, `logical`), `t`
            (seconds).

    Returns:
        An object that a notebook shows as the player; its `save` writes a file.

    Raises:
        CollsimError: The language is not known.

    Examples:
        >>> import collsim as cs
        >>> from collsim import viz
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=8), "dgx-a100", "1MiB")
        >>> viz.animate(trace, language="zh").timeline["meta"]["ranks"]
        8
    """
    return Animation(trace, language, options)


@check_arguments
def html(trace: Trace) -> str:
    """A run as HTML for a notebook: its figures, and below them the player where the run is not too large to be
    drawn.

    Args:
        trace: The run.

    Returns:
        HTML that needs no other file.

    Examples:
        >>> import collsim as cs
        >>> from collsim import viz
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> "allreduce_ring(4)" in viz.html(trace)
        True
    """
    try:
        return format_printed_trace(str(trace)) + animate(trace)._repr_html_()
    except CollsimError:
        return format_printed_trace(str(trace))


def _convert_errors(call: Callable[[], str]) -> str:
    """A mistake in an option as the one kind of error that interfaces show."""
    try:
        return call()
    except CollsimError:
        raise
    except (TypeError, ValueError) as error:
        raise CollsimError(Sentence.from_words(error)) from error


# ---- files


@check_arguments
def save_run(trace: Trace, path: str | PathLike[str], **options: object) -> Path:
    """Write a run to a file; what is written follows from the suffix.

    `.html`: the player in one offline file (`language`, `theme`, `view`, `t`). `.json`: the timeline. `.gif`, `.mp4`: a
    film (`language`, `frames`). `.png`, `.svg`: the machine with the bytes on every link (`language`, `dpi`).

    Args:
        trace: The run.
        path: The file to write.
        **options: Options of the format: see above.

    Returns:
        The path that was written.

    Raises:
        CollsimError: The suffix or an option is unknown, nothing can be written there, or `.mp4` is asked for where
            ffmpeg is missing.

    Examples:
        >>> import collsim as cs
        >>> from collsim import viz
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> viz.save_run(trace, "ring.svg").name
        'ring.svg'
    """
    target = require_path(path)
    writer = WRITERS.get(target.suffix.lower())
    if writer is None:
        message = "cannot save to {target!r}: the suffix {suffix!r} is none of {writers}"
        raise CollsimError(message, target=str(target), suffix=target.suffix, writers=", ".join(WRITERS))
    require_writable_file(target)
    option_names = _list_options(target.suffix.lower())
    for name in options:
        if name not in option_names:
            message = "{suffix} has no option {name!r}; it has {known}"
            raise CollsimError(message, suffix=target.suffix, name=name, known=", ".join(option_names))
    require_language(str(options.get("language", "en")))
    with replace_file(target) as temporary:
        _write_file(writer, trace, temporary, options)
    return target


def _list_options(suffix: str) -> list[str]:
    """Names of the options that the registry of formats lists for a picture of this suffix."""
    from ...io import formats

    entries = [entry for entry in formats().values() if entry.holds == "trace" and suffix in entry.suffixes]
    return [name for entry in entries for name, _ in entry.options]


def _write_file(writer: Callable[..., None], trace: Trace, path: Path, options: Mapping[str, object]) -> None:
    try:
        writer(trace, path, **options)
    except CollsimError:
        raise
    except ValueError as error:
        raise CollsimError("cannot save {suffix}: {error}", suffix=path.suffix, error=error) from error


def _write_html(trace: Trace, path: Path, language: str = "en", **options: Any) -> None:
    path.write_text(build_standalone_page(build_encoded_timeline(trace), language, **options), encoding="utf-8")


def _write_json(trace: Trace, path: Path, language: str = "en") -> None:
    path.write_text(dump_json(build_timeline(trace)), encoding="utf-8")


def _write_film(trace: Trace, path: Path, language: str = "en", **options: Any) -> None:
    from ..pictures import film

    (film.write_mp4 if path.suffix.lower() == ".mp4" else film.write_gif)(trace, path, language, **options)


def _write_still(trace: Trace, path: Path, language: str = "en", **options: Any) -> None:
    from ..pictures.machine_picture import write_machine_picture

    write_machine_picture(trace, path, language, **options)


WRITERS: dict[str, Callable[..., None]] = {
    ".html": _write_html,
    ".json": _write_json,
    ".gif": _write_film,
    ".mp4": _write_film,
    ".png": _write_still,
    ".svg": _write_still,
}
