"""What collsim's accuracy is to be, and where it is: a table of docs/training.md, the goal that is missed most first.

    PYTHONPATH=docs python -m accuracy.goals           # prints the table
    PYTHONPATH=docs python -m accuracy.goals --write   # writes it into both languages' pages

Figures are read from the tables in docs/training.md and docs/accuracy.md, which the other programs of this folder made:
of networks with their systems left out, of steps on one GPU those that no rate was read from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
_BEGIN, _END = "<!-- goals -->", "<!-- end of goals -->"
_CLASSES = ("16 MiB and more", "64 KiB to 16 MiB", "below 64 KiB")


class Goal(NamedTuple):
    """A figure that is to be reached.

    Attributes:
        name: What it is, in English and in Chinese.
        aim: The figure, in percent.
        place: Page, heading above the table, and first cells of the row that has the present figure.
        column: Number of its column behind these cells.
        is_floor: Whether the figure is to be above the aim.
    """

    name: tuple[str, str]
    aim: float
    place: tuple[str, str, tuple[str, ...]]
    column: int
    is_floor: bool = False


def list_goals() -> Iterator[Goal]:
    """The goals, in the order of the issue that names them."""
    for gpu in ("H100", "H200"):
        row = ("training.md", "One GPU in eager PyTorch", (gpu, "all"))
        yield Goal((f"steps on one {gpu}, time: median error", f"一块 {gpu} 上的步，时间：误差中位数"), 10, row, 1)
        yield Goal((f"steps on one {gpu}, time: within 25 %", f"一块 {gpu} 上的步，时间：25 % 以内"), 90, row, 2, True)
        yield Goal((f"steps on one {gpu}, memory: median error", f"一块 {gpu} 上的步，显存：误差中位数"), 5, row, 4)
        yield Goal((f"steps on one {gpu}, memory: lowest", f"一块 {gpu} 上的步，显存：最低"), -10, row, 5, True)
    for source, aim in (
        ("vTrain, one node, every sixth row", 6),
        ("vTrain, 64 nodes", 6),
        ("Megatron-Bridge", 12),
        ("torchtitan", 15),
    ):
        row = ("training.md", "Error of the predictions", (source,))
        yield Goal((f"{source}: median error", f"{source}：误差中位数"), aim, row, 1)
    for library, heading, aims in (("NCCL", "Left out", (9, 28, 23)), ("MPI", "MPI left out", (30, 45, 45))):
        for size, aim in zip(_CLASSES, aims, strict=True):
            row = ("accuracy.md", heading, (size,))
            yield Goal((f"{library}, {size}: median error", f"{library}，{size}：误差中位数"), aim, row, 1)
    for library in ("NCCL and RCCL", "MPI"):
        for size in _CLASSES:
            row = ("accuracy.md", "Intervals", (library, size))
            name = f"{library}, {size}: inside the interval", f"{library}，{size}：区间之内"
            yield Goal(name, 72, row, 1, True)


def find_figure(goal: Goal) -> float:
    """The present figure of a goal, in percent: of the first such row below the heading."""
    page, heading, cells = goal.place
    text = (DOCS / page).read_text(encoding="utf-8")
    _, _, below = text.partition(f"# {heading}\n")
    for line in below.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if tuple(row[: len(cells)]) == cells:
            return float(re.sub(r"[\s%+]", "", row[len(cells) + goal.column]).replace("−", "-"))
    raise LookupError(f"{page} has no row {cells} below {heading!r}")


def format_table(language: int) -> list[str]:
    """Lines of the table in English (0) or Chinese (1)."""
    rows = []
    for goal in list_goals():
        figure = find_figure(goal)
        missed = figure < goal.aim if goal.is_floor else figure > goal.aim
        distance = abs(figure - goal.aim) / abs(goal.aim) * (1 if missed else -1)
        rows.append((distance, goal, figure, missed))
    rows.sort(key=lambda row: -row[0])
    heads = (("goal", "asked", "now", "met"), ("目标", "要求", "现在", "达到"))[language]
    words = {True: ("no", "否"), False: ("yes", "是")}
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|"]
    for _, goal, figure, missed in rows:
        sign = "≥" if goal.is_floor else "≤"
        asked, now = (f"{value:g} %".replace("-", "−") for value in (goal.aim, figure))
        lines.append(f"| {goal.name[language]} | {sign} {asked} | {now} | {words[missed][language]} |")
    return lines


def write_tables() -> None:
    """Write the table into both pages, between its marks."""
    for language, page in enumerate(("training.md", "training.zh.md")):
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        before, _, rest = text.partition(_BEGIN)
        _, _, after = rest.partition(_END)
        table = "\n".join(format_table(language))
        path.write_text(f"{before}{_BEGIN}\n\n{table}\n\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_tables()
    print(*format_table(0), sep="\n")
