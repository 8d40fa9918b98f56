"""Write your own and Lessons in a real browser: what is typed is checked, and the picture keeps playing while a class
answers."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SLOW = 120_000


def player(page, transfers):
    box = page.get_by_role("group", name="collsim player")
    box.wait_for(timeout=SLOW)
    page.locator(f'[data-transfers="{transfers}"]').first.wait_for(timeout=SLOW)
    return box


def test_what_is_typed_is_checked_and_the_player_goes_to_the_mistake(page, app_url):
    page.goto(app_url + "/write")
    player(page, 24)
    page.get_by_text("Right: 4 ranks").wait_for(timeout=SLOW)
    area = page.locator("textarea[aria-label^='Code']")
    code = area.input_value()
    area.fill(code.replace("cs.copy", "cs.reduce"))
    page.get_by_text("look at rank 0, chunk 0, step 4").wait_for(timeout=SLOW)
    page.locator('[data-step="4"]').first.wait_for(timeout=SLOW)
    page.get_by_text("Here it goes wrong").first.wait_for(timeout=SLOW)
    area.fill("import os\n" + code)
    page.get_by_text("os cannot be imported here").wait_for(timeout=SLOW)
    page.locator('.editor[data-line="1"]').wait_for(timeout=SLOW)
    area.fill(code + "    # the end")
    page.get_by_text("Right: 4 ranks").wait_for(timeout=SLOW)
    page.wait_for_url(re.compile("code="), timeout=SLOW)
    page.reload()
    page.get_by_role("button", name="Run the code from the link").click(timeout=SLOW)
    page.get_by_text("Right: 4 ranks").wait_for(timeout=SLOW)
    assert page.locator("textarea[aria-label^='Code']").input_value() == code + "    # the end"
    assert page.errors == []
    assert page.off_site == []


def test_tab_indents_and_enter_keeps_the_indentation(page, app_url):
    page.goto(app_url + "/write?start=naive")
    area = page.locator("textarea[aria-label^='Code']")
    area.wait_for(timeout=SLOW)
    area.fill("")
    area.press_sequentially("def f(n):\nyield 1")
    assert area.input_value() == "def f(n):\n    yield 1"
    area.press("Tab")
    assert area.input_value().endswith("1    ")
    area.press("Escape")
    area.press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "TEXTAREA"


def test_nothing_names_the_phase_of_a_step_before_the_question_is_answered(page, app_url):
    page.goto(app_url + "/lessons?lesson=ring")
    box = player(page, 112)
    step = page.get_by_text(re.compile("^Step 1 of 14"))
    expect(step.first).to_be_visible()
    assert "reduce-scatter" not in box.inner_text()
    page.get_by_role("button", name="step 7").click()
    expect(page.get_by_text("Step 1 of 14, reduce-scatter").first).to_be_visible()


def test_the_run_stops_before_the_step_that_answers_until_somebody_skips_the_question(page, app_url):
    page.goto(app_url + "/lessons?lesson=ring")
    box = player(page, 112)
    page.keyboard.press("End")
    expect(box).to_have_attribute("data-step", "6")
    for key in ("ArrowRight", "Space"):
        page.keyboard.press(key)
        expect(box).to_have_attribute("data-playing", "false")
        expect(box).to_have_attribute("data-step", "6")
    expect(box.get_by_text("Predict first, or skip the question.")).to_be_visible()
    box.get_by_role("tab", name="Schedule as text").click()
    assert box.get_by_role("table").first.locator("tr").first.locator("th").last.inner_text() == "6"
    page.keyboard.press("f")
    box.get_by_role("button", name="Skip the question").click()
    expect(box).to_have_attribute("data-step", "8")  # the step that answers is played to its end
    page.wait_for_url("**answer=0**")
    page.keyboard.press("End")
    expect(box).to_have_attribute("data-step", "14")


def test_words_of_the_text_light_what_they_name_by_pointer_and_by_keyboard(page, app_url):
    page.goto(app_url + "/lessons?lesson=inside&lang=zh")
    box = player(page, 112)
    words = page.locator("[data-lights]")
    words.filter(has_text="PCIe 交换机").first.hover()
    expect(box).to_have_attribute("data-lit", "3")  # the PCIe switches of the picture
    words.filter(has_text="8 块 GPU").first.focus()
    expect(box).to_have_attribute("data-lit", "8")
    page.keyboard.press("Tab")
    expect(box).to_have_attribute("data-lit", "3")
    page.keyboard.press("Tab")
    expect(box).to_have_attribute("data-lit", "1")  # host memory
    page.get_by_role("heading").first.hover()
    words.first.evaluate("() => document.activeElement.blur()")
    expect(box).to_have_attribute("data-lit", "0")


@pytest.mark.slow
def test_answering_does_not_stop_the_player(page, app_url):
    page.goto(app_url + "/lessons?lesson=ring")
    box = player(page, 112)
    box.get_by_role("button", name=re.compile("^Play")).click()
    page.wait_for_timeout(400)
    before = float(box.get_attribute("data-t"))
    page.get_by_role("button", name="step 7").click()
    page.get_by_text("From the next step on, allgather only copies").wait_for(timeout=SLOW)
    page.wait_for_timeout(300)
    assert box.get_attribute("data-playing") == "true"
    assert float(box.get_attribute("data-t")) > before
    assert "answer=2" in page.url
    page.get_by_role("button", name=re.compile("^Next")).click()
    page.locator('[data-transfers="112"]').first.wait_for(timeout=SLOW)
    page.get_by_text("part 2 of 2: 2K(N−1)/N").wait_for(timeout=SLOW)
    page.go_back()
    page.get_by_text("From the next step on, allgather only copies").wait_for(timeout=SLOW)
    assert page.errors == []
