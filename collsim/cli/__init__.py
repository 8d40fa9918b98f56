"""The command line: the words of the API, tables for people, `--json` for machines.

Exit codes: 0 all is well; 1 something was checked and is wrong; 2 a mistake in what was asked, told in one sentence;
130 stopped by Ctrl-C. What standard output does not take is lost: a full disk is a mistake, a reader that has gone is
none.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .shell import app, main

__all__ = ["app", "main"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "shell": ("app", "main"),
        },
    )
