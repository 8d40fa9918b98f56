"""Packages that only a part of collsim needs: `from .errors.dependencies import pandas as pd` imports none of them; the
first name of one that is asked for does.

The core needs numpy and small packages of the command line; an extra of the installation brings the others. One that
is missing ends in a CollsimError that names the extra, and not in a traceback.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from . import CollsimError

#: The extra that brings each package; `pyproject.toml` has the versions.
EXTRAS = {"matplotlib": "plot", "networkx": "graph", "pandas": "table", "PIL": "plot"}


class _LatePackage(ModuleType):
    """Stands for a package and imports it where one of its names is asked for."""

    def __getattr__(self, name: str) -> object:
        return getattr(require_package(self.__name__), name)


if TYPE_CHECKING:
    import matplotlib as matplotlib
    import networkx as networkx
    import pandas as pandas
    import PIL as PIL
else:
    matplotlib, networkx, pandas, PIL = map(_LatePackage, EXTRAS)


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
