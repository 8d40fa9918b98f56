"""docs/machines.md and docs/machines.zh.md are what the catalogue says."""

import re
from dataclasses import replace
from pathlib import Path

import make_machines
import pytest
from make_machines import build_machine_tables

import collsim as cs
from collsim.topology import parse_topology_text
from collsim.topology.fabrics import FABRICS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    language: (DOCS / name).read_text("utf-8") for language, name in (("en", "machines.md"), ("zh", "machines.zh.md"))
}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("language", PAGES)
def test_the_tables_are_those_of_the_catalogue(language):
    assert PAGES[language].split("<!-- catalogue -->\n")[1].strip() == build_machine_tables(language).strip(), (
        "run: python docs/make_machines.py"
    )


def test_both_languages_have_the_same_rows_of_which_only_the_words_differ():
    rows = [[cells(line) for line in build_machine_tables(language).splitlines()] for language in PAGES]
    assert len(rows[0]) == len(rows[1]) > 100
    for english, chinese in zip(*rows, strict=True):
        assert len(english) == len(chinese)
        for one, other in zip(english, chinese, strict=True):
            assert one == other or CHINESE.search(other), (one, other)
            assert not CHINESE.search(one)


def test_every_machine_and_fabric_says_what_it_is_in_chinese():
    parts = build_machine_tables("zh").split("\n\n")
    rows = [cells(line) for line in (*parts[1].splitlines()[2:], *parts[-1].splitlines()[2:])]
    assert len(rows) == len(cs.machines()) + len(FABRICS)
    assert [row[0] for row in rows if not CHINESE.search(row[1])] == []


def test_a_machine_without_chinese_words_is_on_the_chinese_page_with_its_english_ones(monkeypatch):
    mine = replace(cs.machines()["polaris"], name="mine", about="Four of mine.", chinese="")
    for words, expected in (("", "Four of mine."), ("我的四块。", "我的四块。")):
        monkeypatch.setattr(make_machines, "machines", lambda words=words: {"mine": replace(mine, chinese=words)})
        assert f"| `mine` | {expected} | 4 | 2 × slingshot |" in build_machine_tables("zh")
        assert "| `mine` | Four of mine. | 4 | 2 × slingshot |" in build_machine_tables()


def cells(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize("language", PAGES)
def test_the_yaml_on_the_page_is_read(language):
    blocks = re.findall(r"```yaml\n(.*?)```", PAGES[language], re.DOTALL)
    assert [parse_topology_text(block).ranks for block in blocks] == [2, 8, 16, 2]


def test_the_python_on_the_page_runs():
    block = re.search(r"```python\n(.*?)```", PAGES["en"], re.DOTALL)[1]
    names = {}
    exec(block.replace("print(", "str("), names)
    assert names["m"].ranks == 16


def test_every_table_row_has_a_source():
    for row in build_machine_tables().split("### Fabrics")[0].splitlines():
        if row.startswith("| ") and "---" not in row:
            assert row.strip("| ").split(" | ")[-1].strip()
    for language, page in PAGES.items():
        assert cs.machines()["dgx-a100"].describe_source(language) in page
