"""Packages that only a part of collsim needs: `from .errors.dependencies import pandas as pd`, where that part runs.

The core needs numpy and small packages of the command line; an extra of the installation brings the others. One that
is missing ends in a CollsimError that names the extra, and not in a traceback.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from . import CollsimError

if TYPE_CHECKING:
    import matplotlib as matplotlib
    import networkx as networkx
    import pandas as pandas
    import PIL as PIL

#: The extra that brings each package; `pyproject.toml` has the versions.
EXTRAS = {"matplotlib": "plot", "networkx": "graph", "pandas": "table", "PIL": "plot"}


def __getattr__(name: str) -> ModuleType:
    if name not in EXTRAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return require_package(name)


def require_package(name: str) -> ModuleType:
    """A package that an extra brings; before `from matplotlib.figure import Figure`, which could not name the extra.

    Args:
        name: Under which it is imported, one of `EXTRAS`.

    Raises:
        CollsimError: It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # a package that is there lacks another: its own words say more
            raise
        raise CollsimError(
            'this needs the package {package}, which is not installed: pip install "collsim[{extra}]", or '
            '"collsim[app]" for everything the app uses',
            package=name,
            extra=EXTRAS[name],
        ) from None
