"""Page Lab in a real browser: a small run of processes, and what was measured stands below what was predicted."""

import pytest

pytestmark = pytest.mark.browser

SLOW = 120_000
SMALL = "nbytes=4KiB&bandwidth=10MB/s&alpha=1ms&repeat=1&ranks=2"


def test_a_click_runs_processes_and_shows_measured_below_predicted(page, app_url):
    page.goto(f"{app_url}/lab?{SMALL}")
    page.locator(".lb[data-t]").wait_for(timeout=SLOW)
    assert page.locator("svg.time text", has_text="rank 1").count() == 0  # an address starts nothing
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("svg.time text", has_text="rank 1").wait_for(timeout=SLOW)
    # 2 steps of 1 ms and 2 KiB at 10 MB/s
    page.get_by_text("2.41 ms").first.wait_for(timeout=SLOW)
    page.get_by_text("Measured, median").wait_for(timeout=SLOW)
    page.get_by_text("2,048 elements checked").wait_for(timeout=SLOW)  # 1,024 float32 of each rank
    assert page.errors == []
    assert page.off_site == []


@pytest.mark.slow
def test_a_step_of_ddp_is_measured_with_every_bucket_size(page, app_url):
    page.goto(f"{app_url}/lab?sheet=step&backward=5ms&lang=zh&{SMALL}")
    drawn = page.locator(".lb[data-predicted]")
    drawn.wait_for(timeout=SLOW)
    assert (drawn.get_attribute("data-measured"), drawn.get_attribute("data-sizes")) == ("", "0")
    ways = page.locator(".st-key-w_lab_split button").all()
    assert len({way.bounding_box()["y"] for way in ways}) == 1 < len(ways)  # all ways of splitting in one row
    page.get_by_role("button", name="运行", exact=True).click()
    page.locator('.lb[data-sizes="4"]').wait_for(timeout=SLOW)
    measured, predicted = (float(drawn.get_attribute(f"data-{name}")) for name in ("measured", "predicted"))
    assert measured > 8 * 0.0075  # eight layers sleep 2.5 and 5 ms
    assert predicted > 8 * 0.0075
    assert page.get_by_text("rank 1").count() >= 1
    assert page.errors == []
