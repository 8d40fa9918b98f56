"""Long work in a real browser: a bar, a button that stops it at once, and a page that goes on from there."""

import contextlib
import os
import time

import psutil
import pytest

pytestmark = pytest.mark.browser

SLOW = 120_000
#: More than half a million transfers through the queue of events, several times over.
LONG = "/?machine=dgx-a100&nodes=32&algorithm=allreduce_tree&chunks={chunks}&engine=event"


def workers():
    """The processes that compute for the app which this process started."""
    apps = psutil.Process(os.getpid()).children()
    return [
        one
        for app in apps
        for one in app.children()
        if any("collsim.app.jobs.worker" in word for word in one.cmdline())
    ]


def at_work():
    """The worker that computes: the only one that does, once those that have just started have loaded what they need."""
    until = time.monotonic() + SLOW / 1000
    while time.monotonic() < until:
        before = used()
        time.sleep(0.5)
        busy = [one for one, seconds in used().items() if seconds - before.get(one, 0.0) > 0.05]
        if len(busy) == 1:
            return busy[0]
    raise AssertionError("there is none, or there are several")


def used():
    """The s of processor time that each worker has taken."""
    return {one: sum(one.cpu_times()[:2]) for one in workers()}


@pytest.mark.slow
def test_a_long_run_shows_a_bar_can_be_stopped_and_can_be_run_after_all(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    page.locator('.cs[data-transfers="24"]').wait_for(timeout=SLOW)
    page.goto(app_url + LONG.format(chunks=1000))
    page.get_by_text("Computing: ").wait_for(timeout=SLOW)
    page.get_by_role("progressbar").wait_for(timeout=SLOW)
    held = workers()
    for one in held:
        one.suspend()  # so that the run is not over before it is stopped, however fast the machine
    try:
        page.reload()
        stop = page.get_by_role("button", name="Cancel")
        stop.click(timeout=SLOW)
        stopped = page.get_by_role("alert").filter(has_text="Stopped before it was done")
        stopped.wait_for(timeout=SLOW)
        stop.wait_for(state="detached", timeout=SLOW)
        page.locator(".cs[data-transfers]").wait_for(timeout=SLOW)
    finally:
        for one in held:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()
    page.get_by_role("button", name="Run it after all").click()
    page.get_by_text("256 ranks").first.wait_for(timeout=SLOW)
    stopped.wait_for(state="detached", timeout=SLOW)
    assert page.errors == []


def test_another_choice_ends_the_work_for_the_one_before_and_the_page_answers_meanwhile(page, app_url, turn):
    page.goto(app_url + LONG.format(chunks=1001))
    page.get_by_text("Computing: ").wait_for(timeout=SLOW)
    busy = at_work()
    busy.suspend()
    page.get_by_text("中文", exact=True).click()
    page.get_by_role("button", name="取消").wait_for(timeout=SLOW)
    assert busy.is_running()
    turn("学习", "课程")
    page.locator(".cs[data-transfers]").first.wait_for(timeout=SLOW)
    busy.wait(20)
    assert page.errors == []
