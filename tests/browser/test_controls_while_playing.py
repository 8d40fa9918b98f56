"""On every page: press Play, then use every control while the run plays.

Streamlit sends what widgets report within one task of the browser as one rerun, of the fragment of the first of them. A
component that reported its moment when the pointer left it took the click that came with it out of that rerun: the
button turned black, and the page stayed as it was. So here the pointer comes from the component, and the click follows
at once.
"""

import os
import re
from functools import partial

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect
from sampling import keep_fast

from collsim.app.main import PAGES as MENU
from collsim.app.texts import say

pytestmark = pytest.mark.browser

#: Address of each page, with what stands on it when it is drawn.
PAGES = {
    "first": ("?", ".sp[data-transfers]:not([data-transfers='0'])"),
    "explore": ("explore?mode=full&", ".cs[data-transfers]:not([data-transfers='0'])"),
    "story": ("story?", ".st section.now"),
    "lessons": ("lessons?", ".cs[data-transfers]"),
    "write": ("write?", ".cs[data-transfers]"),
    "race": ("race?", ".rc .cs[data-t]"),
    "train": ("train?model=resnet18&", ".ts:not([data-opened='']) .cs[data-t]"),
    "train race": ("train?show=race&model=resnet18&", ".rv[data-t]"),
    "pipeline": ("pipeline?", ".ln[data-t]"),
    "split": ("split?model=gpt2&nodes=1&batch=64&split=zero(1)&", ".sm[data-splits]:not([data-splits='0'])"),
    "sharding": ("sharding?model=gpt2&", ".ln[data-t]"),
    "compare": (
        "compare?network=ring&ranks=4&",
        "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg",
    ),
    "whatif": ("whatif?network=ring&ranks=4&", ".rc .cs[data-t]"),
    "machines": ("machines?", ".wy .cs[data-t]"),
    "measured": ("measured?", "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg"),
    "lab": ("lab?", ".lb[data-t]"),
    "program": ("program?", "svg.pl rect.wait"),
    "hangs": ("hangs?", "svg.pl path.arrow"),
    "script": ("script?", "[data-testid=stCode] code"),
    "diagnosis": ("diagnosis?", "h1"),
    "inference": ("inference?", "h1"),
    "routing": ("routing?nodes=2&seeds=20&", "h1"),
}
#: Components that play, each with a button of its own for it. A player inside one of them has none, nor has a race that
#: a class is asked about.
PLAYS = ".sp, .cs:not(.compact), .st section.now, .rc:not(.hides), .ts, .rv, .ln, .wy"

#: Until Streamlit has run what was sent, which it sends after the task in which widgets report, and no work is under way.
SETTLED = """async () => {
  const pause = (ms) => new Promise((done) => setTimeout(done, ms)), end = Date.now() + 90_000;
  const busy = "[data-testid=stApp]:not([data-test-script-state=notRunning]), [class*=st-key-card_work]";
  for (await pause(60); document.querySelector(busy); await pause(20))
    if (Date.now() > end) throw new Error(`still at work: ${location.href}`);
  await pause(60);
}"""
#: The runs on the page: whether each plays, and how far it is.
RUNS = """() => Object.fromEntries([...(globalThis.collsimPlaybacks?.mounted ?? [])].map(({ kind, view, data }) => {
  const moments = Object.values(view.save?.().moments ?? {}), picture = moments.find((one) => one.playing);
  return [`${kind} ${view.runId?.() ?? data.id}`, {
    plays: view.clock ? view.clock.playing : !!picture,
    share: view.clock ? view.clock.t / (view.clock.total || 1) : picture?.share ?? 0, // a hang at once has no time to show
  }];
}))"""
#: Play on from the beginning, so that no run ends while its controls are used.
REWIND = """() => {
  for (const { view } of globalThis.collsimPlaybacks?.mounted ?? [])
    if (view.clock && view.clock.t > 0.4 * view.clock.total) view.clock.seek(0);
}"""


