"""Race, What-if and Machines as a class sees them: one clock for all runners, and ranks that can be clicked."""

import re

import pytest
from playwright.sync_api import expect
from sampling import sample

import collsim as cs
from collsim.viz.route.route import list_routes
from collsim.viz.timeline.timeline_document import decode

pytestmark = pytest.mark.browser

SLOW = 120_000


def raced(page, runners):
    box = page.locator(f'.rc[data-runners="{runners}"]')
    box.wait_for(timeout=SLOW)
    page.locator(f".rc:has(.lane:nth-child({runners}) .cs[data-t])").wait_for(timeout=SLOW)
    return box


def seconds(box):
    return float(box.get_attribute("data-t"))


def test_one_clock_moves_all_runners_and_they_finish_in_order(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(app_url + "/race?race=gdr")
    box = raced(page, 2)
    page.wait_for_timeout(300)
    rates, line = box.locator(".traffic").first.bounding_box(), box.locator(".line").bounding_box()
    assert rates["y"] + 36 <= line["y"], "two tall machines leave room for the rows of GB/s above the time line"
    page.goto(app_url + "/race")
    box = raced(page, 3)
    rates, line = box.locator(".traffic").first.bounding_box(), box.locator(".line").bounding_box()
    assert rates["y"] + rates["height"] <= line["y"], "all rows stand above the time line"
    stages = box.locator(".cs")
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_timeout(900)
    box.get_by_role("button", name=re.compile("^Pause")).click()
    page.wait_for_timeout(200)
    assert seconds(box) > 0
    assert {float(stages.nth(n).get_attribute("data-t")) for n in range(3)} == {seconds(box)}
    assert box.get_attribute("data-order") == "0,1,2"
    assert box.get_attribute("data-finished") == "0"
    page.get_by_role("button", name="16", exact=True).click()
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.locator('.rc[data-finished="3"]').wait_for(timeout=SLOW)
    ends = [float(stages.nth(n).get_attribute("data-t")) for n in range(3)]
    assert ends == sorted(ends)
    assert ends[0] == pytest.approx(14 * (8 * 2**20 / 25e9 + 2e-6))
    assert ends[2] == pytest.approx(2 * (8 * 64 * 2**20 / 25e9 + 2e-6))
    assert page.off_site == []
    assert page.errors == []


def test_no_key_plays_a_race_that_a_class_is_asked_about(page, app_url):
    page.goto(app_url + "/race?lang=en")
    box = raced(page, 3)
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.get_by_role("button", name="Ask a class").click()
    page.locator(".rc.hides").wait_for(timeout=SLOW)
    box = raced(page, 3)
    box.focus()
    for key in ("End", "ArrowRight", "Space"):
        page.keyboard.press(key)
        page.wait_for_timeout(200)
        assert (seconds(box), box.get_attribute("data-finished")) == (0, "0"), key
    page.get_by_role("button", name="Reveal").click()
    page.locator(".rc:not(.hides)").wait_for(timeout=SLOW)
    box = raced(page, 3)
    box.focus()
    page.keyboard.press("End")
    expect(box).to_have_attribute("data-finished", "3")
    page.get_by_role("button", name="End the class").click()
    assert page.errors == []


@pytest.mark.slow
def test_a_race_opens_at_the_moment_in_the_address_and_follows_keys_and_language(page, app_url):
    page.goto(app_url + "/race?race=p2p&t=0.002")
    box = raced(page, 2)
    page.wait_for_timeout(400)
    assert seconds(box) == pytest.approx(0.002)
    box.focus()
    page.keyboard.press("End")
    expect(box).to_have_attribute("data-finished", "2")
    page.keyboard.press("Home")
    expect(box).to_have_attribute("data-t", "0")
    page.get_by_text("中文", exact=True).click()
    page.get_by_text("GPUDirect P2P 开", exact=True).first.wait_for(timeout=SLOW)
    assert box.get_attribute("aria-label") == "collsim 竞速"
    assert page.errors == []


@pytest.mark.slow
def test_the_run_of_explore_is_the_run_of_what_if_and_comes_back(page, app_url, turn):
    page.goto(app_url + "/?network=switch&ranks=4&nbytes=1MiB")
    page.locator('.cs[data-transfers="24"]').wait_for(timeout=SLOW)
    turn("Decide", "What-if")
    raced(page, 2)
    assert page.locator('.rc .cs[data-transfers="24"]').count() == 2
    assert "ranks=4" in page.url
    turn("See", "Race")
    raced(page, 3)
    turn("See", "Explore")
    page.locator('.cs[data-transfers="24"]').wait_for(timeout=SLOW)
    assert page.errors == []


def test_a_click_on_two_ranks_chooses_where_the_way_begins_and_ends(page, app_url):
    page.goto(app_url + "/machines")
    page.locator('.wy[data-cards="2"] .cs[data-t]').first.wait_for(timeout=SLOW)
    page.wait_for_timeout(500)
    drawn = decode(list_routes([cs.machine("pcie-8gpu", p2p=on) for on in (True, False)], 0, 1, "64MiB")[0].timeline)
    for rank, title in ((2, "How rank 2 reaches rank 1"), (7, "How rank 2 reaches rank 7")):
        canvas = page.locator(".wy .cs canvas").nth(1)
        canvas.wait_for(timeout=SLOW)
        _click(canvas, drawn, rank)
        page.get_by_text(title).wait_for(timeout=SLOW)
        page.wait_for_timeout(600)
    assert "a=2" in page.url
    assert "b=7" in page.url
    assert page.errors == []


def _click(canvas, drawn, rank):
    """The middle of a rank's box: the stage is scaled to fit its canvas and stands in the middle of it."""
    size, stage, devices = canvas.bounding_box(), drawn["stage"], drawn["devices"]
    scale = min(size["width"] / stage["w"], size["height"] / stage["h"], 1.3)
    at = devices["endpoint"].index(rank)
    x = (size["width"] - stage["w"] * scale) / 2 + (devices["x"][at] + devices["w"][at] / 2) * scale
    y = (size["height"] - stage["h"] * scale) / 2 + (devices["y"][at] + devices["h"][at] / 2) * scale
    canvas.click(position={"x": x, "y": y})


@pytest.mark.parametrize("language", sample(["en", "zh"], 1))
def test_a_race_fits_a_phone_and_its_bars_and_buttons_are_in_sight(page, app_url, language):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/race?lang={language}")
    box = raced(page, 3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    parts = [one.bounding_box() for one in box.locator(":is(canvas, button, .lane)").all() if one.is_visible()]
    assert len(parts) > 6
    assert min(at["x"] for at in parts) >= 0
    assert max(at["x"] + at["width"] for at in parts) <= 390
    tracks = [one.bounding_box() for one in box.locator(":is(.board .track, .line .scrub):visible").all()]
    assert len(tracks) == 4
    assert min(at["width"] for at in tracks) > 150, "a bar that nothing can be read from"
    heads = [one.bounding_box()["height"] for one in box.locator(".rows .h:visible").all()]
    assert max(heads) < 60, "a heading letter by letter"
    page.goto(f"{app_url}/whatif?lang={language}")
    box = raced(page, 2)
    page.wait_for_timeout(300)
    stage, line = box.locator(".cs .stage").first.bounding_box(), box.locator(".line").bounding_box()
    assert stage["y"] + stage["height"] <= line["y"], "both nodes and their names stand above the time line"
    assert page.errors == []
