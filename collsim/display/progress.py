"""Progress of a long run: the parameter `progress=` of every function that may take long.

It is True for a bar (tqdm: in a notebook a widget, else on stderr), or a function that is called now and then; an
exception that it raises ends the run.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import CollsimError

# A notebook without ipywidgets has a bar of letters, which is fine. The filter stays: a change of all filters for the
# time of the import would concern other threads.
warnings.filterwarnings("ignore", message="IProgress not found")
_DELAY = 0.5  # s before a bar is shown: what is done sooner needs none


@contextmanager
def open_progress(
    progress: Callable[..., None] | bool | None, unit: str, *arguments: str
) -> Iterator[Callable[..., None] | None]:
    """Turn what the caller passed as `progress` into a function to report to.

    Args:
        progress: True for a bar; False or None for nothing; or a function.
        unit: the things that are counted, for the bar.
        arguments: names of what a function is called with, the number of things done first.

    Yields:
        The function, to be called with (done, in all, ...); None where nobody listens.

    Raises:
        CollsimError: `progress` is none of these, or a function of other arguments.

    Examples:
        >>> with open_progress(print, "steps", "done", "in all") as report_progress:
        ...     report_progress(1, 2)
        1 2
    """
    require_progress(progress, *arguments)
    if progress is not True:
        yield progress or None
        return
    bar = ProgressBar(unit)
    try:
        yield bar
    finally:
        bar.close()


def require_progress(progress: object, *arguments: str) -> None:
    """Check that `progress` can be called, before a run and not in its middle.

    Args:
        progress: what the caller passed; True, False and None are fine.
        arguments: names of what a function will be called with.

    Raises:
        CollsimError: it is no function of so many arguments.

    Examples:
        >>> require_progress(print, "done", "in all")
    """
    if progress is None or isinstance(progress, bool):
        return
    expected = f"({', '.join(arguments)})"
    if not callable(progress):
        raise CollsimError(
            "progress={progress!r} must be True for a bar, or a function of {expected}",
            progress=progress,
            expected=expected,
        )
    try:
        signature = inspect.signature(progress)
    except (TypeError, ValueError):  # some functions written in C do not say
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = getattr(progress, "__name__", repr(progress))
        message = "progress={name}{signature} is called with {expected}: {error}"
        raise CollsimError(message, name=name, signature=signature, expected=expected, error=error) from None


class ProgressBar:
    """A bar that appears with the first report that takes longer than half a second, and goes away when it is closed.

    Attributes:
        unit: the things that are counted.
    """

    def __init__(self, unit: str):
        """A bar that is not on screen yet.

        Args:
            unit: What is counted: "transfers".
        """
        self.unit = unit
        self._bar: Any = None

    def __call__(self, done: int, *more: object) -> None:
        """Show how far it is.

        Args:
            done: things that are done.
            more: what a function would be called with besides: a whole number is how many there are in all, a text what
                is done now.
        """
        bar = self._open(next((m for m in more if isinstance(m, int)), None))
        bar.set_description_str(next((m for m in more if isinstance(m, str)), ""), refresh=False)
        bar.update(done - bar.n)

    def note(self, text: str) -> None:
        """Show words in front of the bar at once.

        Args:
            text: the words.
        """
        bar = self._open(None)
        bar.set_description_str(text)
        bar.delay = 0  # it is there now, and has to be taken away

    def _open(self, total: int | None) -> Any:
        if self._bar is None:
            from tqdm.auto import tqdm

            options: dict[str, Any] = {
                "unit": f" {self.unit}",
                "unit_scale": True,
                "leave": False,
                "dynamic_ncols": True,
            }
            self._bar = tqdm(total=total, delay=_DELAY, file=sys.stderr, **options)
        if total is not None and self._bar.total != total:
            self._bar.reset(total)
        return self._bar

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
