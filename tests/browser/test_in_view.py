"""What a page shows when it opens, at the size of a projector, of a large screen, of a phone and of a projector at
150 %: most of its picture (except at 150 %) and the button Play, nothing covered, nothing that scrolls sideways or is
cut, and a menu with a word. Then its keys."""

import re

import pytest
from playwright.sync_api import expect
from sampling import keep_fast, sample
from visits import PAGES, PATHS, SLOW

from collsim.app.texts import say
from collsim.lessons.chapters import SECTIONS
from collsim.locale import LANGUAGES

pytestmark = pytest.mark.browser

SIZES = {"projector": (1366, 768), "large": (1920, 1080), "phone": (390, 844), "zoomed": (910, 512)}
MIN_SHARE = 0.6
#: Pages without a picture that plays: a class to join, files to read, tables of measurements, splits.
STILL_PAGES = {"class", "inference", "routing", "diagnosis", "script", "measured", "compare", "split", "hangs", "lab"}
#: Where a page's picture is; that of a player unless said.
STAGES = {
    "first": ".sp .stage",
    "story": ".st section.now canvas",
    "synthesized": ".st-key-card_synthesis .cs .stage",
    "train": ".ts svg.time",
    "pipeline": ".ln .field",
    "sharding": ".ln .field",
    "split": ".sm canvas",
    "lab": ".lb svg.time",
    "program": ".lanes svg.pl:visible",
    "hangs": ".lanes svg.pl:visible",
}
LESSONS = {f"lesson {name}": f"lessons?lesson={name}&" for name in SECTIONS}
#: Pages at the sizes that leave least room, which are measured each time; the others are in the slow run.
QUICK = (
    ("first", "phone", "en"),
    ("first", "projector", "en"),
    ("first", "zoomed", "en"),
    ("explore", "zoomed", "zh"),
    ("lesson ring", "projector", "zh"),
    ("race", "phone", "zh"),
    ("lesson between", "phone", "en"),
)
WITHOUT_A_PICTURE = {"class", "inference", "routing", "diagnosis", "measured", "compare", "script"}


def open_page(tab, url, page, size, language="en"):
    width, height = SIZES[size]
    tab.set_viewport_size({"width": width, "height": height})
    path = LESSONS.get(page) or PATHS.get(page, f"{page}?")
    tab.goto(f"{url}/{path}lang={language}")
    if page in WITHOUT_A_PICTURE:
        tab.locator(PAGES[page]).first.wait_for(timeout=SLOW)
    else:
        tab.locator(STAGES.get(page, ".cs .stage")).first.wait_for(timeout=SLOW)
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=SLOW)
    tab.evaluate("document.fonts.ready")
    tab.wait_for_timeout(600)


#: The share of an element's points, in a grid, at which it is what a pointer meets: outside of the window, and below
#: what covers it, it is not.
SHARE_SEEN = """(stage) => {
  const box = stage.getBoundingClientRect(), steps = 20;
  const meets = (x, y) => {
    let root = document, top = null;
    for (;;) {
      const hit = root.elementFromPoint(x, y);
      if (!hit || hit === top) break;
      top = hit;
      if (!hit.shadowRoot) break;
      root = hit.shadowRoot;
    }
    return top && (stage.contains(top) || top.contains(stage));
  };
  let seen = 0;
  for (let row = 0; row < steps; row++) {
    const y = box.top + (box.height * (row + 0.5)) / steps;
    seen += [0.1, 0.5, 0.9].some((at) => meets(box.left + at * box.width, y));
  }
  return seen / steps;
}"""

#: Texts and controls that stick out of the window to the right, where nothing scrolls them into it.
STICKS_OUT = """() => {
  const out = [];
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) walk(e.shadowRoot);
      const box = e.getBoundingClientRect();
      if (!box.width || box.right <= innerWidth + 1 || box.left >= innerWidth || !/^(BUTTON|P|H1|H2|B|SELECT)$/.test(e.tagName)) continue;
      let p = e, hidden = false;
      while ((p = p.parentNode ?? p.host)) {
        if (!(p instanceof Element)) continue;
        const style = getComputedStyle(p);
        if (/(auto|scroll|hidden|clip)/.test(style.overflowX) && p.getBoundingClientRect().right <= innerWidth + 1) hidden = true;
      }
      if (!hidden) out.push(`${e.tagName} ${e.textContent.slice(0, 40)}`);
    }
  };
  walk(document);
  return out;
}"""


