"""Every text of every page can be read in both themes: HTML, SVG and canvases, in shadow roots too."""

import pytest
from sampling import keep_fast
from test_in_view import LESSONS
from visits import PAGES, PATHS, SLOW, settled
from written import WATCH, find_overlaps, read_texts

from collsim.locale import LANGUAGES

pytestmark = pytest.mark.browser

#: A window in which most of a page is in view.
WIDE, HIGH = 1366, 2400
#: Two pages with all kinds of drawing: a machine on a canvas, lanes in SVG, code.
QUICK = (("program", "en"), ("train", "zh"))
THEMES = ("light", "dark")
#: A canvas, a text in SVG and one in HTML that are dark on dark, and one that is not.
MADE = """
<body style="background:#111;color:#222">unreadable<p style="color:#eee">read me</p>
<svg width="200" height="30"><text y="20" fill="#333">drawn</text><text y="20" x="5" fill="#ccc">drawn over</text></svg>
<canvas width="200" height="30"></canvas>
<script>
  const pen = document.querySelector("canvas").getContext("2d");
  pen.clearRect(0, 0, 200, 30);
  pen.fillStyle = "#111";
  pen.fillRect(0, 0, 200, 30);
  pen.font = "14px sans-serif";
  pen.fillStyle = "#2a2a2a";
  pen.fillText("written", 5, 20);
</script>
"""


def describe_faults(texts):
    """What cannot be read, a sentence each: texts as pale as what is behind them, and words under other words."""
    overlaps = find_overlaps(texts)
    under_flag = {low for low, high in overlaps if "g.cursor" in high.where}
    faults = {
        f"{low.text!r} is under {high.text!r} in {low.where}"
        for low, high in overlaps
        if min(len(low.text), len(high.text)) > 2 and low not in under_flag
    }
    faults |= {
        f"{one.contrast:.2f} of {one.needed}: {one.text!r} in {one.where}"
        for one in texts
        if one.contrast < one.needed and one not in under_flag
    }
    return sorted(faults)


def test_dark_on_dark_is_found_wherever_it_is_written(tab):
    tab.add_init_script(WATCH)
    tab.route("**/made", lambda route: route.fulfill(body=MADE, content_type="text/html"))
    tab.goto("http://made.test/made")
    texts = read_texts(tab)
    assert {one.text for one in texts if one.contrast < one.needed} == {"unreadable", "drawn", "written"}
    assert {one.kind for one in texts} == {"html", "svg", "canvas"}
    assert [(low.text, high.text) for low, high in find_overlaps(texts)] == [("drawn", "drawn over")]


@pytest.mark.parametrize(
    ("page", "language"),
    keep_fast([(page, language) for page in (*PAGES, *LESSONS) if page != "lessons" for language in LANGUAGES], QUICK),
)
def test_every_text_is_strong_enough_in_both_themes(page, language, tab, app_url):
    tab.add_init_script(WATCH)
    tab.set_viewport_size({"width": WIDE, "height": HIGH})
    faults = {}
    path = LESSONS.get(page) or PATHS.get(page, f"{page}?")
    for theme in THEMES:
        tab.emulate_media(color_scheme=theme)
        if theme == THEMES[0]:
            tab.goto(f"{app_url}/{path}lang={language}")
            tab.locator(PAGES.get(page, ".cs[data-transfers]")).first.wait_for(timeout=SLOW)
        settled(tab)
        texts = read_texts(tab)
        assert len(texts) > 10, "the page is drawn"
        faults[theme] = describe_faults(texts)
    assert faults == {theme: [] for theme in THEMES}