#: Stop every run in its midst, so that there is a step before and one behind.
MIDST = """() => {
  for (const { view } of globalThis.collsimPlaybacks?.mounted ?? [])
    if (view.clock) {
      view.clock.pause();
      view.clock.seek(0.4 * view.clock.total);
    }
}"""
#: Pages without a component that plays at once.
QUIET = {"compare", "measured", "script", "diagnosis", "inference", "routing", "split", "lab", "hangs", "program"}


class Tab:
    """A tab with one page of the app in it, which remembers what went wrong."""

    def __init__(self, page, url, name):
        self.page, self.errors = page, page.errors
        self.url, self.drawn = f"{url}/{PAGES[name][0]}lang=en", PAGES[name][1]
        page.on("console", lambda line: self.errors.append(line.text) if "fragmentIds" in line.text else None)

    @property
    def path(self):
        return self.page.url.partition("?")[0]

    @property
    def runs(self):
        return self.page.evaluate(RUNS)

    def open(self):
        self.page.goto(self.url)
        self.wait()

    def wait(self):
        self.page.locator(self.drawn).first.wait_for()
        self.settle()

    def settle(self):
        self.page.evaluate(SETTLED)

    def play(self):
        """Press Play where nothing plays, and leave the pointer there. Is there such a button?"""
        self.page.evaluate(REWIND)
        box = self.page.locator(PLAYS).first
        if not box.count():
            return False
        button = box.get_by_role("button", name=re.compile("^(Play|Pause|播放|暂停)")).first
        if re.match("Play|播放", button.get_attribute("aria-label") or button.inner_text()):
            button.click()
        else:
            button.hover()
        return True

    def check(self, what):
        assert self.errors == [], what
        assert self.page.get_by_test_id("stException").count() == 0, what

    def use(self, what, control):
        """Use a control while the run plays: it takes effect, and a run that is still shown plays on."""
        plays, before, path = self.play(), self.runs, self.path
        assert any(run["plays"] for run in before.values()) == plays, f"nothing plays before {what}"
        effect = control()
        self.settle()
        after = self.runs
        self.check(what)
        if effect is not None and self.path == path:
            effect()
        for run, was in before.items():
            if run in after:
                ended = after[run]["share"] > 0.999
                assert after[run]["plays"] == was["plays"] or ended, f"{what} stopped {run}"
                assert after[run]["share"] >= was["share"] or run.startswith("routes"), f"{what} set {run} back"

    def boxes(self, kind):
        """Controls of a kind outside of the page's head, as long as no one of them opens another page."""
        boxes, path, k = self.page.locator(f"[data-testid={kind}]:visible:not({HEAD})"), self.path, 0
        while k < min(boxes.count(), MAX_ALIKE) and self.path == path:
            yield boxes.nth(k)
            k += 1


# ---- what can be used: each function uses one control, and returns what shows that it took effect, if anything does


def use_tab(page, box):
    if box.get_attribute("aria-selected") == "true":
        return None
    box.click()
    return lambda: expect(box).to_have_attribute("aria-selected", "true")


def use_expander(page, box):
    box.locator("summary").click()
    return lambda: expect(box.locator("details")).to_have_attribute("open", "")


def use_toggle(page, box):
    switch = box.locator("input")
    if switch.is_disabled():
        return None
    on = switch.is_checked()
    box.locator("label").first.click()
    return lambda: expect(switch).to_be_checked(checked=not on)


def use_popover(page, box):
    box.locator("button").first.click()
    page.keyboard.press("Escape")


