"""OR-Tools, which solves programs and proves that there is no shorter schedule, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

from ...errors import CollsimError


def is_installed() -> bool:
    """Is OR-Tools installed?"""
    return find_spec("ortools") is not None


def require_solver() -> None:
    """Raises CollsimError where OR-Tools is not installed."""
    if not is_installed():
        raise CollsimError("exact synthesis needs OR-Tools; install it with: pip install 'collsim[synthesis]'")
