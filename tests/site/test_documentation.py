"""The documentation: every example on every page runs and says what stands there, the reference has every public name,
and the site builds without a broken link and asks nothing of the network."""

import ast
import contextlib
import doctest
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import make_outputs
import make_reference
import pytest
import site_hooks
import yaml
from sampling import keep_fast
from sybil import Sybil
from sybil.example import SybilFailure
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import collsim as cs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if "```python" in path.read_text("utf-8")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A place with the files that pages name, and nothing else."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "examples", place / "examples")
    return place


def code(page):
    """The Python of a page without its comments and docstrings, one text per block; a session is taken as it stands."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block if block.startswith(">>>") else bare(block) for block in blocks]


def bare(block):
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.unparse(tree)


def parts(text):
    """The headings of a page as `##`, and what stands under each without its blocks of code."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    before, *rest = re.split(r"^(#+) ", plain, flags=re.MULTILINE)
    return rest[::2], [before, *rest[1::2]]


def in_code(text):
    """What stands between backquotes, but for a language that is asked for."""
    found = re.findall(r"`([^`]+)`", text)
    return {re.sub(r', "zh"|"zh"| --lang zh|/zh|\.zh', "", " ".join(one.split())).strip() for one in found}


def figures(text):
    """Numbers of two digits and more, as often as they stand there; a month is a name in English."""
    said = re.sub(r"`[^`]+`|<!--.*?-->|年 \d+ 月|\]\([^)]*\)", "", text)
    said = re.sub(r"(?<![\d.])([\d.]+) million", lambda found: f"{round(float(found[1]) * 100)} 万", said)
    return Counter(one for one in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", said) if len(one) > 1)


def unlike(english, chinese):
    """What one of two pages has and the other lacks, in words; nothing where they say the same."""
    (levels, ours), (theirs, others) = parts(english), parts(chinese)
    if levels != theirs:
        yield f"headings {levels} and {theirs}"
    for one, other in zip(ours, others, strict=False):
        name = one.partition("\n")[0]
        for what in (in_code, figures, lambda text: Counter(rows=text.count("\n|"))):
            a, b = what(one), what(other)
            if a != b:
                yield f"{name}: {a - b} and {b - a}"


def without_language(page):
    """The code of a page, but for the language that it asks for, as in `error.text("zh")`, and pictures' names."""
    plain = [re.sub(r"(?:, )?(?:language=)?(['\"])(?:en|zh)\1", "", block) for block in code(page)]
    return [block.replace(".zh.png", ".png").replace(".text()", "") for block in plain]


#: Pages whose code another page has, and those that a test of their own runs.
SAME = [
    page for page in PAGES if ".zh." in page and without_language(page) == without_language(page.replace(".zh.", "."))
]
ELSEWHERE = ["studies.md"]  # tests/test_studies.py
#: Pages without sessions of Python, whose blocks tests/site/test_outputs.py runs and compares with what they show.
ELSEWHERE += [
    page.relative_to(DOCS).as_posix() for page in make_outputs.list_pages() if ">>>" not in page.read_text("utf-8")
]


#: Pages with examples that are run here, and those of them that measure processes or sweep for seconds.
EXAMPLES = [page for page in PAGES if page not in (*SAME, *ELSEWHERE)]
LONG = ["real.md", "sweeps.md"]


@pytest.mark.parametrize("page", keep_fast(EXAMPLES, [page for page in EXAMPLES if page not in LONG]))
def test_every_example_of_a_page_runs_and_says_what_stands_there(page, folder):
    parsers = [PythonCodeBlockParser(doctest_optionflags=doctest.NORMALIZE_WHITESPACE), SkipParser()]
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in Sybil(parsers=parsers).parse(DOCS / page).examples():
            example.evaluate()


def test_pages_in_both_languages_have_the_same_code():
    """But for the language that they ask for, as in `error.text("zh")`, and figures that only one of them prints."""
    pairs = [page for page in PAGES if ".zh." in page]
    assert len(pairs) >= 7
    assert len(SAME) >= len(pairs) - 2
    assert all(len(code(page)) == len(code(page.replace(".zh.", "."))) for page in pairs)


#: Chinese pages but those of the reference, which are made from the same docstrings: tests/site/test_reference.py.
CHINESE = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.zh.md") if path.parent.name != "reference")


@pytest.mark.parametrize("page", CHINESE)
def test_a_page_in_both_languages_has_the_same_headings_tables_names_and_figures(page):
    english, chinese = ((DOCS / name).read_text("utf-8") for name in (page.replace(".zh.", "."), page))
    assert list(unlike(english, chinese)) == []


def test_a_figure_a_row_a_name_and_a_heading_that_one_language_lacks_are_found():
    page = "# A\n\n| a | b |\n|---|---|\n| `x` | 33.5 million of 1,024 |\n"
    same = "# 甲\n\n| 甲 | 乙 |\n|---|---|\n| `x` | 1,024 中的 3350 万 |\n"
    assert list(unlike(page, same)) == []
    for right, wrong in (
        ("1,024", "1,042"),
        ("3350 万", "335 万"),
        ("`x`", "`y`"),
        ("|---|---|\n", ""),
        ("# 甲", "## 甲"),
    ):
        assert len(list(unlike(page, same.replace(right, wrong)))) == 1, wrong


def test_an_example_that_is_wrong_is_found(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    (example,) = Sybil(parsers=[PythonCodeBlockParser()]).parse(page).examples()
    with pytest.raises(SybilFailure):
        example.evaluate()


def test_every_page_for_readers_is_in_both_languages():
    ours = [p for p in DOCS.rglob("*.md") if p.parent.name in ("howto", "explained")]
    ours += [DOCS / f"{name}.md" for name in ("index", "tutorial", "teaching", "training", "synthesis", "sweeps")]
    ours += [DOCS / f"{name}.md" for name in ("timeline", "tables", "performance", "where", "real", "design")]
    ours += [DOCS / f"{name}.md" for name in ("algorithms", "formats", "machines", "studies")]
    english = [path for path in ours if ".zh." not in path.name]
    assert len(english) >= 20
    assert [str(path) for path in english if not path.with_suffix(".zh.md").exists()] == []


def test_every_title_of_the_menu_has_its_chinese_words():
    """Pages of the reference have their titles in their texts, and the menu has those of their groups."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    (plugin,) = (one["i18n"] for one in site["plugins"] if "i18n" in one)
    words = plugin["languages"][1]["nav_translations"]
    pages = [page for part in site["nav"] for name, below in part.items() if name != "Reference" for page in below]
    titles = {
        *(name for part in site["nav"] for name in part),
        *(name for page in pages if page != "index.md" for name in page),
        *make_reference.GROUPS,
    }
    assert len(titles) > 25
    assert titles == set(words)
    assert {group: words[group] for group in make_reference.GROUPS} == make_reference.CHINESE_GROUPS
    assert len(set(words.values())) == len(words)


def test_the_reference_is_current_and_has_every_public_name():
    made = make_reference.pages()
    assert {page: (DOCS / "reference" / page).read_text("utf-8") for page in made} == made, "run make docs"
    named = set(re.findall(r"heading: cs\.(\S+)$", "".join(made.values()), re.MULTILINE))
    packages = {name for name in cs.__all__ if inspect.ismodule(getattr(cs, name))}
    assert set(cs.__all__) - packages - named == set()
    assert {"pipeline", "train.Split"} <= named


def test_the_reference_is_grouped_as_its_menu_and_names_pages_that_the_app_has():
    from collsim.app import main  # registers the pages

    grouped = [name for names in make_reference.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(make_reference.PAGES)
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    (menu,) = (part["Reference"] for part in nav if "Reference" in part)
    groups = {group: [f"reference/{name}.md" for name in names] for group, names in make_reference.GROUPS.items()}
    assert menu == ["reference/index.md", *({group: names} for group, names in groups.items())]
    shown = {page for pages in make_reference.APP_PAGES.values() for page in pages}
    assert shown - set(main.PAGES) == set()
    assert set(make_reference.APP_PAGES) <= set(grouped)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; strict: a link or an anchor that leads nowhere ends it."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return place


@pytest.mark.slow
def test_llms_txt_lists_every_page_of_the_menu_with_a_sentence_and_the_schemas(site):
    text = (site / "llms.txt").read_text("utf-8")
    links = re.findall(r"\[[^\]]+\]\(([^)]+)\)", text)
    assert [link for link in links if not (site / link).is_file()] == []
    menu = re.findall(r"[\w/-]+\.md", yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert {link for link in links if link.endswith(".html")} == {name.replace(".md", ".html") for name in menu}
    sentences = re.findall(r"^- \[[^\]]+\]\([^)]+\): \S.*[.?!]$", text, re.MULTILINE)
    assert len(sentences) > len(menu) * 0.9
    assert (site / "schemas" / "run.json").is_file()


@pytest.mark.slow
def test_the_site_asks_nothing_of_the_network_and_every_link_in_it_leads_somewhere(site):
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(pages) >= 60
    outside, lost = set(), set()
    for page in pages:
        text = page.read_text("utf-8")
        outside |= set(re.findall(r"<(?:script|img|iframe)[^>]* src=\"?(https?:[^\" >]+)", text))
        outside |= set(re.findall(r"<link[^>]* href=\"?(https?:[^\" >]+)", text))
        for target in re.findall(r" (?:href|src)=\"([^\"#?]+)[\"#?]", text):
            if not re.match(r"[a-z]+:", target) and not (page.parent / unquote(target)).exists():
                lost.add((page.relative_to(site).as_posix(), target))
    assert outside == set()
    published = {(path, target) for path, target in lost if "notebooks/" in target}
    assert published == {  # `make site` writes the notebooks with their outputs next to the documentation
        ("notebooks.html", "../notebooks/en/index.html"),
        ("zh/notebooks.html", "../../notebooks/zh/index.html"),
    }
    assert "build/site/notebooks" in (ROOT / "Makefile").read_text("utf-8")
    assert lost == published


def described_parameters(html, name):
    """Parameters that a page of the reference describes under a function: rows of its table with a description."""
    part = html.partition(f'id="{name}"')[2].partition('class="doc doc-heading"')
    table = part[2].partition('class="doc doc-heading"')[0].partition("Parameters:</span>")[2].partition("</table>")[0]
    rows = re.findall(r"<tr class=\"doc-section-item\">(.*?)</tr>", table, re.DOTALL)
    cells = [re.search(r"<code>\**(\w+)</code>.*doc-md-description\">\s*<p>\S", row, re.DOTALL) for row in rows]
    return {cell[1] for cell in cells if cell}


def test_lines_of_a_chinese_paragraph_are_joined_without_a_space_and_code_is_not():
    text = "它很快，\n而且对。\n`run` 说\n明。\n- 一\n\n下\n\nTwo words\nof English，\n| a |\n"
    code = "```python\n# 一，\n二 = 1\n```"
    joined = "它很快，而且对。`run` 说明。\n- 一\n\n下\n\nTwo words\nof English，\n| a |\n"
    assert site_hooks.join_chinese_lines(text + code) == joined + code


@pytest.mark.slow
def test_the_site_shows_no_gap_where_a_line_of_a_chinese_page_ends(site):
    pages = {page.name: page.read_text("utf-8") for page in (site / "zh").rglob("*.html")}
    assert "programs.html" in pages
    gap = re.compile(r"[\u4e00-\u9fff，。；：、]\n[\u4e00-\u9fff]")
    assert {
        name: found
        for name, text in pages.items()
        if (found := gap.findall(re.sub(r"<pre.*?</pre>", "", text, flags=re.S)))
    } == {}


@pytest.mark.slow
def test_the_site_has_every_parameter_of_every_public_function(site):
    lacking, functions = set(), 0
    for page, (_, _, names, packages) in make_reference.PAGES.items():
        html = (site / "reference" / f"{page}.html").read_text("utf-8")
        for name, thing in make_reference.entries(names, packages).items():
            if not inspect.isfunction(thing):
                continue
            functions += 1
            shown = described_parameters(html, f"{thing.__module__}.{thing.__qualname__}")
            lacking |= {
                (name, parameter) for parameter in inspect.signature(thing).parameters if parameter not in shown
            }
    assert functions > 150
    assert lacking == set()


@pytest.mark.slow
def test_the_site_says_what_the_docstrings_say_in_both_languages(site):
    said = (site / "reference" / "units.html").read_text("utf-8")
    assert "more than 1 EiB, or ambiguous as" in said
    assert "collsim.units.parse_bytes" in said
    assert "十分钟入门" in (site / "zh" / "tutorial.html").read_text("utf-8")
    english, chinese = (
        json.loads((site / folder / "search" / "search_index.json").read_text("utf-8")) for folder in ("", "zh")
    )
    assert any("cs.simulate" in entry["title"] for entry in english["docs"])
    assert any("下界" in entry["title"] for entry in chinese["docs"])
