"""Write the table of docs/formats.md from the registry: `make docs`. A test checks that it is current."""

from pathlib import Path

import collsim as cs
from collsim.exchange import Format

PAGE = Path(__file__).with_name("formats.md")
FIRST, LAST = "<!-- formats -->\n", "\n<!-- end -->"
HEAD = "| name | suffix | holds | read | write | what it is | options |\n|---|---|---|:-:|:-:|---|---|\n"


def row(entry: Format) -> str:
    """One line of the table."""
    suffixes, options = (" ".join(f"`{word}`" for word in words) for words in (entry.suffixes, dict(entry.options)))
    able = ("✓" if function else "" for function in (entry.read, entry.write))
    cells = [f"`{entry.name}`", suffixes, entry.holds, *able, entry.about.replace("*", "\\*"), options]
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The page, with the table made anew."""
    before, rest = PAGE.read_text(encoding="utf-8").split(FIRST)
    order = ("schedule", "table", "log", "trace", "topology")
    entries = sorted(cs.formats().values(), key=lambda entry: order.index(entry.holds))
    return before + FIRST + HEAD + "\n".join(map(row, entries)) + LAST + rest.split(LAST)[1]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
