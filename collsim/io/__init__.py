"""What other tools read and write: schedules, measurements, logs, timelines and networks. One file (or folder) per
format.

Dropping a module that calls `register(Format(...))` into this folder is the only edit that a new format needs.
"""

from importlib import import_module
from pkgutil import iter_modules

from .file_formats import Format, convert, formats, load, register, save

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

from .msccl import read_msccl, write_msccl  # noqa: E402  (after the loop, which says nothing about order)

__all__ = ["Format", "convert", "formats", "load", "read_msccl", "register", "save", "write_msccl"]


def __dir__() -> list[str]:
    return sorted(__all__)
