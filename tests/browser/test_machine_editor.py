"""A machine edited on its picture, with the pointer, the keyboard and a finger; every address opens again."""

import random
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from sampling import keep_fast, sample

import collsim as cs
from collsim.app.scenario.choice import from_query
from collsim.app.scenario.outcome import build_topology

pytestmark = pytest.mark.browser

SLOW = 60_000
START = "?collective=allreduce&algorithm=allreduce_ring&machine=pcie-8gpu&nodes=2&nbytes=25MiB&view=physical"
PARTS = ".cs.editing .partbuttons button"
#: Buttons of the panel that change the machine, not what is chosen already.
EDITS = ".editpanel [data-act]:not([data-act^=copy]):not([aria-pressed=true]):not(:disabled):is(button)"


def open_editor(page, url):
    page.goto(url)
    page.locator(PARTS).first.wait_for(state="attached", timeout=SLOW)
    wait_for_run(page)


def wait_for_run(page):
    """Until the page has heard the edit and drawn the machine that it leaves."""
    page.locator(".editpanel.busy").wait_for(state="detached", timeout=SLOW)
    page.locator(".stBodyStatus, [data-test-script-state=running]").first.wait_for(state="detached", timeout=SLOW)


def read_choice(page):
    query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    choice, complaints = from_query({name: text for name, text in query.items() if name not in ("view", "lang", "t")})
    assert not complaints
    return choice


def open_panel(page, part):
    name = part.get_attribute("data-part")
    part.focus()
    page.keyboard.press("Enter")
    page.locator(f".editpanel[data-part='{name}']:not([hidden])").wait_for(timeout=SLOW)


def edit(page, button):
    button.click()
    wait_for_run(page)


def list_drawn_ranks(labels):
    """Ranks of the parts of a picture; many nodes are drawn as a box each, with the range of its ranks."""
    drawn = set()
    for label in labels:
        if match := re.fullmatch(r"(?:rank )?(\d+)(?:–(\d+))?", label):
            drawn |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return drawn


def require_whole_picture(page):
    """Nothing failed, and what is drawn is the machine of the address."""
    assert page.locator(".stException").count() == 0
    choice = read_choice(page)
    ranks = set(range(build_topology(choice).ranks))
    first = page.locator(PARTS).and_(page.get_by_label(re.compile(r"^(rank )?0(–\d+)?$")))
    first.first.wait_for(state="attached", timeout=SLOW)
    labels = page.locator(PARTS).evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))")
    assert list_drawn_ranks(labels) == ranks, (choice, labels)


def test_the_keyboard_changes_a_cable_and_takes_it_back(page, app_url):
    open_editor(page, app_url + START)
    cable = page.locator(PARTS).and_(page.get_by_label(re.compile("NIC 0 – InfiniBand switch, node 0")))
    open_panel(page, cable)
    edit(page, page.locator(".editpanel [data-act='rate=x0.5']"))
    page.wait_for_url(re.compile("edits=rate"), timeout=SLOW)
    assert 'with_link("node0/nic0", "fabric/switch0", bandwidth="x0.5")' in page.locator(".editpanel code").inner_text()
    assert "×0.5" in page.locator(".editpanel li").inner_text()
    edit(page, page.locator(".editpanel [data-act=undo]"))
    page.wait_for_url(lambda url: "edits=" not in url, timeout=SLOW)
    page.keyboard.press("Escape")
    assert page.locator(".editpanel").is_hidden()


def test_a_click_on_a_card_chooses_another_and_what_cannot_be_says_why(page, app_url):
    open_editor(page, app_url + START)
    box = page.locator(PARTS + "[data-part='node0/nic1']").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".editpanel select[data-act=nic]").select_option("roce-25")
    page.wait_for_url(re.compile("parts=nic%3Aroce-25"), timeout=SLOW)
    wait_for_run(page)
    open_panel(page, page.locator(PARTS + "[data-part='fabric/switch0']"))
    edit(page, page.locator(".editpanel [data-act=off]"))
    page.locator(".editpanel [role=alert]").wait_for(timeout=SLOW)
    assert read_choice(page).edits == ()


def test_a_part_keeps_the_keyboard_when_the_picture_is_drawn_anew(page, app_url):
    open_editor(page, app_url + START)
    part = page.locator(PARTS + "[data-part='fabric/switch0']")
    part.focus()
    before = part.get_attribute("style")
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(part).not_to_have_attribute("style", before, timeout=SLOW)
    assert part.evaluate("part => part.getRootNode().activeElement === part")
    assert part.evaluate("part => part.tabIndex") == 0


@pytest.mark.slow
def test_buttons_of_the_shelf_show_their_whole_words(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 900})
    open_editor(page, app_url + START + "&parts=gpus:4")
    page.locator("summary", has_text="Parts").first.click()
    for name in ("undo", "redo", "reset"):
        button = page.locator(f".st-key-parts_{name} button")
        button.wait_for(timeout=SLOW)
        cut = "button => [...button.querySelectorAll('*')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        assert button.evaluate(cut) == 0, name


