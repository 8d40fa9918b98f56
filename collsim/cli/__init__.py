"""The command line: the words of the API, tables for people, `--json` for machines.

Exit codes: 0 all is well; 1 something was checked and is wrong; 2 a mistake in what was asked, told in one sentence;
130 stopped by Ctrl-C. What standard output does not take is lost: a full disk is a mistake, a reader that has gone is
none.
"""

from .shell import app, main

__all__ = ["app", "main"]
