"""What a browser that has nothing yet loads for the first page, and that nothing moves while it does."""

import re

import pytest
from playwright.sync_api import expect
from visits import wait_for_the_frame

#: Megabytes and files of a first visit. Streamlit is some seventy files itself.
MAX_BYTES, MAX_FILES = 3e6, 90
#: Of the layout, as browsers count it (web.dev/cls); under 0.1 is good.
MAX_SHIFT = 0.1
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
CANVAS = ".st-key-simple_page canvas[role=img]"


@pytest.fixture
def visit(page, app_url):
    """The first page, loaded to the end: the tab, files and bytes that came, and where the picture of the frame was."""
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    came = []
    wire.on("Network.loadingFinished", lambda e: came.append(e["encodedDataLength"]))
    page.add_init_script(WATCH)
    page.set_viewport_size({"width": 1366, "height": 768})
    wait_for_the_frame(app_url)
    page.goto(app_url, wait_until="commit")
    frame = page.wait_for_selector("#collsim-first canvas[role=img]")
    before, title = frame.bounding_box(), frame.get_attribute("aria-label")  # it may move into the component meanwhile
    page.wait_for_selector("#collsim-first", state="detached")
    page.locator(CANVAS).wait_for()
    page.wait_for_timeout(1_000)
    return page, came, (before, title)


def test_the_first_page_is_light_and_nothing_moves_while_it_comes(visit):
    page, came, (before, title) = visit
    assert sum(came) < MAX_BYTES
    assert len(came) < MAX_FILES
    assert page.evaluate("window.moved") < MAX_SHIFT
    picture = page.locator(CANVAS)
    # the letters that Streamlit brings are a little taller than the first ones
    assert picture.bounding_box() == pytest.approx(before, abs=8)
    assert picture.get_attribute("aria-label") == title
    assert page.evaluate("document.querySelectorAll('#collsim-first-look, #collsim-first-run').length") == 0
    assert page.errors == []


@pytest.fixture
def early(page, app_url):
    """The first page before Streamlit has come: its picture, and a function that lets Streamlit come."""
    wait_for_the_frame(app_url)
    held, comes = [], []
    page.route("**/static/**/*.js", lambda route: route.continue_() if comes else held.append(route))
    page.goto(f"{app_url}/?lang=en", wait_until="commit")

    def let_streamlit_come():
        comes.append(True)
        for route in held:
            route.continue_()

    yield page.locator(".sp[data-transfers]"), let_streamlit_come
    assert page.errors == []


def test_a_key_pressed_before_streamlit_has_come_is_not_lost(page, early):
    box, let_streamlit_come = early
    box.focus()
    page.keyboard.press("8")
    assert box.get_attribute("data-cards") == "all"
    let_streamlit_come()
    page.wait_for_url("**cards=all**")
    assert page.locator("#collsim-first").count() == 0
    assert box.get_attribute("data-cards") == "all"
    page.keyboard.press("8")  # the focus is where it was
    expect(page).not_to_have_url(re.compile("cards=all"))
    assert box.get_attribute("data-cards") == "one"


def test_a_click_before_streamlit_has_come_goes_on_where_it_was(page, early):
    box, let_streamlit_come = early
    box.locator("button.play").click()
    expect(box).to_have_attribute("data-playing", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    step = box.get_attribute("data-step")
    assert int(step) >= 3
    let_streamlit_come()
    page.wait_for_selector("#collsim-first", state="detached")
    assert box.get_attribute("data-step") == step
    assert box.get_attribute("data-playing") == "false"
