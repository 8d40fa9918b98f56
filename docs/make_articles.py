"""Write docs/articles.md and a page for each article (docs/articles/) from docs/articles/claims.toml.

Both languages: the claims of five widely read articles with a verdict, their terms and where each is explained, and
questions for a class whose answers are computed. `make docs`; a test runs every check and compares the pages.
"""

import contextlib
import io
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import collsim as cs
from collsim.app.pages.program.program_drafts import EXAMPLES
from collsim.dtypes import list_dtypes
from collsim.training_scripts import read_script

DOCS = Path(__file__).parent
CLAIMS = DOCS / "articles" / "claims.toml"
LANGUAGES = ("en", "zh")


def run_example(name: str, *changes: tuple[str, str]) -> dict[str, Any]:
    """Run a printed program of an article, one of the page Bring your program, and return its names.

    Args:
        name: of the example.
        changes: what is replaced in its source, and by what.
    """
    source = EXAMPLES[name][1]
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, names)
    return names


#: What the expressions of claims and questions may name.
NAMES = {"cs": cs, "list_dtypes": list_dtypes, "np": np, "read_script": read_script, "run_example": run_example}
#: Pages of the app that a claim may name, and the page of the documentation that explains each.
APP_PAGES = {"program": "howto/program.md", "script": "howto/training-script.md"}
VERDICTS = {
    "right": ("right", "正确"),
    "right_if": ("right if", "有条件"),
    "outdated": ("outdated", "已过时"),
    "wrong": ("wrong", "错误"),
}
WORDS = {
    "en": {
        "title": "# What the articles say",
        "articles": "| | article | claims | right | right if | outdated | wrong | terms |",
        "claims": "| | line | claim | verdict | explanation | shown by |",
        "run": "a run",
        "no_run": " ({reason})",
        "words": "## Terms",
        "word": "| line | term | explained by |",
        "class": "## Questions for a class",
        "note": "A teacher's sheet. collsim computes each answer when it makes this page.",
        "question": "| | question | answer |",
    },
    "zh": {
        "title": "# 文章里的说法",
        "articles": "| | 文章 | 论断 | 正确 | 有条件 | 已过时 | 错误 | 词语 |",
        "claims": "| | 行 | 论断 | 判断 | 说明 | 在哪里看 |",
        "run": "运行",
        "no_run": "（{reason}）",
        "words": "## 其中的词语",
        "word": "| 行 | 词语 | 在哪里解释 |",
        "class": "## 课堂提问",
        "note": "教师用表：每个答案都在生成本页时由 collsim 计算。",
        "question": "| | 问题 | 答案 |",
    },
}


def load_claims() -> dict[str, Any]:
    """The articles, their claims, words and questions."""
    return tomllib.loads(CLAIMS.read_text(encoding="utf-8"))


def list_pages() -> dict[Path, tuple[int, str]]:
    """Each page, with the number of its article (0: the page of all) and its language."""
    suffixes = {"en": ".md", "zh": ".zh.md"}
    pages = {DOCS / f"articles{suffixes[language]}": (0, language) for language in LANGUAGES}
    for article in load_claims()["articles"]:
        number = article["number"]
        pages |= {DOCS / "articles" / f"{number}{suffixes[language]}": (number, language) for language in LANGUAGES}
    return pages


def write_page(number: int, language: str) -> str:
    """A page in one language."""
    claims = load_claims()
    if number == 0:
        return write_overview(claims, language)
    words = WORDS[language]
    article = next(article for article in claims["articles"] if article["number"] == number)
    own = {key: [e for e in claims[key] if e["article"] == number] for key in ("claims", "terms", "questions")}
    k = LANGUAGES.index(language)
    rows = []
    for row, claim in enumerate(own["claims"], 1):
        verdict, answer = VERDICTS[claim["verdict"]][k], claim[f"answer_{language}"]
        shown = format_link(claim["page"], language)
        if "check" in claim:
            shown += f", {words['run']}"
        else:
            shown += words["no_run"].format(reason=claim[f"no_run_{language}"])
        rows.append(f"| {row} | {claim['line']} | {claim[language]} | {verdict} | {answer} | {shown} |")
    terms = [f"| {e['line']} | {e[language]} | {format_link(e['page'], language)} |" for e in own["terms"]]
    questions = [
        f"| {row} | {entry[language]} | {eval(entry['answer'], dict(NAMES))} |"
        for row, entry in enumerate(own["questions"], 1)
    ]
    parts = [
        f"# {number}. {article[language]}",
        "\n".join([words["claims"], "|---|---|---|---|---|---|", *rows]),
        words["words"],
        "\n".join([words["word"], "|---|---|---|", *terms]),
        words["class"],
        words["note"],
        "\n".join([words["question"], "|---|---|---|", *questions]),
    ]
    return "\n\n".join(parts) + "\n"


def write_overview(claims: dict[str, Any], language: str) -> str:
    """The page of all articles."""
    rows = []
    for article in claims["articles"]:
        number = article["number"]
        verdicts = [claim["verdict"] for claim in claims["claims"] if claim["article"] == number]
        counts = [len(verdicts), *(verdicts.count(verdict) for verdict in VERDICTS)]
        counts.append(sum(term["article"] == number for term in claims["terms"]))
        page = find_page(f"articles/{number}.md", language)
        rows.append(f"| {number} | [{article[language]}]({page}) | " + " | ".join(map(str, counts)) + " |")
    head = WORDS[language]["articles"]
    return (
        "\n\n".join([WORDS[language]["title"], claims["note"][language], "\n".join([head, "|---" * 8 + "|", *rows])])
        + "\n"
    )


def format_link(target: str, language: str) -> str:
    """A link from the page of an article to what answers."""
    if target.startswith("app:"):
        target = APP_PAGES[target.removeprefix("app:")]
    file = target.partition("#")[0].removesuffix(".md")
    return f"[{file}](../{find_page(target, language)})"


def find_page(page: str, language: str) -> str:
    """A page in a language, where there is one."""
    file, _, part = page.partition("#")
    chinese = file.removesuffix(".md") + ".zh.md"
    if language == "zh" and ((DOCS / chinese).exists() or file.startswith("articles/")):
        file = chinese
    return f"{file}#{part}" if part else file


if __name__ == "__main__":
    for path, (number, language) in list_pages().items():
        path.write_text(write_page(number, language), encoding="utf-8")
