"""The pages, one file or one package each; each puts itself into the registry (`shell.page`)."""

from __future__ import annotations

import importlib
import pkgutil

from ..shell.page import Page, list_pages


def load() -> dict[str, Page]:
    """Import every page, and return all of them by name, in the order of the menu."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return list_pages()
