"""What a browser that has nothing yet loads for the first page, and that nothing moves while it does."""

import time
from urllib.request import Request, urlopen

import pytest

#: Megabytes and files of a first visit. Streamlit is some seventy files itself.
MOST_BYTES, MOST_FILES = 3e6, 90
#: Of the layout, as browsers count it (web.dev/cls); under 0.1 is good.
MOST_SHIFT = 0.1
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
CANVAS = ".st-key-simple_page canvas[role=img]"


def wait_for_the_frame(url):
    """Until the server has made it, beside its start."""
    asked = Request(url, headers={"Accept": "text/html"})
    end = time.time() + 60
    while b"collsim-first" not in urlopen(asked).read():
        assert time.time() < end
        time.sleep(0.2)


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
    before = page.locator("#collsim-first canvas[role=img]").bounding_box(timeout=30_000)
    title = page.locator("#collsim-first canvas[role=img]").get_attribute("aria-label")
    page.wait_for_selector("#collsim-first", state="detached", timeout=30_000)
    page.locator(CANVAS).wait_for(timeout=30_000)
    page.wait_for_timeout(1_000)
    return page, came, (before, title)


def test_the_first_page_is_light_and_nothing_moves_while_it_comes(visit):
    page, came, (before, title) = visit
    assert sum(came) < MOST_BYTES
    assert len(came) < MOST_FILES
    assert page.evaluate("window.moved") < MOST_SHIFT
    picture = page.locator(CANVAS)
    # the letters that Streamlit brings are a little taller than the first ones
    assert picture.bounding_box() == pytest.approx(before, abs=8)
    assert picture.get_attribute("aria-label") == title
    assert page.evaluate("document.querySelectorAll('#collsim-first-look, #collsim-first-run').length") == 0
    assert page.errors == []
