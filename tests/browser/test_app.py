"""The app as a class sees it: press play, the clock runs and chunks move, and nothing comes from another site."""

import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from collsim.app.scenario.choice import Choice
from collsim.app.scenario.run_files import build_file

pytestmark = pytest.mark.browser

SLOW = 120_000


def player(page, transfers=None):
    box = page.get_by_role("group", name="collsim player")
    box.wait_for(timeout=SLOW)
    wanted = f'[data-transfers="{transfers}"]' if transfers else '[data-transfers]:not([data-transfers="0"])'
    page.locator(wanted).first.wait_for(timeout=SLOW)
    return box


def seconds(box):
    return float(box.get_attribute("data-t"))


def test_the_first_page_answers_to_its_name(page, app_url):
    page.goto(f"{app_url}/explore?network=ring&ranks=4&lang=zh")
    player(page, 24)
    assert page.get_by_role("dialog").count() == 0, "Streamlit's box says that there is no such page"
    assert "network=ring" in page.url
    assert "lang=zh" in page.url


@pytest.mark.slow
def test_a_pressed_button_can_be_read_in_the_dark(page, app_url):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{app_url}/?network=ring&ranks=4&break=lose-0")
    button = page.get_by_role("button", name="Fix it")
    button.wait_for(timeout=SLOW)
    ink, ground = button.locator("p").evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(e.closest('button')).backgroundColor]"
    )
    dark, light = (sum(map(int, re.findall(r"\d+", color)[:3])) for color in (ink, ground))
    assert light - dark > 300, (ink, ground)


def test_play_moves_the_clock_and_the_chunks_and_nothing_is_loaded_from_other_servers(page, app_url):
    page.goto(f"{app_url}/?mode=full")
    box = player(page, 3840)  # two DGX A100: 30 steps of 16 ranks on 8 channels
    still = box.locator("canvas").first.screenshot()
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_timeout(700)
    first = seconds(box)
    assert box.get_attribute("data-playing") == "true"
    assert first > 0
    assert int(box.get_attribute("data-active")) > 0
    moving = [box.locator("canvas").nth(i).screenshot() for i in range(2)]
    page.wait_for_timeout(500)
    assert seconds(box) > first
    assert [box.locator("canvas").nth(i).screenshot() for i in range(2)] != moving
    assert still != box.locator("canvas").first.screenshot()
    box.get_by_role("button", name=re.compile("^Pause")).click()
    page.wait_for_timeout(300)
    stopped = seconds(box)
    page.wait_for_timeout(300)
    assert seconds(box) == stopped
    assert page.off_site == []
    assert page.errors == []


def test_step_forward_and_back_and_the_keys(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    box = player(page, 24)
    box.get_by_role("button", name=re.compile("^Step forward")).click()
    page.wait_for_timeout(1500)
    assert box.get_attribute("data-step") == "2" or seconds(box) > 0
    box.focus()
    page.keyboard.press("End")
    expect(box).to_have_attribute("data-done", "true")
    page.keyboard.press("Home")
    expect(box).to_have_attribute("data-t", "0")
    assert page.errors == []


@pytest.mark.slow
def test_playing_goes_on_while_a_table_is_opened_and_starts_again_only_for_another_run(page, app_url):
    page.goto(app_url + "/?network=switch&ranks=8")
    box = player(page, 112)
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_timeout(400)
    page.get_by_role("tab", name="Steps").click()
    page.wait_for_timeout(400)
    before = seconds(box)
    page.get_by_text("中文", exact=True).click()
    page.locator('[data-lang="zh"]').first.wait_for(timeout=SLOW)
    page.wait_for_timeout(300)
    assert seconds(box) > before
    assert box.get_attribute("data-playing") == "true"
    assert "lang=zh" in page.url
    assert page.get_by_test_id("stTopNavSection").filter(has_text="决策").is_visible()
    assert page.errors == []


@pytest.mark.slow
def test_a_typed_size_that_is_ambiguous_leaves_a_sentence_and_the_picture(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    box = player(page, 24)
    field = page.get_by_role("combobox", name=re.compile("^Size"))
    field.fill("64M")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="ambiguous").wait_for(timeout=SLOW)
    assert box.get_attribute("data-transfers") == "24"
    field.fill("2 MiB")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("nbytes=2"), timeout=SLOW)
    assert page.get_by_role("alert").count() == 0
    assert page.errors == []


