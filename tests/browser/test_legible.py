"""What is written in the pictures can be read, the controls are in sight, and a page can be handed on."""

import re

import pytest
from sampling import sample
from visits import settled

pytestmark = pytest.mark.browser

SLOW = 60_000
#: Remembers the smallest size on the screen, in CSS pixels, at which each text was written on a canvas.
WATCH = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.written = {};
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  const t = this.getTransform(), size = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * Math.hypot(t.a, t.b) / devicePixelRatio;
  if (/[a-z]{2}|^\\d+$/i.test(text)) window.written[text] = Math.min(size, window.written[text] ?? 99);
  return write.call(this, text, ...at);
};
"""


@pytest.mark.parametrize(
    "path",
    sample(
        [
            "whatif?machine=dgx-a100&nodes=2&gdr=off",
            "race",
            "machines?machine=dgx-a100&nodes=2&b=8",
            "explore?machine=dgx-h100&nodes=4",
        ],
        1,
    ),
)
def test_no_name_or_number_in_a_picture_is_smaller_than_eleven_pixels_at_1280(path, page, app_url):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.add_init_script(WATCH)
    page.goto(f"{app_url}/{path}")
    page.locator(".cs[data-transfers]:not([data-transfers='0'])").first.wait_for(timeout=SLOW)
    settled(page)
    page.evaluate("window.written = {}")
    page.set_viewport_size({"width": 1279, "height": 800})  # all is drawn again
    settled(page)
    assert page.evaluate("Object.keys(window.written).length") > 0
    small = {text: size for text, size in page.evaluate("window.written").items() if size < 10.9}
    assert not small


def test_the_play_button_is_in_sight_where_the_picture_is_higher_than_the_window(page, app_url):
    page.set_viewport_size({"width": 1280, "height": 640})
    page.goto(f"{app_url}/lessons")
    play = page.locator(".cs[data-transfers]").get_by_role("button", name="Play")
    play.wait_for(timeout=SLOW)
    box = play.bounding_box()
    assert box["y"] + box["height"] <= 640


def test_the_address_of_a_page_is_copied_with_a_click(page, app_url):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{app_url}/race")
    page.locator(".rc .cs[data-t]").first.wait_for(timeout=SLOW)
    page.get_by_role("button", name="Copy a link to this page").click()
    page.get_by_text("Link copied").first.wait_for(timeout=SLOW)
    assert re.match(rf"{re.escape(app_url)}/race", page.evaluate("navigator.clipboard.readText()"))


#: Groups of buttons of which one is cut at an edge.
CUT = """() => [...document.querySelectorAll("[data-testid=stButtonGroup]")]
  .filter((group) => [group, ...group.querySelectorAll("*")].some(
    (e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible"))
  .map((group) => group.innerText)"""


@pytest.mark.parametrize("path", sample(["machines", "race", "measured"], 1))
def test_no_choice_is_cut_in_a_window_that_is_enlarged_by_half(path, page, app_url):
    page.set_viewport_size({"width": 1366 * 2 // 3, "height": 768 * 2 // 3})
    page.goto(f"{app_url}/{path}")
    page.locator("h1").wait_for(timeout=SLOW)
    settled(page)
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_chosen_is_seen_in_high_contrast(theme, page, app_url):
    page.emulate_media(forced_colors="active", color_scheme=theme)
    page.goto(f"{app_url}/explore?mode=full&network=ring&ranks=4")
    page.locator(".cs[data-transfers]:not([data-transfers='0'])").wait_for(timeout=SLOW)
    settled(page)
    ground = "button => getComputedStyle(button).backgroundColor"
    for chosen, other in (("Full", "Simple"), ("Physical", "Logical")):
        both = [
            page.get_by_text(name, exact=True).locator("xpath=ancestor-or-self::button") for name in (chosen, other)
        ]
        assert both[0].evaluate(ground) != both[1].evaluate(ground), chosen
