"""The gallery: twenty figures in both languages, themes and formats, each with few lines that still draw it."""

import io
import re

import defusedxml.ElementTree as ElementTree
import make_gallery
import numpy as np
import pytest
from make_gallery import EXHIBITS, FOLDER, LANGUAGES, PAGES
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from collsim.display.palette import TOKENS
from collsim.viz.pictures.figure import darken


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_current_and_has_twenty_figures_of_five_lines_at_most(language):
    assert PAGES[language].read_text("utf-8") == make_gallery.write_page(language), "python docs/make_gallery.py"
    assert len(EXHIBITS) == 20
    assert max(len(exhibit.code.splitlines()) for exhibit in EXHIBITS) <= 5


def test_the_folder_has_every_file_and_no_other():
    files = {
        path
        for exhibit in EXHIBITS
        for language in LANGUAGES
        for *_, path in make_gallery.list_files(exhibit, language)
    }
    assert files == set(FOLDER.iterdir())
    assert len(files) == 160


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_files_are_pictures_in_their_theme(exhibit):
    for language in LANGUAGES:
        for theme, suffix, path in make_gallery.list_files(exhibit, language):
            if suffix == "svg":
                assert ElementTree.fromstring(path.read_bytes()).tag.endswith("svg")
                assert ("#000000" in path.read_text("utf-8")) <= (theme == "light"), path
                continue
            corner = Image.open(path).convert("RGB").getpixel((0, 0))
            card = TOKENS["card"][theme == "dark"]
            assert corner == tuple(int(card[k : k + 2], 16) for k in (1, 3, 5)), path


#: Kinds of figures; the others of a kind take the same way.
FAST = {"ring", "gantt-ring", "tornado"}


@pytest.mark.parametrize(
    "exhibit",
    [pytest.param(exhibit, marks=() if exhibit.name in FAST else pytest.mark.slow) for exhibit in EXHIBITS],
    ids=lambda exhibit: exhibit.name,
)
def test_the_lines_still_draw_the_figure(exhibit):
    for language in LANGUAGES:
        figure = make_gallery.draw(exhibit, language)
        for theme in ("light", "dark"):
            if theme == "dark":
                darken(figure)
            _, pixels = make_gallery.render(figure)
            drawn = read_pixels(pixels)
            stored = read_pixels((FOLDER / f"{exhibit.name}.{language}.{theme}.png").read_bytes())
            assert drawn.shape == stored.shape
            # letters of another font are less
            assert (np.abs(drawn - stored).max(axis=2) > 96).mean() < 0.02, (language, theme)


def read_pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)


def test_the_dark_figure_has_no_light_colour_of_a_token_and_transparency_stays():
    figure = Figure(facecolor="#FFFFFF")
    ax = figure.subplots()
    ax.fill_between([0, 1], [0, 1], color=TOKENS["room"][0], alpha=0.25)
    (line,) = ax.plot([0, 1], color=TOKENS["done"][0], marker="o", markerfacecolor="none")
    title = ax.set_title("x")
    darken(figure)
    assert to_hex(figure.get_facecolor()) == TOKENS["card"][1].lower()
    assert to_hex(line.get_color()) == TOKENS["done"][1].lower()
    assert line.get_markerfacecolor() == "none"
    assert to_hex(title.get_color()) == TOKENS["ink"][1].lower()
    (area,) = ax.collections
    assert to_hex(area.get_facecolor()[0]) == TOKENS["room"][1].lower()
    assert area.get_facecolor()[0][3] == pytest.approx(0.25)


def test_a_page_names_each_licence_and_every_link_is_a_file():
    for language, page in PAGES.items():
        text = page.read_text("utf-8")
        assert "MIT" in text
        links = re.findall(r"\(gallery/([^)]+)\)", text)
        assert len(links) == 20 * 5, language
        assert all((FOLDER / link).is_file() for link in links)
