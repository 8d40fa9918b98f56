"""Slides of all lessons fit: nothing runs over a screen or a page, and a picture is large enough to be seen."""

import re

import pytest
from sampling import sample

from collsim.site import write_slides

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore:no Chinese font")]
OVER = """() => [...document.querySelectorAll(".slide")].map((slide, k) => [k + 1, slide.scrollHeight - slide.clientHeight])
  .filter(([, over]) => over > 0)"""
SMALL = (
    """() => [...document.querySelectorAll(".slide img")].map((img) => img.clientHeight).filter((tall) => tall < 150)"""
)
#: Every picture becomes an empty one of its size: putting the real ones into a PDF takes half a minute.
EMPTY = """() => Promise.all([...document.querySelectorAll(".slide img")].map((img) => {
  const size = `width="${img.naturalWidth}" height="${img.naturalHeight}"`;
  img.src = "data:image/svg+xml," + encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" ${size}/>`);
  return img.decode();
}))"""


@pytest.fixture(scope="module", params=sample(["en", "zh"], 1))
def slides_tab(request, tmp_path_factory, chromium):
    """A tab with all slides, and how many there are."""
    deck = write_slides(tmp_path_factory.mktemp("slides") / "slides.html", language=request.param)
    tab = chromium.new_page()
    tab.goto(deck.path.as_uri())
    yield tab, deck.slides
    tab.close()


def looked_at(tab, size):
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    return tab.evaluate(OVER)


@pytest.mark.parametrize(("width", "height"), sample([(1280, 720), (1920, 1080), (1024, 768)], 1))
@pytest.mark.slow
def test_every_slide_fits_a_screen(slides_tab, width, height):
    tab, slides = slides_tab
    assert looked_at(tab, (width, height)) == []
    assert tab.locator(".slide").count() == slides
    assert tab.evaluate(SMALL) == []


@pytest.mark.slow
def test_every_slide_is_a_page_when_printed(slides_tab):
    tab, slides = slides_tab
    tab.emulate_media(media="print")
    assert looked_at(tab, (1280, 720)) == []
    tall = tab.evaluate("() => [...document.querySelectorAll('.slide img')].map((img) => img.clientHeight)")
    tab.evaluate(EMPTY)
    assert tab.evaluate("() => [...document.querySelectorAll('.slide img')].map((img) => img.clientHeight)") == tall
    printed = tab.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) == slides
