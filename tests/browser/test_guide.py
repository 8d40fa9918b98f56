"""The guide of the first page: steps are ticked however they are done, and it stays as it was left."""

import pytest
from playwright.sync_api import expect
from visits import SLOW

pytestmark = pytest.mark.browser


def open_first(page, url):
    page.goto(f"{url}/?lang=en")
    page.locator(".sp[data-transfers]:not([data-transfers='0'])").first.wait_for(timeout=SLOW)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=SLOW)
    page.wait_for_timeout(800)


def test_steps_are_ticked_by_keys_and_kept_and_a_guide_that_was_closed_stays_closed(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    open_first(page, app_url)
    guide, card = page.locator(".sp .guide"), page.locator(".sp .card").first
    expect(guide.locator("li")).to_have_count(4)
    expect(guide.locator("li.done")).to_have_count(0)
    for box in (guide.bounding_box(), card.bounding_box()):
        assert box["y"] + box["height"] <= 768
    narrow = card.bounding_box()["width"]
    page.keyboard.press("Space")
    expect(guide.locator("li.done")).to_have_count(1)
    page.keyboard.press("8")
    expect(guide.locator("li.done")).to_have_count(2)
    expect(guide).to_contain_text("2 of 4 done")
    open_first(page, app_url)
    expect(guide.locator("li.done")).to_have_count(2)
    guide.get_by_role("button", name="Close the first steps (G)").click()
    expect(guide).to_be_hidden()
    assert card.bounding_box()["width"] > narrow + 200
    open_first(page, app_url)
    expect(guide).to_be_hidden()
    page.keyboard.press("g")
    expect(guide).to_be_visible()
    guide.get_by_role("link", name="Open the story").click()
    page.locator(".st section.now").first.wait_for(timeout=SLOW)
    open_first(page, app_url)
    expect(guide.locator("li.done")).to_have_count(3)
    assert page.errors == []
