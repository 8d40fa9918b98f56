"""Names that their form explains, such as `NCCL_IB_TIMEOUT` or `MPI_Iallgatherv`: their families are in
`name_families.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ..package_data import read_toml


@dataclass(frozen=True)
class NameFamily:
    """Names of one form.

    Attributes:
        form: how the family is shown: `"NCCL_IB_*"`.
        pattern: what the whole name must match; its group `base` is the part that has a row of its own.
        names: names that do not show their family.
        en: what all of them are.
        zh: the same in Chinese.
    """

    form: str
    pattern: re.Pattern[str]
    names: frozenset[str]
    en: str
    zh: str


@cache
def list_families() -> tuple[NameFamily, ...]:
    """All families, narrow forms before wide ones."""
    rows = read_toml(__file__, "name_families.toml")["families"]
    return tuple(
        NameFamily(row["form"], re.compile(row["pattern"]), frozenset(row.get("names", ())), row["en"], row["zh"])
        for row in rows
    )


def find_family(name: str) -> tuple[NameFamily, str] | None:
    """Find the family of a name.

    Args:
        name: as a program or an article has it, with or without `()`.

    Returns:
        The family, and the part of the name that may have a row of its own ("" without one); None if no family has
        such names.

    Examples:
        >>> family, base = find_family("MPI_Iallreduce_c")
        >>> family.form, base
        ('MPI_I*, MPI_*_init, MPI_*_c', 'allreduce')
    """
    plain = name.strip().removesuffix("()")
    for family in list_families():
        if match := family.pattern.fullmatch(plain):
            return family, match.groupdict().get("base") or ""
        if plain.rpartition(".")[2] in family.names:
            return family, ""
    return None
