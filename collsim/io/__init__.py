"""What other tools read and write: schedules, measurements, logs, timelines and networks. One file (or folder) per
format.

Dropping a module that calls `register(Format(...))` into this folder is the only edit that a new format needs.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .file_formats import Format, convert, formats, load, register, save
    from .msccl.msccl_files import read_msccl, write_msccl

__all__ = ["Format", "convert", "formats", "load", "read_msccl", "register", "save", "write_msccl"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "file_formats": ("Format", "convert", "formats", "load", "register", "save"),
            "msccl.msccl_files": ("read_msccl", "write_msccl"),
        },
    )
