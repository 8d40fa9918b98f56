"""The reference in Chinese, and its figures: every public name has a Chinese summary of what its docstring says today."""

import re

import make_gallery
import make_reference
import make_reference_figures
import numpy as np
import pytest
from PIL import Image

PAGES = make_reference.PAGES
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def list_entries(page):
    """The public names of a page of the reference, with what each names."""
    _, _, names, packages = PAGES[page]
    return make_reference.entries(names, packages)


@pytest.mark.parametrize("page", PAGES)
def test_every_public_name_has_a_chinese_summary_of_its_docstring(page):
    """Where an English summary has changed, read the Chinese one, and write the new English beside it."""
    summaries = make_reference.read_summaries(page)["names"]
    english = {name: make_reference.summarize(thing) for name, thing in list_entries(page).items()}
    assert {name: texts["en"] for name, texts in summaries.items()} == english
    assert [name for name, texts in summaries.items() if not CHINESE.search(texts["zh"])] == []


def test_a_name_has_one_entry():
    things = [id(thing) for page in PAGES for thing in list_entries(page).values()]
    assert len(things) > 280
    assert len(things) == len(set(things))


def test_chinese_summaries_keep_the_names_in_code_and_end_as_sentences():
    """What is code in English is code in Chinese; a Chinese summary may explain one name more."""
    for page in PAGES:
        for name, texts in make_reference.read_summaries(page)["names"].items():
            english, chinese = (set(re.findall(r"`([^`]+)`", texts[language])) for language in ("en", "zh"))
            assert english - chinese <= {"Device"}, name
            assert texts["zh"].endswith(("。", "）", "`")), name
            assert "  " not in texts["zh"], name


def test_every_page_has_its_chinese_title_and_names_pages_of_the_app():
    for page in PAGES:
        english, chinese = (make_reference.write_page(page, language) for language in make_reference.LANGUAGES)
        assert CHINESE.search(chinese.partition("\n")[0]) or page == "nccl"
        links = [re.findall(r"\(http://localhost:8501/(\w+)\)", text) for text in (english, chinese)]
        assert links == [list(make_reference.APP_PAGES.get(page, ()))] * 2
        homes = [re.findall(r"^::: (\S+)$", text, re.MULTILINE) for text in (english, chinese)]
        assert homes[0] == homes[1]


def test_every_figure_belongs_to_a_public_name_and_lies_in_its_folder():
    names = {name for page in PAGES for name in list_entries(page)}
    figures = make_reference_figures.list_figures()
    assert set(make_reference.FIGURES) | set(figures) <= names
    assert not set(make_reference.FIGURES) & set(figures)
    assert len(make_reference.FIGURES) + len(figures) >= 40
    paths = {make_reference_figures.find_path(name, language) for name in figures for language in ("en", "zh")}
    assert paths == set(make_reference_figures.FOLDER.iterdir())


#: A figure of each kind that is drawn in a fraction of a second; the others take the same way.
FAST = {"topology.hypercube", "topology.torus"}


@pytest.mark.parametrize(
    "exhibit",
    [
        pytest.param(exhibit, marks=() if exhibit.name in FAST else pytest.mark.slow)
        for exhibit in make_reference_figures.EXHIBITS
    ],
    ids=lambda exhibit: exhibit.name,
)
def test_a_figure_is_what_its_lines_draw(exhibit, tmp_path):
    for language in make_gallery.LANGUAGES:
        _, pixels = make_gallery.render(make_gallery.draw(exhibit, language))
        (tmp_path / "drawn.png").write_bytes(pixels)
        drawn, stored = (
            np.asarray(Image.open(path).convert("RGB"), float)
            for path in (tmp_path / "drawn.png", make_reference_figures.find_path(exhibit.name, language))
        )
        assert drawn.shape == stored.shape
        assert (np.abs(drawn - stored).max(axis=2) > 96).mean() < 0.02  # letters of another font are less


@pytest.mark.parametrize("name", make_reference_figures.RUNS)
def test_the_lanes_of_a_program_are_those_of_its_run(name):
    assert make_reference_figures.find_path(name, "en").read_text("utf-8") == make_reference_figures.draw_lanes(name)
