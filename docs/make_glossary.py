"""Write docs/glossary.md from the rows of collsim/locale/glossary.csv: `make docs`. A test compares them."""

from itertools import groupby
from pathlib import Path

from collsim.package_data import read_csv

PAGE = Path(__file__).with_name("glossary.md")
TABLE = Path(__file__).parents[1] / "collsim" / "locale" / "glossary.csv"
HEAD = """# Glossary

Every noun has one meaning in Python, on the command line, in the app, in the documentation and in the notebooks. The
Chinese words are those that Chinese readers of NCCL and PyTorch know. `rank`, `chunk` and the names of collectives and
algorithms stay English, as in code and logs. The last column lists words that are not used for this meaning.
`collsim glossary WORD` and `cs.glossary("WORD")` look a word up. The rows are in `collsim/locale/glossary.csv`; a test
(`tests/test_glossary.py`) checks the texts.
"""
#: What a section begins with.
LEADS = {"Words of articles": "Terms of articles about NCCL, PyTorch and ring allreduce, and where collsim shows them."}


def write_page() -> str:
    """The page: a table for each section, in the order of the rows."""
    parts = [HEAD]
    for section, rows in groupby(read_csv(str(TABLE), TABLE.name), key=lambda row: row["section"]):
        lead = [LEADS[section]] if section in LEADS else []
        table = ["| term | 中文 | means | not |", "|---|---|---|---|"]
        for row in rows:
            table.append(
                f"| {row['term']} | {row['chinese']} | {row['meaning']} | {row['refused']} |".replace("  |", " |")
            )
        parts.append("\n\n".join([f"## {section}", *lead, "\n".join(table)]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
