"""How far a long run is: `progress=` of every function that may take long.

It is True for a bar (tqdm: in a notebook a widget, else on stderr), or a function that is called now and then; whatever
that raises ends the run.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import CollsimError

_DELAY = 0.5  # s before a bar is shown: what is done sooner needs none


@contextmanager
def told(progress: Any, unit: str, *arguments: str) -> Iterator[Callable[..., None] | None]:
    """The function to call with (done, in all, ...), from what the caller gave as `progress`; None where nobody
    listens.

    Args:
        unit: what is counted, for the bar.
        arguments: names of what a function is called with, the number done first.

    Raises CollsimError for what is neither True, False, None nor a function of these arguments.
    """
    require_progress(progress, *arguments)
    if progress is not True:
        yield progress or None
        return
    bar = Bar(unit)
    try:
        yield bar
    finally:
        bar.close()


def require_progress(progress: Any, *arguments: str) -> None:
    """Raises CollsimError for what cannot be called with so many arguments, before a run and not in its middle."""
    if progress is None or isinstance(progress, bool):
        return
    wanted = f"({', '.join(arguments)})"
    if not callable(progress):
        raise CollsimError(
            "progress={progress!r} must be True for a bar, or a function of {wanted}", progress=progress, wanted=wanted
        )
    try:
        signature = inspect.signature(progress)
    except (TypeError, ValueError):  # some functions written in C do not say
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = getattr(progress, "__name__", repr(progress))
        why = "progress={name}{signature} is called with {wanted}: {error}"
        raise CollsimError(why, name=name, signature=signature, wanted=wanted, error=error) from None


class Bar:
    """A bar that appears when it is first told something and gone when it is closed."""

    def __init__(self, unit: str):
        self.unit = unit
        self.bar: Any = None

    def __call__(self, done: int, *more: object) -> None:
        """More is what a function would be told: a whole number is how many there are in all, a text what is done
        now."""
        bar = self._shown(next((m for m in more if isinstance(m, int)), None))
        bar.set_description_str(next((m for m in more if isinstance(m, str)), ""), refresh=False)
        bar.update(done - bar.n)

    def note(self, text: str) -> None:
        """Words in front of the bar, at once."""
        bar = self._shown(None)
        bar.set_description_str(text)
        bar.delay = 0  # it is there now, and has to be taken away

    def _shown(self, total: int | None) -> Any:
        if self.bar is None:
            with warnings.catch_warnings():  # a notebook without ipywidgets has a bar of letters, which is fine
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
            about: dict[str, Any] = {"unit": f" {self.unit}", "unit_scale": True, "leave": False, "dynamic_ncols": True}
            self.bar = tqdm(total=total, delay=_DELAY, file=sys.stderr, **about)
        if total is not None and self.bar.total != total:
            self.bar.reset(total)
        return self.bar

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
