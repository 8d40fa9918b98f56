"""The parts of Python's library that programs import and that reach nothing outside of the program."""

from __future__ import annotations

import argparse
import datetime
import operator
import posixpath
import random
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from ...package_data import read_toml
from .internal_names import require_plain_name

_WORDS = read_toml(__file__, "standard_library.toml")
#: By name, imported before a sandbox closes.
_MODULES = {name: import_module(name) for name in (*_WORDS["whole"], *_WORDS["names"])}
_PATHS = ("basename", "dirname", "join", "splitext")


class _ArgumentParser(argparse.ArgumentParser):
    """Options of a program that has no command line: all have their defaults."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        return super().parse_known_args(args or [], namespace)

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; a program has no command line here, so give each option a default")


def _get_attributes(*names: str) -> operator.attrgetter[Any]:
    """`operator.attrgetter`, for names that lead no further than the program's own objects."""
    for name in names:
        for part in str(name).split("."):
            require_plain_name(part)
    return operator.attrgetter(*names)


def _call_method(name: str, *args: object, **kwargs: object) -> operator.methodcaller:
    """`operator.methodcaller`, likewise."""
    require_plain_name(name)
    return operator.methodcaller(name, *args, **kwargs)


class _FixedTime(datetime.datetime):
    """A clock that stands still, so that every execution reads the same."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> _FixedTime:
        return cls(2000, 1, 1, tzinfo=tz)

    @classmethod
    def today(cls) -> _FixedTime:
        return cls.now()


class _Logger:
    """A logger that writes nothing."""

    def write(self, *_: object, **__: object) -> None:
        """Nothing is written."""

    debug = info = warning = error = exception = critical = log = setLevel = addHandler = write


def list_library_words(rank: int, ranks: int, write: Callable[[str], object]) -> dict[str, Mapping[str, object]]:
    """The modules and their words.

    Args:
        rank: This rank, as torchrun tells it to its processes; it is the seed of random numbers, too.
        ranks: How many there are.
        write: Takes what a program writes to `sys.stdout`.

    Returns:
        Words by the name of their module.
    """
    # Random numbers depend on the rank alone, so that all executions of a program agree.
    generator, legacy = random.Random(rank), np.random.RandomState(rank)
    words: dict[str, Mapping[str, object]] = {name: _list_public(_MODULES[name]) for name in _WORDS["whole"]}
    known = {name: _list_words(_MODULES[name], names) for name, names in _WORDS["names"].items()}
    known["argparse"]["ArgumentParser"], known["datetime"]["datetime"] = _ArgumentParser, _FixedTime
    return (
        words
        | known
        | {
            "gc": {"collect": lambda *_: 0},
            "logging": _list_logging(),
            "operator": _list_public(operator) | {"attrgetter": _get_attributes, "methodcaller": _call_method},
            "os": _list_system(rank, ranks),
            "platform": {"node": lambda: "node0", "system": lambda: "Linux", "python_version": lambda: "3"},
            "random": {name: getattr(generator, name) for name in dir(generator) if not name.startswith("_")},
            "socket": {"gethostname": lambda: "node0"},
            "sys": _list_interpreter(write),
            "tqdm": {"tqdm": lambda items=(), *_, **__: items, "trange": lambda count, *_, **__: range(count)},
            "traceback": {name: lambda *_, **__: None for name in ("print_exc", "print_stack")},
            "warnings": {name: lambda *_, **__: None for name in ("filterwarnings", "simplefilter", "warn")},
            "numpy.random": {name: getattr(legacy, name) for name in dir(legacy) if not name.startswith("_")},
        }
    )


def _list_public(module: ModuleType) -> dict[str, object]:
    """The words that a module means for others, and not those that it imports for itself."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name: getattr(module, name) for name in names}


def _list_words(module: ModuleType, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(module, name) for name in names}


def _list_logging() -> dict[str, object]:
    logger = _Logger()
    levels = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
    functions = dict.fromkeys(("basicConfig", "debug", "info", "warning", "error", "exception"), logger.write)
    return {**levels, **functions, "getLogger": lambda *_: logger}


def _list_system(rank: int, ranks: int) -> dict[str, object]:
    """`os`, with the variables that launchers set."""
    # Launchers of torch and of MPI set these; scripts of articles read either.
    environment = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
    }
    return {
        "environ": environment,
        "getenv": environment.get,
        "getpid": lambda: 1 + rank,
        "cpu_count": lambda: ranks,
        "path": SimpleNamespace(**_list_words(posixpath, _PATHS), exists=lambda path: False),
    }


def _list_interpreter(write: Callable[[str], object]) -> dict[str, object]:
    """`sys`: `exit` ends the rank."""

    def leave(status: object = None) -> NoReturn:
        raise SystemExit(status)

    stream = SimpleNamespace(write=write, flush=lambda: None)
    return {
        "argv": ["program.py"],
        "exit": leave,
        "stdout": stream,
        "stderr": stream,
        "maxsize": 2**63 - 1,
        "platform": "linux",
        "byteorder": "little",
        "version": "3",
        "version_info": (3, 11),
        "setrecursionlimit": lambda limit: None,
    }
