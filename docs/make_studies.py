"""Write docs/studies.md and docs/studies.zh.md: each script of docs/studies with what it prints and its picture.
`python docs/make_studies.py`. The Chinese pictures need a Chinese font; without one they stay as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from collsim.viz.pictures.machine_picture import choose_language

STUDIES = Path(__file__).parent / "studies"
#: A page for each language.
PAGES = [STUDIES.with_name(name) for name in ("studies.md", "studies.zh.md")]
ORDER = ("nvlink_bridges", "lost_rail", "pcie_or_dgx", "oversubscription")
HEADS = (
    """# Studies

Four questions about purchases and placement. A script of at most 15 lines answers each.
`python docs/make_studies.py` runs the scripts and writes this page, and a test compares what they print.
The engine is lockstep, and bandwidths are nominal.
""",
    """# 研究

采购和放置方面的四个问题，每个用一个不超过 15 行的脚本回答。本页由 `python docs/make_studies.py` 运行这些脚本生成，
测试会核对输出。用逐步引擎（lockstep）和标称带宽。脚本的输出是英文。
""",
)


def pages(pictures: Path = STUDIES) -> list[str]:
    """The page in English and in Chinese, from running every script once; each writes its picture into the folder
    `pictures`."""
    sections = [section(name, pictures) for name in ORDER]
    return ["\n".join(parts) for parts in zip(HEADS, *sections, strict=True)]


def section(name: str, pictures: Path) -> list[str]:
    """A script below its question, in English and in Chinese: the two paragraphs of its docstring."""
    _, questions, code = (STUDIES / f"{name}.py").read_text(encoding="utf-8").split('"""', 2)
    chinese = label_in_chinese(code, name)
    printed = run(code, pictures)
    if choose_language("zh") == "zh":
        run(chinese, pictures)
    headings = [" ".join(question.split()) for question in questions.split("\n\n")]
    files = (f"{name}.png", f"{name}.zh.png")
    return [
        f"## {heading}\n\n```python\n{lines.strip()}\n```\n\n```text\n{printed}\n```\n\n![{heading}](studies/{file})\n"
        for heading, lines, file in zip(headings, (code, chinese), files, strict=True)
    ]


def label_in_chinese(code: str, name: str) -> str:
    """The lines of a script with its picture in Chinese.

    Args:
        code: Of the script.
        name: Of its picture.
    """
    lines, count = re.subn(
        rf'\)\.figure\.savefig\("{name}\.png"', f', language="zh").figure.savefig("{name}.zh.png"', code
    )
    if count != 1:
        sys.exit(f"{name}.py does not write {name}.png in one line")
    return lines


def run(code: str, folder: Path) -> str:
    """What a script prints when it runs in a folder; its warnings stay visible."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    for path, text in zip(PAGES, pages(), strict=True):
        path.write_text(text, encoding="utf-8")
