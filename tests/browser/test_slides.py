"""Slides of all lessons fit: nothing runs over a screen or a page, and a picture is large enough to be seen."""

import re

import pytest

from collsim.site import write_slides

pytestmark = pytest.mark.browser
OVER = """() => [...document.querySelectorAll(".slide")].map((slide, k) => [k + 1, slide.scrollHeight - slide.clientHeight])
  .filter(([, over]) => over > 0)"""
SMALL = (
    """() => [...document.querySelectorAll(".slide img")].map((img) => img.clientHeight).filter((tall) => tall < 150)"""
)


@pytest.fixture(scope="module", params=["en", "zh"])
def deck(request, tmp_path_factory):
    return write_slides(tmp_path_factory.mktemp("slides") / "slides.html", lang=request.param)


@pytest.mark.filterwarnings("ignore:no Chinese font")
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1024, 768)])
def test_every_slide_fits_a_screen(chromium, deck, size):
    page = chromium.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(deck.path.as_uri())
    assert page.locator(".slide").count() == deck.slides
    assert page.evaluate(OVER) == []
    assert page.evaluate(SMALL) == []
    page.close()


@pytest.mark.filterwarnings("ignore:no Chinese font")
def test_every_slide_is_a_page_when_printed(chromium, deck):
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto(deck.path.as_uri())
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 1280, "height": 720})
    assert page.evaluate(OVER) == []
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) == deck.slides
    page.close()
