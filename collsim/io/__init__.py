"""What other tools read and write: schedules, measurements, logs, timelines and networks. One file (or folder) per
format.

Dropping a module that calls `register(Format(...))` into this folder is the only edit that a new format needs.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package
from .file_formats import Format, convert, formats, load, register, save

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

from .msccl import read_msccl, write_msccl  # noqa: E402  (after the loop, which says nothing about order)

__all__ = ["Format", "convert", "formats", "load", "read_msccl", "register", "save", "write_msccl"]


if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(__name__, __all__)
