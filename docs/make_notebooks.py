"""Write into the notebooks what stands elsewhere: tasks of exercises, and which notebook is next. `make docs` runs it.

A cell that begins with `<!-- task: NAME -->` holds the task of that exercise; the second paragraph of the last cell
names the next notebook. Tests check that both are current.
"""

import json
import re
from pathlib import Path

from collsim.lessons.chapters import LESSONS
from collsim.teach import exercise

ROOT = Path(__file__).parents[1] / "notebooks"
FOLDERS = {"en": ROOT, "zh": ROOT / "zh"}
TASK = re.compile(r"<!-- task: ([\w-]+) -->")
NEXT = {"en": "Next: [{title}]({file}).", "zh": "下一篇：[{title}]({file})。"}
LAST = {
    "en": "This was the last one. The page *Write your own* of the app (`collsim app`) waits for your algorithm.",
    "zh": "这是最后一篇。应用（`collsim app`）的“自己编写”页等着您的算法。",
}


def notebooks(language: str) -> list[Path]:
    """The notebooks of the lessons, in order."""
    return [FOLDERS[language] / f"{lesson.notebook}.ipynb" for lesson in LESSONS.values() if lesson.notebook]


def task(name: str, language: str) -> str:
    """The text of a cell that says what an exercise asks."""
    return f"<!-- task: {name} -->\n{exercise(name, language)._repr_markdown_()}"


def onward(book: Path, language: str) -> str:
    """Which notebook comes after one."""
    books = [lesson for lesson in LESSONS.values() if lesson.notebook]
    position = [lesson.notebook for lesson in books].index(book.stem)
    if position + 1 == len(books):
        return LAST[language]
    title = books[position + 1].title[list(FOLDERS).index(language)]
    return NEXT[language].format(title=title, file=f"{books[position + 1].notebook}.ipynb")


def page(book: Path, language: str) -> str:
    """A notebook, with its tasks and its last cell made anew."""
    read = json.loads(book.read_text(encoding="utf-8"))
    for cell in read["cells"]:
        if task_match := TASK.match("".join(cell["source"])):
            cell["source"] = task(task_match[1], language).splitlines(keepends=True)
    head, _, *rest = "".join(read["cells"][-1]["source"]).split("\n\n")
    read["cells"][-1]["source"] = "\n\n".join([head, onward(book, language), *rest]).splitlines(keepends=True)
    return json.dumps(read, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for language in FOLDERS:
        for book in notebooks(language):
            book.write_text(page(book, language), encoding="utf-8")
