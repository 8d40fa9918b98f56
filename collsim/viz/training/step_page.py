"""A step of training as one offline HTML file, and as a frame for a notebook: its timeline, and the player inside its
collectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CollsimError, require_language, require_path
from ...files import create_file
from ...simulate import simulate
from ...train.step_request import get_collective_model
from ..hosts.bundle import read_bundle
from ..hosts.notebook_tables import format_printed_trace
from ..hosts.player_page import build_offline_page, wrap_in_frame
from ..timeline.timeline_document import build_encoded_timeline
from .step_document import CollectiveRow, build_step_document

if TYPE_CHECKING:
    from ...schedule import Schedule
    from ...train import StepTrace

#: Collectives that can be opened in a file, those that GPUs wait for longest first, and transfers of all of them.
MAX_OPENED, MAX_TRANSFERS = 12, 60_000
_STILL_DPI = 110
#: The card has a column for switches beside it where there is room; a file has no switches to throw.
_STYLE = "main{max-width:1230px;margin:0 auto}.ts .side{display:none}"


@dataclass(frozen=True, eq=False, repr=False)
class StepAnimation:
    """The timeline of a step, to be played. In a notebook it shows itself; `save` writes it to a file.

    Attributes:
        trace: the step that is played.
        language: `en` or `zh`.
        options: of the page, as `animate` takes them.
    """

    trace: StepTrace
    language: str = "en"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_language(self.language)
        for name in self.options:
            if name not in ("theme", "t", "height"):
                message = "animate of a step has no option {name!r}; it has language, theme, t and height"
                raise CollsimError(message, name=name)

    @cached_property
    def data(self) -> dict[str, object]:
        """What the page draws: the step, which collective is open, and the players inside, by name."""
        step = build_step_document(self.trace)
        rows = sorted(step["collectives"], key=lambda row: (-(row["bucket"] >= 0), -row["exposed"], -row["end"]))
        return {"step": step, "open": rows[0]["name"] if rows else "", "inside": _build_players(self.trace, rows)}

    @property
    def page(self) -> str:
        """One HTML file. Raises CollsimError for an unknown theme."""
        trace = self.trace
        title = f"{trace.step.model.name}, {trace.step.label}, collsim"
        options = {"language": self.language, "theme": self.options.get("theme"), "t": self.options.get("t")}
        return build_offline_page(read_bundle("step_page"), self.data, title, options, _STYLE)

    def _repr_html_(self) -> str:
        return wrap_in_frame(self.page, int(self.options.get("height", 900)), "collsim training step")

    def _repr_png_(self) -> bytes | None:
        """A still picture, for readers of notebooks that show images and no HTML; None where it cannot be drawn."""
        from ..pictures.figure import render_png
        from ..pictures.training_plots import plot

        try:
            return render_png(plot(self.trace, language=self.language), _STILL_DPI)
        except CollsimError:
            return None

    def save(self, path: str | PathLike[str]) -> Path:
        """Write `x.html`.

        Args:
            path: The file to write.

        Raises:
            CollsimError: For another suffix.
        """
        target = require_path(path)
        if target.suffix.lower() != ".html":
            message = "{name!r}: an animation of a step is written as .html; StepTrace.save knows more"
            raise CollsimError(message, name=target.name)
        with create_file(target) as file:
            file.write(self.page.encode())
        return target

    def __repr__(self) -> str:
        return f"<StepAnimation of {self.trace!r}>"


def _build_players(trace: StepTrace, rows: list[CollectiveRow]) -> dict[str, object]:
    """The timelines of the collectives that matter most; equal ones are run once."""
    player_of: dict[tuple[object, ...], dict[str, object]] = {}
    players: dict[str, object] = {}
    transfers_left = MAX_TRANSFERS
    for row in rows:
        task = trace.step.tasks[row["task"]]
        group = trace.step.get_ranks(task)
        key = group, task.kind, task.nbytes, task.algorithm, task.options
        if key not in player_of:
            plan = get_collective_model(trace.request).build_schedule(group, task)
            if len(player_of) >= MAX_OPENED or not 0 < len(plan) <= transfers_left:
                continue
            transfers_left -= len(plan)
            player_of[key] = _build_player(trace, plan, task.nbytes, group)
        players[row["name"]] = {"name": row["name"], **player_of[key]}
    return players


def _build_player(trace: StepTrace, plan: Schedule, nbytes: int, group: tuple[int, ...]) -> dict[str, object]:
    trace_inside = simulate(plan, trace.topology, nbytes, engine="event", ranks=list(group))
    summary = {"label": plan.label, "steps": plan.steps, "seconds": trace_inside.time}
    try:
        return {**summary, "timeline": build_encoded_timeline(trace_inside)}
    except CollsimError as error:
        return {**summary, "timeline": None, "refusal": str(error)}


def animate(trace: StepTrace, language: str = "en", **options: object) -> StepAnimation:
    """The timeline of a step, for a notebook cell: two lanes for each kind of GPU, the buckets, and the player inside
    them.

    Args:
        trace: The step of training.
        language: `en` or `zh`.
        **options: `theme` (`light`, `dark`), `t` (seconds to begin at), `height` (pixels).

    Returns:
        An object that a notebook shows as the timeline; its `save` writes a file.

    Raises:
        CollsimError: The language or an option is not known.
    """
    return StepAnimation(trace, language, options)


def save_step_page(trace: StepTrace, path: Path, language: str = "en", **options: object) -> Path:
    """Write the step as one offline file.

    Args:
        trace: The step of training.
        path: The file to write.
        language: `en` or `zh`.
        **options: `theme` (`light`, `dark`), `t` (seconds to begin at), `height` (CSS pixels).
    """
    return StepAnimation(trace, language, options).save(path)


def format_notebook_html(trace: StepTrace) -> str:
    """For a notebook: the figures, and below them the timeline to be played where it can be drawn.

    Args:
        trace: The step of training.
    """
    try:
        return format_printed_trace(str(trace)) + animate(trace)._repr_html_()
    except CollsimError:
        return format_printed_trace(str(trace))