def test_an_address_restores_the_run_the_moment_and_the_view(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=6&nbytes=16MiB&t=0.0005&view=logical")
    box = player(page, 60)
    page.wait_for_timeout(300)
    assert seconds(box) == pytest.approx(0.0005, rel=1e-3)
    assert box.get_attribute("data-view") == "logical"


@pytest.mark.slow
def test_leaving_for_another_page_and_coming_back_keeps_the_run_and_the_moment(page, app_url, turn):
    page.goto(app_url + "/?network=ring&ranks=6&nbytes=16MiB")
    box = player(page, 60)
    box.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(1200)
    turn("Decide", "Compare")
    page.get_by_text("Which algorithm wins").wait_for(timeout=SLOW)
    page.locator("[data-testid=stVegaLiteChart]").nth(1).wait_for(timeout=SLOW)
    assert "ranks=6" in page.url
    turn("See", "Explore")
    box = player(page, 60)
    page.wait_for_timeout(500)
    assert box.get_attribute("data-done") == "true"
    assert page.off_site == []
    assert page.errors == []


@pytest.mark.slow
def test_the_theme_can_be_switched_and_stays(page, app_url, turn):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    player(page)
    page.get_by_role("button", name="Dark").click()
    page.wait_for_timeout(500)
    page.locator('[data-theme="dark"]').first.wait_for(timeout=SLOW)
    assert "ranks=4" in page.url
    turn("Decide", "Compare")
    page.get_by_text("Which algorithm wins").wait_for(timeout=SLOW)
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert ground == "rgb(14, 19, 22)"


def test_the_back_button_brings_the_last_choice_back(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    player(page, 24)
    page.get_by_role("button", name="Increment").or_(page.get_by_test_id("stNumberInputStepUp")).first.click()
    player(page, 40)
    page.go_back()
    player(page, 24)
    assert page.errors == []


@pytest.mark.slow
def test_the_comparison_has_two_charts_and_a_table_to_download(page, app_url):
    page.goto(app_url + "/compare?network=switch&ranks=8&sizes=1KiB:64MiB:8")
    page.locator("[data-testid=stVegaLiteChart]").nth(1).wait_for(timeout=SLOW)
    page.wait_for_timeout(500)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert {"algorithm", "nbytes", "time", "busbw"} <= set(lines[0].split(","))
    assert len(lines) > 10
    assert page.off_site == []
    assert page.errors == []


def test_scrubbing_moves_the_clock_to_where_the_pointer_is_and_back(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    box = player(page, 24)
    track = box.get_by_role("slider").first
    track.scroll_into_view_if_needed()
    size = track.bounding_box()
    length = float(track.get_attribute("aria-valuemax"))
    for share in (0.75, 0.25):
        page.mouse.move(size["x"] + size["width"] * 0.5, size["y"] + size["height"] / 2)
        page.mouse.down()
        page.mouse.move(size["x"] + size["width"] * share, size["y"] + size["height"] / 2, steps=4)
        page.mouse.up()
        page.wait_for_timeout(200)
        assert seconds(box) == pytest.approx(share * length, abs=0.06 * length)
    step = int(box.get_attribute("data-step"))
    box.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(300)
    assert int(box.get_attribute("data-step")) in (step, step - 1)
    assert seconds(box) < 0.25 * length
    assert page.errors == []


@pytest.mark.slow
def test_the_picture_of_the_moment_is_saved_as_a_png_that_opens(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    box = player(page, 24)
    box.get_by_role("button", name="Copy as").click()
    with page.expect_download() as waiting:
        box.get_by_role("menuitem", name=re.compile("^PNG")).click()
    assert waiting.value.suggested_filename.endswith(".png")
    picture = Image.open(waiting.value.path())
    assert min(picture.size) > 300
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # not one blank colour
    assert page.errors == []


@pytest.mark.slow
def test_a_page_that_is_loaded_again_keeps_the_moment_and_the_view(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB&mode=full")
    box = player(page, 24)
    box.focus()
    page.keyboard.press("v")
    expect(box).to_have_attribute("data-view", "logical")
    page.keyboard.press("ArrowRight")  # plays one step
    expect(box).to_have_attribute("data-step", "2")
    expect(box).to_have_attribute("data-playing", "false")
    moment = box.get_attribute("data-t")
    assert float(moment) > 0
    page.reload()
    box = player(page, 24)
    expect(box).to_have_attribute("data-view", "logical")
    expect(box).to_have_attribute("data-t", moment)
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB&mode=full&lang=en")
    expect(player(page, 24)).to_have_attribute("data-t", "0")
    assert page.errors == []


def test_a_schedule_file_that_is_given_leaves_its_own_box_open_and_no_other(page, app_url, tmp_path):
    (file := tmp_path / "ring.json").write_bytes(build_file(Choice(machine="switch", ranks=8), "json", "en")[1])
    page.goto(f"{app_url}/explore?mode=full&network=switch&ranks=4")
    player(page, 24)
    page.get_by_role("button", name="Your own schedule").click()
    page.get_by_test_id("stPopoverBody").locator("input[type=file]").set_input_files(file)
    player(page, 112)
    expect(page.get_by_role("button", name="Back to the algorithms")).to_be_visible()
    expect(page.get_by_test_id("stPopoverBody")).not_to_contain_text("Topology text")
    assert page.errors == []
