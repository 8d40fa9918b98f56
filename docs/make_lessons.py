"""Write the table of lessons in both teacher's guides: `make docs`. A test checks that it is current."""

from pathlib import Path

from collsim.lessons.chapters import LESSONS

DOCS = Path(__file__).parent
GUIDES = {"en": DOCS / "teaching.md", "zh": DOCS / "teaching.zh.md"}
FIRST, LAST = "<!-- lessons -->\n", "\n<!-- end of lessons -->"
HEADS = {"en": "| lesson | in the app | notebook | exercises |", "zh": "| 课 | 应用中 | notebook | 练习 |"}
APP = "http://localhost:8501/lessons?lesson="


def table(language: str) -> str:
    """A row for every lesson."""
    more, k = ("", 0) if language == "en" else ("&lang=zh", 1)
    rows = [HEADS[language], "|---|---|---|---|"]
    for number, lesson in LESSONS.items():
        book = f"`{lesson.notebook}`" if lesson.notebook else ""
        exercises = ", ".join(f"`{name}`" for name in lesson.exercises)
        rows.append(f"| {number} | [{lesson.title[k]}]({APP}{number}{more}) | {book} | {exercises} |")
    return "\n".join(rows)


def page(language: str) -> str:
    """The guide, with its table made anew."""
    before, rest = GUIDES[language].read_text(encoding="utf-8").split(FIRST)
    return before + FIRST + table(language) + LAST + rest.split(LAST)[1]


if __name__ == "__main__":
    for language, path in GUIDES.items():
        path.write_text(page(language), encoding="utf-8")
