"""The player as a live widget in a notebook (extra `notebook`): what happens in it is seen in Python, and the other way
round."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...errors import CollsimError
from ...locale import LANGUAGES
from .bundle import read_bundle


@cache
def create_widget_class() -> Any:
    """The widget class: traits `timeline`, `language`, `theme`, `view`, `t` (s; set it to seek) and `state` (what the
    player reports).

    Raises:
        CollsimError: Where anywidget is not installed.
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise CollsimError(
            "a live widget needs anywidget: pip install 'collsim[notebook]'; without it trace.animate() shows the "
            "player too"
        ) from error

    class PlayerWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """The player; `state` is `{t, step, playing, view, speed, done}` after every pause, seek, end and change of
        view."""

        _esm = read_bundle("player")
        timeline = traitlets.Dict().tag(sync=True)
        language = traitlets.Enum(list(LANGUAGES), "en").tag(sync=True)
        theme = traitlets.Enum([None, "light", "dark"], None).tag(sync=True)
        view = traitlets.Enum([None, "physical", "logical"], None).tag(sync=True)
        t = traitlets.Float(None, allow_none=True).tag(sync=True)
        state = traitlets.Dict().tag(sync=True)

    return PlayerWidget
