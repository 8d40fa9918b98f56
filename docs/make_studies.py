"""Write docs/studies.md and docs/studies.zh.md: each script of docs/studies with what it prints and its picture.
`python docs/make_studies.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUDIES = Path(__file__).parent / "studies"
#: A page for each language.
PAGES = [STUDIES.with_name(name) for name in ("studies.md", "studies.zh.md")]
ORDER = ("nvlink_bridges", "lost_rail", "pcie_or_dgx", "oversubscription")
HEADS = (
    """# Studies

Questions for a purchase or a placement, each a script of at most 15 lines. Made by `python docs/make_studies.py`,
which runs them; the
tests check that what they print is still so. Engine lockstep, nominal bandwidths.
""",
    """# 研究

关于采购或放置的问题，每个由一个不超过 15 行的脚本回答。本页由 `python docs/make_studies.py` 运行这些脚本而成，
测试检查它们打印的内容是否仍然如此。逐步引擎，标称带宽。脚本打印的是英文。
""",
)


def pages(pictures: Path = STUDIES) -> list[str]:
    """The page in English and in Chinese, from running every script once; each writes its picture into the folder
    `pictures`."""
    sections = [section(name, pictures) for name in ORDER]
    return ["\n".join(parts) for parts in zip(HEADS, *sections, strict=True)]


def section(name: str, pictures: Path) -> list[str]:
    """A script below its question, in English and in Chinese: the two paragraphs of its docstring."""
    path = STUDIES / f"{name}.py"
    _, questions, code = path.read_text(encoding="utf-8").split('"""', 2)
    done = subprocess.run([sys.executable, str(path)], cwd=pictures, capture_output=True, text=True, check=True)
    block = f"```python\n{code.strip()}\n```\n\n```text\n{done.stdout.strip()}\n```"
    question_lines = [" ".join(question.split()) for question in questions.split("\n\n")]
    return [f"## {question}\n\n{block}\n\n![{question}](studies/{name}.png)\n" for question in question_lines]


if __name__ == "__main__":
    for path, text in zip(PAGES, pages(), strict=True):
        path.write_text(text, encoding="utf-8")