#: Buttons whose name is a template that nobody filled in.
UNFILLED = """() => {
  const names = [];
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) walk(e.shadowRoot);
      const name = e.getAttribute("aria-label") ?? e.title ?? "";
      if (/\\{\\w+\\}/.test(name)) names.push(name);
    }
  };
  walk(document);
  return names;
}"""


def describe_faults(tab, page):
    """What of the contract a page that is open breaks, a sentence each."""
    faults = []
    height = tab.viewport_size["height"]
    if page not in WITHOUT_A_PICTURE and height > SIZES["zoomed"][1]:
        share = tab.locator(STAGES.get(page, ".cs .stage")).first.evaluate(SHARE_SEEN)
        if share < MIN_SHARE:
            faults.append(f"{share:.0%} of the picture is in view")
    sideways = tab.locator(".cs .stage:visible").evaluate_all("(all) => all.map((e) => e.scrollWidth - e.clientWidth)")
    if max(sideways, default=0) > 1:
        faults.append(f"a picture scrolls sideways by {max(sideways)} px")
    if page not in STILL_PAGES:
        plays = tab.get_by_role("button", name=re.compile(r"^((Play|Pause)\b(?! it)|播放|暂停)")).all()
        boxes = [play.bounding_box() for play in plays]
        inside = [
            play for play, box in zip(plays, boxes, strict=True) if box and 0 <= box["y"] <= height - box["height"]
        ]
        if not inside:
            faults.append(f"Play is not in the window: {boxes}")
        elif max(play.evaluate(SHARE_SEEN) for play in inside) < 0.9:
            faults.append("something covers Play")
    wide = tab.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth")
    if wide > 0 and not tab.locator("[data-testid=stSidebar]:visible").count():
        faults.append(f"the page scrolls sideways by {wide} px")
    faults += [f"cut at the right: {text}" for text in tab.evaluate(STICKS_OUT)]
    faults += [f"not filled in: {name}" for name in tab.evaluate(UNFILLED)]
    return faults


def has_word(tab, language):
    """Whether the button of the folded menu says what it is."""
    button = tab.get_by_test_id("stExpandSidebarButton")
    if not button.count() or not button.is_visible():
        return True
    return say(language, "menu") in button.evaluate("(e) => getComputedStyle(e, '::after').content")


ALL = [
    (page, size, language)
    for page in (*PAGES, *LESSONS)
    if page != "lessons"
    for size in SIZES
    for language in LANGUAGES
]


@pytest.mark.parametrize(("page", "size", "language"), keep_fast(ALL, QUICK))
def test_picture_and_play_are_in_view_and_nothing_is_covered_or_cut(page, size, language, tab, app_url):
    open_page(tab, app_url, page, size, language)
    assert describe_faults(tab, page) == []
    assert has_word(tab, language)


def test_play_stays_in_a_zoomed_window_where_a_question_is_asked(tab, app_url):
    open_page(tab, app_url, "first", "zoomed")
    tab.get_by_role("button", name="Predict").click()
    tab.locator(".sp.asking").wait_for()
    assert describe_faults(tab, "first") == []


#: How far the runs of the page are, of the whole.
SHARES = """() => [...globalThis.collsimPlaybacks.mounted].map(({ view }) =>
  view.clock ? view.clock.t / view.clock.total : Math.max(...Object.values(view.save().moments).map((one) => one.share)))"""
PLAYED = [page for page in (*PAGES, "lesson ring") if page not in {*STILL_PAGES, "lessons", "story", "synthesized"}]


def read_share(tab):
    return max(tab.evaluate(SHARES))


@pytest.mark.parametrize("page", keep_fast(PLAYED, ["race"]))
def test_space_plays_where_nothing_was_clicked_and_the_clicker_steps(page, tab, app_url):
    open_page(tab, app_url, page, "projector")
    tab.keyboard.press("Home")
    tab.keyboard.press("Space")
    tab.wait_for_timeout(1500)
    assert read_share(tab) > 0
    tab.keyboard.press("Space")
    tab.keyboard.press("Home")
    tab.wait_for_timeout(300)
    assert read_share(tab) == 0
    tab.keyboard.press("PageDown")
    tab.wait_for_timeout(1500)
    forward = read_share(tab)
    assert forward > 0
    tab.keyboard.press("PageUp")
    tab.wait_for_timeout(300)
    assert read_share(tab) < forward
    tab.keyboard.press("f")
    tab.wait_for_timeout(600)
    assert tab.evaluate("!!document.fullscreenElement")


