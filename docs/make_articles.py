"""Write docs/articles.md and docs/articles.zh.md from docs/articles/claims.toml: what five widely read articles say,
and what is true of it. `make docs`; a test runs every check and compares the pages."""

import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
CLAIMS = DOCS / "articles" / "claims.toml"
#: A page for each language.
PAGES = {"en": DOCS / "articles.md", "zh": DOCS / "articles.zh.md"}
VERDICTS = {
    "right": ("right", "正确"),
    "right_if": ("right if", "有条件"),
    "outdated": ("no longer", "已过时"),
    "wrong": ("wrong", "错误"),
    "term": ("a word", "术语"),
}
WORDS = {
    "en": (
        "# What the articles say",
        "| | it says | verdict | what is true | shown by |",
        "a run",
    ),
    "zh": (
        "# 文章怎么说",
        "| | 文章说 | 判断 | 实际 | 在哪里看 |",
        "运行",
    ),
}


def load_claims() -> dict:
    """The articles and their claims."""
    return tomllib.loads(CLAIMS.read_text(encoding="utf-8"))


def write_page(language: str) -> str:
    """The page in one language."""
    title, head, run = WORDS[language]
    k = ("en", "zh").index(language)
    claims = load_claims()
    parts = [title, claims["note"][language]]
    for article in claims["articles"]:
        rows = [
            f"| {number} | {claim[language]} | {VERDICTS[claim['verdict']][k]} | {claim[f'answer_{language}']} | "
            f"[{claim['page'].partition('#')[0].removesuffix('.md')}]({link(claim['page'], language)})"
            f"{', ' + run if 'check' in claim else ''} |"
            for number, claim in enumerate((c for c in claims["claims"] if c["article"] == article["number"]), 1)
        ]
        parts += [f"## {article['number']}. {article[language]}", "\n".join([head, "|---|---|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def link(page: str, language: str) -> str:
    """A page in a language, where there is one."""
    file, _, part = page.partition("#")
    chinese = file.removesuffix(".md") + ".zh.md"
    if language == "zh" and (DOCS / chinese).exists():
        file = chinese
    return f"{file}#{part}" if part else file


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(write_page(language), encoding="utf-8")
