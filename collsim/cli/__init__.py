"""The command line: the words of the API, tables for people, `--json` for machines.

Exit codes: 0 all is well; 1 something was checked and is wrong; 2 a mistake in what was asked, told in one sentence;
130 stopped by Ctrl-C.
"""

from importlib import import_module

from .shell import app, main

for _commands in (
    "schedules",
    "runs",
    "real",
    "training",
    "synthesis",
    "files",
    "nccl",
    "teaching",
):  # each registers its own; `--help` lists them in this order
    import_module(f"{__name__}.{_commands}")

__all__ = ["app", "main"]
