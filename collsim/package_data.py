"""The version of the package, and its tables: TOML and CSV files, each next to the module that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

#: What a TOML file holds; `tests/test_package_tables.py` has the schema of each.
TomlTable: TypeAlias = dict[str, Any]

__version__ = "1.0.0"


def read_package_file(module: str, name: str) -> str:
    """Read a text of the package.

    Args:
        module: `__file__` of the module that it lies next to. (`importlib.resources` would add a tenth to the time of
            `import collsim`.)
        name: of the file.
    """
    return Path(module).with_name(name).read_text(encoding="utf-8")


def read_toml(module: str, name: str) -> TomlTable:
    """Read a table in TOML; arguments as for `read_package_file`."""
    import tomllib  # late: `import collsim` reads no TOML

    return tomllib.loads(read_package_file(module, name))


def read_texts(module: str, name: str) -> dict[str, str]:
    """Read texts by their keys from TOML, such as the parts of a script; arguments as for `read_package_file`."""
    return read_toml(module, name)


def read_number_tables(module: str, name: str) -> TomlTable:
    """Read tables of numbers in TOML: lists are tuples, and the sources of tables are left out.

    Args:
        module: `__file__` of the module that the file lies next to.
        name: of the file.
    """
    return {key: _freeze(table) for key, table in read_toml(module, name).items()}


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _freeze(entry) for key, entry in value.items() if key != "source"}
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return value


def use_number_keys(table: TomlTable) -> dict[int, Any]:
    """Return a table with its keys as numbers, which TOML has as texts."""
    return {int(key): value for key, value in table.items()}


def read_csv(module: str, name: str) -> list[dict[str, str]]:
    """Read the rows of a table in CSV by the names of its columns; arguments as for `read_package_file`."""
    import csv

    return list(csv.DictReader(read_package_file(module, name).splitlines()))
