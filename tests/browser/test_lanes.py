"""The lanes of a pipeline in a real browser: what the pointer meets is told and lit, a click goes there, keys choose."""

import pytest

pytestmark = pytest.mark.browser

SLOW = 60_000


def test_lanes_tell_what_is_under_the_pointer_and_follow_clicks_and_keys(page, app_url):
    page.goto(f"{app_url}/pipeline?stages=4&microbatches=8&lang=en")
    card = page.locator(".ln[data-t]")
    card.wait_for(timeout=SLOW)
    fields, tip = card.locator(".field > svg"), card.locator(".tip")
    assert fields.count() == 4
    forward = fields.first.locator('text[data-key="3"]').first  # GPU 0 of GPipe
    forward.hover()
    assert tip.inner_text() == "forward 3, GPU 0: 3 to 4"
    assert card.locator("svg.dim").count() == 4
    assert {lit.get_attribute("data-key") for lit in card.locator("svg .lit").all()} == {"3"}
    forward.click()
    clicked = float(card.get_attribute("data-t"))
    assert 3 <= clicked <= 4
    card.focus()
    page.keyboard.press("ArrowRight")
    assert clicked < float(card.get_attribute("data-t")) <= 4  # to the next pass that begins or ends anywhere
    page.keyboard.press("2")
    assert card.locator(".field").count() == 1
    page.keyboard.press("2")
    assert card.locator(".field").count() == 4
    page.keyboard.press("]")
    assert card.locator(".speeds [aria-pressed=true]").inner_text() == "4"
    assert page.errors == []