def test_keys_play_a_chapter_of_the_story_and_the_clicker_goes_from_one_to_the_next(tab, app_url):
    open_page(tab, app_url, "story", "projector")
    figure, story = tab.locator(".st section.now figure"), tab.locator(".st")
    tab.keyboard.press("Space")
    expect(figure).not_to_have_attribute("data-share", "0.000")
    tab.keyboard.press("PageDown")
    expect(story).to_have_attribute("data-chapter", "hot-link")
    tab.keyboard.press("PageUp")
    expect(story).to_have_attribute("data-chapter", "server")


def test_numbers_of_the_story_stand_in_the_address_and_come_from_it(tab, app_url):
    open_page(tab, app_url, "story", "projector")
    number = tab.locator(".st section[data-chapter=server] .chip.n input")
    number.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**n=16**")
    tab.goto(f"{app_url}/story?n=32&rate=50GB/s&size=3GiB")
    expect(number).to_have_attribute("aria-valuetext", "N = 32")
    expect(tab.locator(".st section[data-chapter=server] .chip.b input")).to_have_attribute(
        "aria-valuetext", "B = 50\N{NO-BREAK SPACE}GB/s"
    )
    tab.get_by_text("size=3GiB").wait_for()


@pytest.mark.parametrize("page", sample(["race", "measured", "story"], 1))
def test_an_address_turns_the_page_to_its_theme_and_follows_the_switch(page, tab, app_url):
    tab.emulate_media(color_scheme="light")
    tab.goto(f"{app_url}/{page}?theme=dark")
    dark, light = (tab.get_by_role("button", name=name, exact=True) for name in ("Dark", "Light"))
    expect(dark).to_have_attribute("aria-pressed", "true")
    light.click()
    tab.wait_for_url("**theme=light**")
    expect(light).to_have_attribute("aria-pressed", "true")
    assert tab.get_by_text("means nothing on this page").count() == 0


def test_what_a_link_asks_for_in_vain_is_said_in_its_theme_too(tab, app_url):
    tab.emulate_media(color_scheme="light")
    tab.goto(f"{app_url}/race?theme=dark&lang=zh&nbytes=heavy")
    expect(tab.get_by_role("button", name=say("zh", "theme.dark"), exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    tab.get_by_text("nbytes=heavy").wait_for()


def test_a_phones_menu_gives_way_to_the_page_and_covers_nothing_of_itself(tab, app_url):
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{app_url}/?lang=en")
    tab.locator(".sp[data-transfers]").first.wait_for(timeout=SLOW)
    entry, more = tab.get_by_test_id("stSidebar").get_by_text("Race", exact=True), "stExpandSidebarButton"
    tab.get_by_test_id(more).click()
    entry.click()
    tab.locator(".rc .cs[data-t]").first.wait_for(timeout=SLOW)
    expect(entry).not_to_be_in_viewport()
    tab.get_by_test_id(more).click()
    box = tab.get_by_test_id("stSidebar").get_by_text("Learn", exact=True).bounding_box()
    middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    assert tab.evaluate("([x, y]) => document.elementFromPoint(x, y).textContent", middle) == "Learn"


def test_space_plays_after_the_menu_led_to_a_page_and_not_while_a_text_is_typed(page, app_url, turn):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/machines")
    page.locator(".wy .cs[data-t]").first.wait_for(timeout=SLOW)
    turn("Learn", "Write your own")
    clock = page.locator(".cs[data-transfers='24']").first
    clock.wait_for(timeout=SLOW)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=SLOW)
    page.wait_for_timeout(600)
    page.keyboard.press("Space")
    page.wait_for_timeout(1500)
    assert float(clock.get_attribute("data-t")) > 0
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    still = clock.get_attribute("data-t")
    page.get_by_test_id("stTopNavSection").filter(has_text="Learn").click()
    page.get_by_role("menuitem").first.wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)
    page.keyboard.press("Space")
    expect(clock).not_to_have_attribute("data-t", still)
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    still = clock.get_attribute("data-t")
    page.locator("textarea[aria-label^='Code']").click()
    page.keyboard.press("Space")
    page.wait_for_timeout(600)
    assert clock.get_attribute("data-t") == still


@pytest.mark.parametrize(("machine", "view"), [("dgx-a100&nodes=2", "physical"), ("pcie-8gpu&nodes=4", "logical")])
def test_a_phone_opens_on_the_machine_unless_that_scrolls_sideways(machine, view, page, app_url):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/explore?mode=full&machine={machine}")
    player = page.locator(".cs[data-transfers]:not([data-transfers='0'])")
    player.wait_for(timeout=SLOW)
    expect(player).to_have_attribute("data-view", view)
    assert player.locator(".stage").evaluate("e => e.scrollWidth - e.clientWidth") <= 1