def test_no_panel_lies_on_a_switch_or_on_its_own_part(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    open_editor(page, app_url + START)
    switch = page.locator(PARTS + "[data-part='fabric/switch0']")
    names = page.locator(PARTS).evaluate_all("all => all.map((e) => e.dataset.part)")
    for name in names[::3]:
        part = page.locator(PARTS + f"[data-part='{name}']")
        part.evaluate("part => part.scrollIntoView({ block: 'center' })")
        open_panel(page, part)
        panel = page.locator(".editpanel").bounding_box()
        for other in (switch, part):
            box = other.bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            inside_x = panel["x"] < x < panel["x"] + panel["width"]
            assert not (inside_x and panel["y"] < y < panel["y"] + panel["height"]), (name, other)


@pytest.fixture
def phone(chromium, app_url):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(SLOW)
    yield context.new_page()
    context.close()


def tap_part(phone, part, panel):
    """While results still come in above the picture it moves away from under the finger."""
    for _ in range(20):
        part.evaluate("part => part.scrollIntoView({ block: 'center' })")
        phone.wait_for_timeout(500)
        box = part.bounding_box()
        phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        phone.wait_for_timeout(500)
        if panel.is_visible():
            return
    pytest.fail("no tap opened the panel")


@pytest.mark.parametrize("name", keep_fast(["explore", "train", "compare", "whatif", "machines"], ["explore"]))
def test_a_finger_opens_the_panel_of_a_part_on_every_page_that_shows_a_machine(phone, app_url, name):
    query = START if name in ("explore", "compare", "whatif") else "?nodes=2"
    phone.goto(f"{app_url}/{name}{query if name == 'explore' else query.replace('&view=physical', '')}")
    if name != "explore":
        phone.locator(".st-key-w_machine_card summary").tap()
    part = phone.locator(PARTS + "[data-part='node0/cpu0']")
    part.wait_for(state="attached")
    wait_for_run(phone)
    panel = phone.locator(".editing .editpanel[data-part='node0/cpu0']:not([hidden])")
    tap_part(phone, part, panel)
    sizes = panel.locator("button, select").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map(({ width, height }) => [width, height])"
    )
    assert len(sizes) > 6
    assert min(min(size) for size in sizes) >= 40
    panel.locator("[data-act='pcie=5']").tap()
    phone.wait_for_url(re.compile("parts=pcie%3A5"))
    wait_for_run(phone)
    assert phone.locator(".stException").count() == 0


def test_the_machine_is_copied_as_python_and_as_yaml(page, app_url, tmp_path):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=app_url)
    open_editor(page, app_url + START + "&parts=nic:roce-25")
    open_panel(page, page.locator(PARTS + "[data-part='fabric/switch0']"))
    machine = build_topology(read_choice(page))
    for name in ("python", "yaml"):
        page.locator(f".editpanel [data-act='copy={name}']").click()
        page.locator(".toast.on", has_text="Machine copied").wait_for()
        text = page.evaluate("navigator.clipboard.readText()")
        if name == "python":
            again = eval(text, {"cs": cs})
        else:
            (tmp_path / "machine.yaml").write_text(text)
            again = cs.load_topology(tmp_path / "machine.yaml")
        assert again.name == machine.name
        assert again.links.bandwidth.tolist() == machine.links.bandwidth.tolist()


@pytest.mark.slow
def test_what_to_buy_first_is_eight_clicks_from_the_first_page_with_the_digits_of_python(page, app_url):
    """Two nodes of four PCIe 3 GPUs with 25 GbE: how much slower than NVLink is the step, and what to buy first?"""
    clicks = 0

    def click(target):
        nonlocal clicks
        target.click(timeout=SLOW)
        clicks += 1

    page.set_viewport_size({"width": 1366, "height": 1600})
    page.goto(app_url)
    click(page.get_by_text("See", exact=True).first)
    click(page.get_by_text("Train", exact=True).last)
    click(page.locator("summary", has_text="Parts").first)
    for part, value in (("gpus", "4"), ("pcie", "3")):
        click(page.locator(f".st-key-w_part_{part} button", has_text=value))
        page.wait_for_url(re.compile(f"{part}%3A{value}"), timeout=SLOW)
        wait_for_run(page)
    nic = page.locator(".st-key-w_part_nic").get_by_role("combobox")
    click(nic)
    click(page.get_by_role("option", name="RoCE 25G", exact=True))
    page.wait_for_url(re.compile("nic%3Aroce-25"), timeout=SLOW)
    wait_for_run(page)
    click(page.locator("summary", has_text="What to buy first"))
    panel = page.locator(".st-key-w_upgrades")
    expect(panel).to_contain_text("Same GPUs, other wires", timeout=SLOW)
    assert clicks <= 8
    box = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", pcie=3)
    step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
    assert " ".join(cs.upgrades(step).explanation().split()) in " ".join(panel.inner_text().split())


def open_panel_by_pointer(page, part):
    """Where two parts lie on each other, the upper one opens."""
    part.evaluate("part => part.scrollIntoView({ block: 'center' })")
    box = part.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".editpanel:not([hidden])").wait_for(timeout=SLOW)


OPENERS = {"keyboard": open_panel, "mouse": open_panel_by_pointer}


@pytest.mark.parametrize("way", sample(OPENERS, 1))
@pytest.mark.parametrize("count", [4, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_random_edits_leave_a_whole_picture_and_an_address_that_opens_again(page, app_url, count, way):
    draw = random.Random(count)
    open_editor(page, app_url + START)
    for _ in range(count):
        parts = page.locator(PARTS)
        OPENERS[way](page, parts.nth(draw.randrange(parts.count())))
        buttons = page.locator(EDITS)
        if buttons.count():
            edit(page, buttons.nth(draw.randrange(buttons.count())))
        require_whole_picture(page)
    before, address = read_choice(page), page.url
    open_editor(page, address)
    require_whole_picture(page)
    assert read_choice(page) == before
