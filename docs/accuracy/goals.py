"""What the accuracy of training steps is to be, and where it is: a table of docs/training.md, largest miss first.

    PYTHONPATH=docs python -m accuracy.goals           # prints the table
    PYTHONPATH=docs python -m accuracy.goals --write   # writes it into both languages' pages

Figures are read from the other tables of that page. `page.py` has the goals of collectives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
_BEGIN, _END = "<!-- goals -->", "<!-- end of goals -->"
_PAGE = DOCS / "training.md"
#: Kinds of step, as the table of intervals calls them, and their names in Chinese.
_KINDS = {
    "mixtures of experts": "混合专家模型",
    "pipelines": "流水线",
    "convolutional networks": "卷积网络",
    "sharded states (FSDP, ZeRO)": "分片的状态（FSDP、ZeRO）",
    "all others (dense)": "其他（稠密）",
}


class Goal(NamedTuple):
    """A figure that is to be reached.

    Attributes:
        name: What it is, in English and in Chinese.
        aim: The figure, in percent.
        place: Heading above the table, and first cells of the row that has the present figure.
        column: Number of its column behind these cells.
        is_floor: Whether the figure is to be above the aim.
    """

    name: tuple[str, str]
    aim: float
    place: tuple[str, tuple[str, ...]]
    column: int
    is_floor: bool = False


def list_goals() -> Iterator[Goal]:
    """The goals, in the order of the issue that names them."""
    for gpu in ("H100", "H200"):
        row = ("One GPU in eager PyTorch", (gpu, "all"))
        yield Goal((f"steps on one {gpu}, time: median error", f"一块 {gpu} 上的步，时间：误差中位数"), 10, row, 1)
        yield Goal((f"steps on one {gpu}, time: within 25 %", f"一块 {gpu} 上的步，时间：25 % 以内"), 90, row, 2, True)
        yield Goal((f"steps on one {gpu}, memory: median error", f"一块 {gpu} 上的步，显存：误差中位数"), 5, row, 4)
        yield Goal((f"steps on one {gpu}, memory: lowest", f"一块 {gpu} 上的步，显存：最低"), -10, row, 5, True)
    for source, aim in (
        ("vTrain, one node, every sixth row", 6),
        ("vTrain, 64 nodes", 6),
        ("Megatron-Bridge", 12),
        ("torchtitan", 15),
        ("Llama 3, table 4", 15),
    ):
        row = ("Error of the predictions", (source,))
        yield Goal((f"{source}: median error", f"{source}：误差中位数"), aim, row, 1)
    for kind, chinese in _KINDS.items():
        row = ("Intervals of steps", (kind,))
        for column, english, word in ((4, "source left out", "去掉来源"), (5, "kind left out", "去掉类别")):
            name = f"{kind}: inside the interval, {english}", f"{chinese}：区间之内，{word}"
            yield Goal(name, 72, row, column, True)


def find_figure(goal: Goal) -> float:
    """The present figure of a goal, in percent: of the first such row below the heading."""
    heading, cells = goal.place
    _, _, below = _PAGE.read_text(encoding="utf-8").partition(f"# {heading}\n")
    for line in below.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if tuple(row[: len(cells)]) == cells:
            return float(re.sub(r"[\s%+]", "", row[len(cells) + goal.column]).replace("−", "-"))
    raise LookupError(f"{_PAGE.name} has no row {cells} below {heading!r}")


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