def use_segments(page, box):
    free = box.locator("button[aria-checked=false]:enabled")
    if not free.count():
        return None
    option = free.nth(free.count() // 2)  # the first may be a machine of one GPU, where nothing moves
    name = option.inner_text()
    option.click()
    return lambda: expect(box.get_by_role("radio", name=name, exact=True)).to_be_checked()


def use_selectbox(page, box):
    field = box.locator("input")
    if field.is_disabled():
        return None
    options = page.locator("[data-testid=stSelectboxVirtualDropdown] [role=option]")
    field.click()
    try:
        options.first.wait_for(timeout=3000)
    except PlaywrightTimeoutError:  # it opened, and closed as the page was drawn again
        field.press("ArrowDown")
        options.first.wait_for()
    names, chosen = options.all_inner_texts(), field.input_value()
    now = names.index(chosen) if chosen in names else 0
    others = [name for name in names[now + 1 :] + names[:now][::-1] if "──" not in name]  # headings of a list
    if not others:
        page.keyboard.press("Escape")
        return None
    name = others[0]
    option = page.get_by_test_id("stSelectboxVirtualDropdown").get_by_role("option", name=name, exact=True)
    option.click()  # by its name: the list may scroll when the page is drawn again under the pointer
    try:
        expect(field).to_have_value(name, timeout=5000)
    except AssertionError:  # it closed, or stayed open, without a choice
        if not option.is_visible():
            field.click()
        option.click()
    return lambda: expect(field).to_have_value(name)


def use_multiselect(page, box):
    first = box.locator("[data-tag]").first
    name = first.get_attribute("aria-label")
    first.get_by_role("button").click()
    return lambda: expect(box.locator(f"[data-tag][aria-label='{name}']")).to_have_count(0)


def use_number(page, box):
    field, up = box.locator("input"), box.get_by_test_id("stNumberInputStepUp")
    before = field.input_value()
    (up if up.is_enabled() else box.get_by_test_id("stNumberInputStepDown")).click()
    return lambda: expect(field).not_to_have_value(before)


def use_button(page, box):
    button = box.locator("button").first
    if button.is_enabled():
        button.click()


CONTROLS = {
    "stTab": use_tab,
    "stExpander": use_expander,
    "stPopover": use_popover,
    "stDownloadButton": use_button,
    "stCheckbox": use_toggle,
    "stSelectbox": use_selectbox,
    "stMultiSelect": use_multiselect,
    "stNumberInput": use_number,
    "stButtonGroup": use_segments,
    "stButton": use_button,
}
#: Milliseconds until what a button changes has to be there.
PATIENCE = 90_000
#: So many of a kind are used on one page, as one function builds the lists of a page; `MAX_ALIKE=99` uses all of them.
MAX_ALIKE = int(os.environ.get("MAX_ALIKE", "2"))
#: The switches at the head, which are used by name.
HEAD = ".st-key-switches *"


@pytest.mark.parametrize("name", keep_fast(PAGES, ["first"]))
def test_every_control_takes_effect_while_the_run_plays_on(page, app_url, name):
    tab = Tab(page, app_url, name)
    tab.open()
    tab.use("theme", partial(darken, tab))
    tab.use("language", partial(switch, page, "中文", lambda: expect_language(page, "zh")))
    tab.use("language", partial(switch, page, "EN", lambda: expect_language(page, "en")))
    for mode in {"first": ("Full", "Simple"), "explore": ("Simple", "Full")}.get(name, ()):
        shown = page.locator({"Simple": ".sp", "Full": ".cs:not(.compact)"}[mode])
        tab.use(mode, partial(switch, page, mode, expect(shown).to_be_visible))
    for kind, use in CONTROLS.items() if name != "train race" else ():  # whose controls are those of train
        for k, box in enumerate(tab.boxes(kind)):
            tab.use(f"{kind} {k}", partial(use, page, box))


#: Buttons that lead elsewhere, load the page anew or cover it, which other tests use.
ELSEWHERE = re.compile(
    "^(Light|Dark)$|explore|story|program|machine|lesson|class|full screen|slide|file|remove|×|close|hide",
    re.IGNORECASE,
)
#: Those that change something only after others have moved the run on, where its clock cannot be set from here.
LAST = ("Back", "Step back", "Start", "To the start", "All", "One alone")
#: Buttons of the components on the page that can be used now, at most so many beside one another, each with a path to it.
COMPONENT_BUTTONS = """(most) => {
  const labels = [], siblings = new Map();
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) walk(e.shadowRoot);
      if (e.tagName !== "BUTTON" || e.disabled || !e.checkVisibility()) continue;
      if (!(root instanceof ShadowRoot)) continue;
      const box = e.getBoundingClientRect(), count = siblings.get(e.parentNode) ?? 0;
      if (!box.width || e.getAttribute("aria-pressed") === "true" || e.getAttribute("aria-selected") === "true") continue;
      if (e.closest(".compact, .partbuttons") || count >= (e.closest(".seg") ? most : 9)) continue;
      siblings.set(e.parentNode, count + 1);
      e.dataset.tried = labels.length;
      labels.push(e.getAttribute("aria-label") || e.title || e.textContent);
    }
  };
  walk(document);
  return labels;
}"""
#: All that a click on a button can change, but for the focus: what components hold, where their runs are, the address.
STATE = """() => {
  const parts = [location.href];
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) if (e.shadowRoot) {
      parts.push(e.shadowRoot.innerHTML);
      walk(e.shadowRoot);
    }
  };
  walk(document);
  for (const { view } of globalThis.collsimPlaybacks?.mounted ?? []) parts.push(JSON.stringify(view.save?.() ?? ""));
  return parts.join();
}"""


@pytest.mark.parametrize("name", keep_fast([name for name in PAGES if name not in QUIET], ["race"]))
def test_every_button_of_a_component_changes_something(page, app_url, name):
    """Each is clicked in the midst of a run that stands still: what the component holds, or where the run is, changes."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = Tab(page, app_url, name)
    tab.open()
    labels = page.evaluate(COMPONENT_BUTTONS, MAX_ALIKE)
    used = []
    for number, label in sorted(enumerate(labels), key=rank_label):
        button = page.locator(f"button[data-tried='{number}']:visible:enabled")
        if ELSEWHERE.search(label) or not button.count():  # another one drew its component anew
            continue
        page.evaluate(MIDST)
        page.wait_for_timeout(150)
        before = page.evaluate(STATE)
        button.click()
        for _ in range(PATIENCE // 250):  # a computer with much to do draws later
            page.wait_for_timeout(250)
            tab.settle()
            if page.evaluate(STATE) != before:
                break
        else:
            pytest.fail(f"{label} changes nothing")
        tab.check(label)
        used.append(label)
        if label.startswith("Presenter"):
            page.keyboard.press("Escape")
    assert len(used) > 1, used


def rank_label(numbered):
    """Where a button comes in the order of their use: what goes back after what goes on."""
    return max((k + 1 for k, label in enumerate(LAST) if numbered[1].startswith(label)), default=0)


def switch(page, label, effect):
    page.locator(HEAD).get_by_role("radio", name=label, exact=True).click()
    return effect


def expect_language(page, language):
    expect(page.get_by_test_id("stTopNavSection").first).to_have_text(say(language, "menu.learn"))


def darken(tab):
    dark = tab.page.get_by_role("button", name="Dark", exact=True)
    with tab.page.expect_navigation():
        dark.click()
    tab.wait()
    return lambda: expect(dark).to_have_attribute("aria-pressed", "true")


def test_no_page_of_the_menu_is_left_out():
    assert set(MENU) - set(PAGES) == {"class"}, "a page that students see, which test_class.py goes through"


@pytest.mark.slow
def test_a_run_waits_where_it_was_while_another_page_is_open(page, app_url, turn):
    tab = Tab(page, app_url, "explore")
    tab.open()
    tab.play()
    page.wait_for_timeout(500)
    before = tab.runs
    turn("Decide", "Compare")
    page.get_by_test_id("stVegaLiteChart").first.wait_for()
    turn("See", "Explore")
    tab.wait()
    after = tab.runs
    assert after.keys() == before.keys()
    ((was, now),) = zip(before.values(), after.values(), strict=True)
    assert 0 < was["share"] <= now["share"]
    assert tab.errors == []
