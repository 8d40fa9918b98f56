"""What other packages add: algorithms, machines, file formats and lessons that they name as entry points in their
metadata.

They are imported when a name is first looked for that the package itself does not have, or all are listed; `import
collsim` imports none. One that fails is left out with a warning that names it, and changes nothing. `COLLSIM_PLUGINS=0`
leaves out all; the processes around a stranger's code do so always, and a server that others can reach unless
`COLLSIM_PLUGINS=1` (see SECURITY.md).
"""

from __future__ import annotations

import contextlib
import importlib.resources  # noqa: F401  # early, see below
import inspect
import os
import sys
import threading
from collections.abc import Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from .errors import CollsimError
from .errors.collected_warnings import warn

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# `importlib.resources` is complete before there are threads. Where one thread imports it (for matplotlib) and another
# imports `importlib.metadata` (for `load` or numba), each waits for a module of the other, and Python ends one of the
# imports with an error.

#: The variable that says whether other packages are imported: 0 never, 1 also on a server that others can reach.
SWITCH = "COLLSIM_PLUGINS"
Key = TypeVar("Key")
Entry = TypeVar("Entry")
Added = TypeVar("Added")
_LONGEST = 400  # characters of what a package says
_lock = threading.RLock()
_begun: set[str] = set()
_done: set[str] = set()


def disable() -> None:
    """From now on nothing of other packages is imported for them, in this process and in those that it starts."""
    os.environ[SWITCH] = "0"


def is_disabled() -> bool:
    """Is nothing of other packages imported here?"""
    return os.environ.get(SWITCH, "") == "0"


def load(group: str, take: Callable[[Callable[[], object]], None]) -> None:
    """Import what installed packages name under a group, once in this process.

    Args:
        group: Of entry points: "collsim.formats".
        take: Called for each entry with a function that imports it and returns what it names; whatever it raises leaves
            that entry out, with a warning.
    """
    if group in _done:
        return
    with _lock:
        if group in _begun or is_disabled():
            return
        from importlib.metadata import entry_points  # brings email, sockets and zip files

        _begun.add(group)  # first: a package may ask for the list while it is imported
        try:
            for entry in entry_points(group=group):
                _take_entry(entry, take)
            _done.add(group)
        finally:
            _begun.intersection_update(_done)  # Ctrl-C: the next who asks begins again


def list_entries(value: object) -> Sequence[object]:
    """What an entry names: the things of a list, or one by itself; none of a module, which registers its own.

    Args:
        value: What the import of an entry gave.
    """
    if inspect.ismodule(value):
        return ()
    if isinstance(value, (list, tuple)):
        return value
    return (value,)


def _take_entry(entry: EntryPoint, take: Callable[[Callable[[], object]], None]) -> None:
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a package prints must not stand in a JSON document
            take(entry.load)
    except (Exception, SystemExit) as error:
        package = "unknown"
        if entry.dist is not None:
            package = entry.dist.name
        reason = format_in_line(error)
        warn(f"{entry.group}: {entry.name!r} of the package {package!r} ({entry.value}) is left out: {reason}")


def format_in_line(error: BaseException) -> str:
    """What an error of another package says, in a line, whatever its class does.

    Args:
        error: Its own `__str__` may fail.
    """
    kind = type(error).__name__
    try:
        words = " ".join(str(error).split())[:_LONGEST]
    except Exception:
        return kind
    if isinstance(error, CollsimError):
        return words
    return f"{kind}: {words}"


def register_into(registry: MutableMapping[Key, Entry], add: Callable[[], Added]) -> Added:
    """Let a package put names into a registry; where it fails, the registry is as it was.

    Args:
        registry: By name.
        add: Of the package; may put several names in.

    Returns:
        What `add` returns.

    Raises:
        CollsimError: It takes a name that is taken.
    """
    before = dict(registry)
    try:
        result = add()
        taken = [name for name, entry in before.items() if registry.get(name) is not entry]
        if taken:
            raise CollsimError("{names}: taken already; give it another name", names=", ".join(map(str, taken)))
    except BaseException:
        for name in registry.keys() - before.keys():
            del registry[name]
        registry.update(before)
        raise
    return result
