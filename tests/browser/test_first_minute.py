"""The story and the simple page in a browser: offline, by keyboard, with numbers of the engine."""

import re

import pytest
from playwright.sync_api import expect
from story_page import write_story_page

import collsim as cs
from collsim.units import format_bytes, format_time

pytestmark = pytest.mark.browser

MIB = 2**20


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens the story from a file: its page, and all that went wrong in it."""
    contexts = []

    def open_(language="en", width=1366, anchor="", **more):
        context = chromium.new_context(viewport={"width": width, "height": 800}, **more)
        contexts.append(context)
        page, wrong = context.new_page(), []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda r: None if r.url.startswith("file:") else wrong.append(r.url))
        page.goto(write_story_page(tmp_path, language).as_uri() + anchor)
        page.locator(".st section").first.wait_for()
        return page, wrong

    yield open_
    for context in contexts:
        context.close()


def read(page, key, paragraph):
    """Scroll until a paragraph stands where it is taken to be read."""
    page.evaluate(
        """([key, paragraph]) => {
          const box = document.querySelector(`#${key} .prose p:nth-of-type(${paragraph})`);
          scrollBy(0, box.getBoundingClientRect().top - 0.36 * innerHeight);
        }""",
        [key, paragraph],
    )


def text(box):
    """What a person reads: numbers are bound to their units by a no-break space."""
    return box.inner_text().replace("\N{NO-BREAK SPACE}", " ")


def chapter(page, key):
    return page.locator(f".st section[data-chapter={key}]")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_number_turned_by_keyboard_changes_text_and_formula_as_the_engine_has_it(opened, language):
    page, wrong = opened(language)
    ring = chapter(page, "ring")
    for n in (8, 16):
        network = cs.topology.switch(n, bandwidth="25GB/s", alpha="1us")
        run = cs.simulate(cs.schedule("allreduce_ring", ranks=n), network, "256MiB")
        assert format_time(run.time) in text(ring)
        assert format_bytes(int(run.sent_bytes[0])) in text(chapter(page, "volume").locator(".formula"))
        ring.locator(".chip.n input").focus()
        page.keyboard.press("ArrowRight")
    assert ring.locator(".chip.n input").get_attribute("aria-valuetext") == "N = 32"
    ring.locator(".chip.n").dblclick()
    assert ring.locator(".chip.n input").get_attribute("aria-valuetext") == "N = 8", "a double click starts again"
    assert wrong == []


def test_reading_moves_the_pictures_and_arrows_turn_chapters(opened):
    page, wrong = opened(reduced_motion="reduce")
    read(page, "ring", 3)
    expect(page.locator(".st")).to_have_attribute("data-chapter", "ring")
    expect(chapter(page, "ring").locator("figure")).to_have_attribute("data-share", "1.000", timeout=20_000)
    read(page, "training", 3)  # the last one: the page is long enough below it
    expect(chapter(page, "training").locator("figure")).to_have_attribute("data-share", "1.000", timeout=20_000)
    chapter(page, "ring").locator(".badge").click()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".st")).to_have_attribute("data-chapter", "volume")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".st")).to_have_attribute("data-chapter", "ring")
    assert wrong == []


def test_a_picture_plays_and_stops(opened):
    page, wrong = opened()
    page.evaluate("document.getElementById('hot-link').scrollIntoView()")
    button = chapter(page, "hot-link").locator("button.play")
    expect(chapter(page, "hot-link").locator("figure")).to_have_attribute("data-share", "1.000", timeout=20_000)
    button.click()
    expect(chapter(page, "hot-link").locator("figure")).to_have_attribute("data-share", re.compile(r"^0\.[1-8]"))
    button.click()
    before = chapter(page, "hot-link").locator("figure").get_attribute("data-share")
    page.wait_for_timeout(400)
    assert chapter(page, "hot-link").locator("figure").get_attribute("data-share") == before
    assert wrong == []


def test_an_anchor_opens_its_chapter_and_nothing_is_wider_than_a_phone(opened):
    page, wrong = opened("zh", 390, "#cards", reduced_motion="reduce")
    expect(page.locator(".st")).to_have_attribute("data-chapter", "cards")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    figure, prose = (chapter(page, "cards").locator(part).bounding_box() for part in ("figure", ".prose"))
    assert figure["y"] < prose["y"], "on a phone the picture stands above its text"
    assert wrong == []


# ---- the simple page, in the app


def simple(page, app_url, query=""):
    page.goto(f"{app_url}/?lang=en{query}")
    box = page.locator(".sp[data-transfers]")
    box.wait_for(timeout=90_000)
    return box


def test_one_button_uses_all_cards_and_the_address_says_so(page, app_url):
    box = simple(page, app_url)
    assert box.get_attribute("data-cards") == "one"
    assert "480" in box.locator(".volume").inner_text()
    box.focus()
    page.keyboard.press("8")
    page.wait_for_url("**cards=all**")
    assert box.get_attribute("data-cards") == "all"
    box.locator(".cards").click()
    expect(page).not_to_have_url(re.compile("cards=all"))
    assert box.get_attribute("data-cards") == "one"
    assert page.errors == []
    assert page.off_site == []


def test_the_run_stops_at_a_question_and_goes_on_when_it_is_answered(page, app_url):
    box = simple(page, app_url, "&predict=1")
    box.focus()
    box.locator(".answer").first.wait_for()
    assert box.get_attribute("data-question") == "1"
    assert box.get_attribute("data-playing") == "false"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    expect(box).to_have_attribute("data-question", "1")
    assert "InfiniBand" not in box.locator(".says").inner_text(), "the sentence would answer it"
    assert "16 pieces leave at this moment" in box.locator(".asks").inner_text()
    assert "yield reduce" in box.locator(".code code.now").inner_text()
    right = box.locator(".answer", has_text="7 → 8")
    page.keyboard.press(right.locator("kbd").inner_text())
    assert box.locator(".answer.given").count() == 1
    page.keyboard.press(" ")
    box.locator(".verdict").wait_for()
    assert box.locator(".answer.right").count() == 1
    assert box.locator(".answer.wrong").count() == 0
    assert "674" in box.locator(".verdict").inner_text()
    page.keyboard.press(" ")
    assert box.get_attribute("data-question") == ""
    assert page.errors == []
