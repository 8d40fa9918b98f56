"""Write the tables of docs/formats.md and docs/formats.zh.md from the registry: `make docs`. A test checks that they
are current."""

from pathlib import Path

import collsim as cs
from collsim.io import Format

#: A page for each language.
PAGES = [Path(__file__).with_name(name) for name in ("formats.md", "formats.zh.md")]
FIRST, LAST = "<!-- formats -->\n", "\n<!-- end -->"
HEADS = (
    "| name | suffix | holds | read | write | what it is | options |\n|---|---|---|:-:|:-:|---|---|\n",
    "| 名称 | 后缀 | 内容 | 读 | 写 | 是什么 | 选项 |\n|---|---|---|:-:|:-:|---|---|\n",
)
#: What a file holds, in the order of the table, with its Chinese word.
HOLDS = {"schedule": "调度", "table": "表", "log": "日志", "trace": "运行记录", "topology": "拓扑"}


def row(entry: Format, language: int) -> str:
    """One line of the table; what a format says of itself is English where it has no Chinese."""
    suffixes, options = (" ".join(f"`{word}`" for word in words) for words in (entry.suffixes, dict(entry.options)))
    able = ("✓" if function else "" for function in (entry.read, entry.write))
    holds, about = (HOLDS[entry.holds], entry.chinese or entry.about) if language else (entry.holds, entry.about)
    cells = [f"`{entry.name}`", suffixes, holds, *able, about.replace("*", "\\*"), options]
    return "| " + " | ".join(cells) + " |"


def page(language: int = 0) -> str:
    """The page, in English (0) or Chinese (1), with the table made anew."""
    before, rest = PAGES[language].read_text(encoding="utf-8").split(FIRST)
    entries = sorted(cs.io.formats().values(), key=lambda entry: list(HOLDS).index(entry.holds))
    rows = "\n".join(row(entry, language) for entry in entries)
    return before + FIRST + HEADS[language] + rows + LAST + rest.split(LAST)[1]


if __name__ == "__main__":
    for number, path in enumerate(PAGES):
        path.write_text(page(number), encoding="utf-8")
