"""Train as a class sees it: a click on a bucket opens the player inside that collective at that moment; switches, sizes
and views go into the address."""

import re

import pytest
from sampling import sample

import collsim as cs
from collsim.viz.training.step_document import build_step_document

pytestmark = pytest.mark.browser

SLOW = 90_000


def step(page, opened="bucket 4"):
    """The card of the step, when the player in it stands."""
    box = page.locator(f'.ts[data-opened="{opened}"]')
    box.wait_for(timeout=SLOW)
    box.locator(".cs[data-transfers]:not([data-transfers='0'])").wait_for(timeout=SLOW)
    return box


def seconds(box):
    return float(box.get_attribute("data-t"))


@pytest.fixture(scope="module")
def first():
    """What the page shows first."""
    box = cs.machine("pcie-8gpu", nodes=2)
    trace = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
    return {one["name"]: one for one in build_step_document(trace)["collectives"]}


def test_a_click_on_a_bucket_opens_the_player_inside_it_at_that_moment(page, app_url, first):
    page.goto(app_url + "/train")
    box = step(page)  # the network costs most in its last bucket, which nothing hides
    one = first["bucket 4"]
    assert one["begin"] < seconds(box) < one["end"]
    page.locator('.ts [data-name="bucket 1"]').click()
    box = step(page, "bucket 1")
    one = first["bucket 1"]
    assert one["begin"] < seconds(box) < one["end"]
    assert box.get_attribute("data-carries") == "bucket 1"
    page.get_by_text("Bucket 1, opened").wait_for(timeout=SLOW)
    assert "open=bucket+1" in page.url
    inside = box.locator(".cs")
    share = (seconds(box) - one["begin"]) / (one["end"] - one["begin"])
    run = float(inside.get_attribute("data-t"))
    box.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    whole = float(inside.get_attribute("data-t"))
    assert run == pytest.approx(share * whole, rel=1e-3)
    assert page.errors == []
    assert page.off_site == []


def test_the_player_inside_follows_the_clock_of_the_step_and_keys_go_from_event_to_event(page, app_url, first):
    page.goto(app_url + "/train?t=0.01&open=bucket+3")
    box = step(page, "bucket 3")
    page.wait_for_timeout(300)
    assert seconds(box) == pytest.approx(0.01)
    inside = box.locator(".cs")
    assert float(inside.get_attribute("data-t")) == 0  # bucket 3 has not begun
    box.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    moments = sorted({one[key] for one in first.values() for key in ("ready", "begin", "end")})
    assert seconds(box) == pytest.approx([t for t in moments if t > 0.01][1], rel=1e-6)
    page.keyboard.press("b")
    box = step(page, "bucket 4")
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_timeout(700)
    box.get_by_role("button", name=re.compile("^Pause")).click()
    assert box.get_attribute("data-playing") == "false"
    assert float(page.locator(".ts .cs").get_attribute("data-t")) > 0
    assert page.errors == []


def test_a_switch_recalculates_the_step_and_goes_into_the_address(page, app_url):
    page.goto(app_url + "/train")
    box = step(page)
    before = float(box.get_attribute("data-time"))
    box.get_by_role("switch", name="First step").click()
    page.locator('.ts[data-changes="first"]').wait_for(timeout=SLOW)
    trace = cs.training_step(
        "resnet50", cs.machine("pcie-8gpu", nodes=2), parallel=cs.ddp(), micro_batch=16, dtype="bfloat16"
    )
    assert before == pytest.approx(trace.time)
    assert float(page.locator(".ts").get_attribute("data-time")) == pytest.approx(trace.what_if(first_step=True).time)
    assert "changes=first" in page.url
    assert page.errors == []


@pytest.mark.slow
def test_the_curve_is_a_slider_for_the_size_of_buckets(page, app_url):
    page.goto(app_url + "/train?bucket=4MiB")
    step(page, page.locator(".ts[data-opened]:not([data-opened=''])").get_attribute("data-opened", timeout=SLOW))
    slider = page.get_by_role("slider", name="Bucket size")
    assert slider.get_attribute("aria-valuenow") == str(4 * 2**20)
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.locator('.ts [role=slider][aria-valuenow="6291456"]').wait_for(timeout=SLOW)
    assert "bucket=6MiB" in page.url
    assert page.errors == []


@pytest.mark.slow
def test_three_ways_run_on_one_clock_and_finish_in_order(page, app_url):
    page.goto(app_url + "/train?show=race&network=switch&ranks=8")
    race = page.locator('.rv[data-runners="ddp,data_parallel,copies,parameter_server"]')
    race.wait_for(timeout=SLOW)
    race.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    assert race.get_attribute("data-finished") == "4"
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    assert race.get_attribute("data-finished") == "0"
    race.get_by_role("button", name="copies", exact=True).click()
    page.get_by_role("heading", name=re.compile("DataParallel, copies")).wait_for(timeout=SLOW)
    page.get_by_text("中文", exact=True).click()
    page.get_by_text("参数服务器").first.wait_for(timeout=SLOW)
    assert race.get_attribute("aria-label") == "collsim 训练步竞速"
    assert page.errors == []


@pytest.mark.parametrize("view", sample(["step", "race"], 1))
def test_a_phone_shows_everything_without_scrolling_the_page_sideways(view, page, app_url):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/train?show={view}&quux=1")
    page.locator(".ts[data-t], .rv[data-t]").first.wait_for(timeout=SLOW)
    page.wait_for_timeout(500)
    complaint = page.locator(".cs-complaint").bounding_box()
    assert complaint["y"] + complaint["height"] < 844, "what an address asks for in vain is in the first screen"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".ts, .rv").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.errors == []


def test_under_the_pointer_one_bucket_is_lit_and_a_card_says_what_it_carries(page, app_url, first):
    page.goto(app_url + "/train")
    box = step(page)
    dimmed = page.locator(".ts svg.dim")
    assert dimmed.count() == 0
    page.locator('.ts [data-key] [data-name="bucket 1"]').hover()
    dimmed.wait_for(timeout=SLOW)
    assert box.get_attribute("data-lit") == "bucket 1"
    lit = page.locator(".ts svg.dim [data-key].lit")
    assert {lit.nth(k).get_attribute("data-key") for k in range(lit.count())} == {"1"}
    assert lit.count() >= 2  # its backward pass and its allreduce
    pale = page.locator(".ts svg.dim [data-key]:not(.lit)").first
    assert pale.evaluate("one => getComputedStyle(one).opacity") == "0.4"
    assert f"{first['bucket 1']['tensors']} gradients" in page.locator(".ts .hovered").inner_text()
    page.mouse.move(5, 5)
    dimmed.wait_for(state="detached", timeout=SLOW)
