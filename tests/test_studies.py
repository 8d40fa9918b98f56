"""The studies in the docs are short, run, and print what the page says."""

import importlib.util
from pathlib import Path

import pytest

from collsim.viz.pictures.machine_picture import choose_language

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("script", sorted((DOCS / "studies").glob("*.py")), ids=lambda p: p.stem)
def test_a_study_is_at_most_15_lines(script):
    code = script.read_text(encoding="utf-8").split('"""', 2)[2]
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= 15


@pytest.fixture
def make_studies():
    """The script that makes the pages."""
    spec = importlib.util.spec_from_file_location("make_studies", DOCS / "make_studies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_study_of_the_page_is_current_in_both_languages(make_studies, tmp_path):
    for path, text in zip(make_studies.PAGES, make_studies.section("lost_rail", tmp_path), strict=True):
        assert text in path.read_text(encoding="utf-8"), "run python docs/make_studies.py"


@pytest.mark.slow
def test_the_pages_of_studies_are_current_in_both_languages(make_studies, tmp_path):
    there = [path.read_text(encoding="utf-8") for path in make_studies.PAGES]
    assert [path.name for path in make_studies.PAGES] == ["studies.md", "studies.zh.md"]
    assert there == make_studies.pages(tmp_path), "run python docs/make_studies.py"
    chinese = choose_language("zh") == "zh"  # whether a font has its characters
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{name}{suffix}" for name in make_studies.ORDER for suffix in (".png", *[".zh.png"] * chinese)
    )


def test_without_a_chinese_font_no_picture_in_english_passes_for_a_chinese_one(make_studies, tmp_path, monkeypatch):
    monkeypatch.setattr(make_studies, "choose_language", lambda language: "en")
    headings = make_studies.section("lost_rail", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lost_rail.png"]
    assert "(studies/lost_rail.zh.png)" in headings[1]


def test_a_script_without_its_picture_in_one_line_is_refused(make_studies):
    line = 'plots.gantt(run).figure.savefig("one.png")'
    assert make_studies.label_in_chinese(line, "one") == 'plots.gantt(run, language="zh").figure.savefig("one.zh.png")'
    with pytest.raises(SystemExit):
        make_studies.label_in_chinese(line, "two")
