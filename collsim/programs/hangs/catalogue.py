"""The catalogue of hangs, read from its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from ...display.catalog import Catalog
from ...errors.arguments import check_arguments
from ...locale import Text
from ...package_data import TomlTable, read_toml
from ...rank_engine.expected import ProgramCollective, require_program_collective
from ..judge import ProgramRun
from ..program_entry import program


@dataclass(frozen=True)
class Hang:
    """A way to hang a job.

    Attributes:
        name: in the catalogue.
        title: what was done wrong. All texts are pairs: English, Chinese.
        cause: why no rank can go on.
        signs: what the logs and tools of a cluster show.
        difference: how to tell it from hangs that look like it.
        fix: what the fixed program does.
        source: a program that hangs.
        fixed_source: the same program, fixed.
        collective: what it should do, where its result is checked.
        nbytes: size of each rank's array.

    Examples:
        >>> import collsim as cs
        >>> hang = cs.programs.list_hangs()["send_first"]
        >>> hang.title[0], hang.library
        ('All send first', 'torch.distributed')
    """

    name: str
    title: Text
    cause: Text
    signs: Text
    difference: Text
    fix: Text
    source: str = field(repr=False)
    fixed_source: str = field(repr=False)
    collective: ProgramCollective | None = None
    nbytes: str = "96B"

    @property
    def library(self) -> str:
        """What it is written with: `torch.distributed` or `mpi4py`."""
        return "mpi4py" if "mpi4py" in self.source else "torch.distributed"

    def run(self, ranks: int = 4) -> ProgramRun:
        """Run the program that hangs. It belongs to the package, so it runs also where there is no sandbox.

        Args:
            ranks: Number of ranks.
        """
        return self._run(self.source, ranks)

    def run_fixed(self, ranks: int = 4) -> ProgramRun:
        """Run the fixed program.

        Args:
            ranks: Number of ranks.
        """
        return self._run(self.fixed_source, ranks)

    def _run(self, source: str, ranks: int) -> ProgramRun:
        return program(source, ranks, self.collective, nbytes=self.nbytes, allow_unsandboxed=True)


@check_arguments
@cache
def list_hangs() -> Catalog[Hang]:
    """Ways to hang a job, by name.

    Returns:
        The catalogue; printed, it is a table.

    Examples:
        >>> import collsim as cs
        >>> hang = cs.programs.list_hangs()["send_first"]
        >>> hang.title[0], hang.run().cycle, hang.run_fixed().verdict
        ('All send first', (0, 1, 2, 3), 'right')
    """
    rows = read_toml(__file__, "catalogue.toml")
    return Catalog({name: _read_hang(name, row) for name, row in rows.items()}, _describe)


def _read_hang(name: str, row: TomlTable) -> Hang:
    texts: dict[str, Text] = {key: tuple(row[key]) for key in ("title", "cause", "signs", "difference", "fix")}
    collective = None
    if "collective" in row:
        collective = require_program_collective(row["collective"])
    program_text = fixed = row["program"]
    for old, new in row["fixed_lines"]:
        fixed = fixed.replace(old, new, 1)
    return Hang(
        name,
        **texts,
        source=program_text,
        fixed_source=fixed,
        collective=collective,
        nbytes=row.get("nbytes", "96B"),
    )


def _describe(hang: Hang) -> dict[str, object]:
    return {"title": hang.title[0], "library": hang.library}
