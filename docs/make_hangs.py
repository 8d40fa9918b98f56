"""Write the catalogue of hangs in docs/hangs.md and docs/hangs.zh.md, with its programs run: `make docs`. A test checks
that they are current."""

import difflib
from functools import cache
from pathlib import Path

from collsim.programs import Hang, ProgramRun, list_hangs
from collsim.programs.hangs.stacks import format_logs, format_stacks

#: A page for each language.
PAGES = {language: Path(__file__).with_name(name) for language, name in (("en", "hangs.md"), ("zh", "hangs.zh.md"))}
#: What follows is generated; its programs run on ranks, and not where examples of pages do.
MARK = "<!-- catalogue -->\n<!--- skip: start -->\n"
WORDS = {
    "en": (
        "What happens",
        "What a cluster shows",
        "How to recognize it",
        "The fix",
        "In the app",
        "{n} ranks: {text}",
    ),
    "zh": ("发生了什么", "集群上看到什么", "怎样区分", "修复", "在应用中打开", "{n} 个 rank：{text}"),
}
APP = "http://localhost:8501/hangs?hang="


@cache
def run(name: str) -> tuple[ProgramRun, ProgramRun]:
    """The program that hangs and the fixed one, run once for both languages."""
    hang = list_hangs()[name]
    return hang.run(), hang.run_fixed()


def diff(hang: Hang) -> str:
    """What the fix changes, with one line around it."""
    lines = difflib.unified_diff(hang.source.splitlines(), hang.fixed_source.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in list(lines)[2:])


def section(number: int, hang: Hang, language: str) -> str:
    """All that the page says of one hang."""
    k, more = (0, "") if language == "en" else (1, "&lang=zh")
    happens, signs, difference, fix, app, result = WORDS[language]
    hanging, fixed = run(hang.name)
    return "\n\n".join(
        [
            f"## {number}. {hang.title[k]}",
            f"```python\n{hang.source.strip()}\n```",
            f"**{happens}.** {hang.cause[k]}",
            "> " + result.format(n=hanging.ranks, text=hanging.explanation(language)),
            f"**{signs}.** {hang.signs[k]}",
            f"```text\n{format_stacks(hanging, f'{hang.name}.py')}\n```",
            f"```text\n{format_logs(hanging)}\n```",
            f"**{difference}.** {hang.difference[k]}",
            f"**{fix}.** {hang.fix[k]}",
            f"```diff\n{diff(hang)}\n```",
            "> " + result.format(n=fixed.ranks, text=fixed.explanation(language)),
            f"[{app}]({APP}{hang.name}{more})",
        ]
    )


def page(language: str = "en") -> str:
    """The page, in English (`en`) or Chinese (`zh`), with the catalogue made anew."""
    before = PAGES[language].read_text(encoding="utf-8").split(MARK)[0]
    sections = [section(number, hang, language) for number, hang in enumerate(list_hangs().values(), 1)]
    return f"{before}{MARK}\n" + "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
