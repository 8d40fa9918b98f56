"""Long work in a real browser: a bar, a button that stops it at once, and a page that goes on from there."""

import os
import re
import subprocess

import pytest

pytestmark = pytest.mark.browser

SLOW = 120_000
#: More than half a million transfers through the queue of events, several times over.
LONG = "/?machine=dgx-a100&nodes=32&algorithm=allreduce_tree&chunks={chunks}&engine=event"


def computing():
    """Seconds of processor time by process, of the workers of the app that this process started."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,cputimes,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()[1:]]
    apps = {pid for pid, parent, _, _ in rows if int(parent) == os.getpid()}
    return {pid: int(used) for pid, parent, used, what in rows if parent in apps and "collsim.app.worker" in what}


def test_a_long_run_shows_a_bar_can_be_stopped_and_can_be_run_after_all(page, app_url):
    page.goto(app_url + "/?network=ring&ranks=4&nbytes=1MiB")
    page.locator('.cs[data-transfers="24"]').wait_for(timeout=SLOW)
    page.goto(app_url + LONG.format(chunks=1000))
    stop = page.get_by_role("button", name="Cancel")
    stop.wait_for(timeout=SLOW)
    page.get_by_role("progressbar").wait_for(timeout=SLOW)
    page.get_by_text(re.compile("Computing: |Compiling the event engine")).wait_for(timeout=SLOW)
    page.reload()
    stop.click(timeout=SLOW)
    page.get_by_role("alert").filter(has_text="Stopped before it was done").wait_for(timeout=SLOW)
    assert stop.count() == 0
    page.locator(".cs[data-transfers]").wait_for(timeout=SLOW)
    page.get_by_role("button", name="Run it after all").click()
    page.get_by_text("256 ranks").first.wait_for(timeout=SLOW)
    assert page.get_by_role("alert").count() == 0
    assert page.errors == []


def test_another_choice_ends_the_work_for_the_one_before_and_the_page_answers_meanwhile(page, app_url):
    page.goto(app_url + LONG.format(chunks=1001))
    page.get_by_role("button", name="Cancel").wait_for(timeout=SLOW)
    page.get_by_text("中文", exact=True).click()
    page.get_by_role("button", name="取消").wait_for(timeout=SLOW)
    page.get_by_role("link", name="课程").click()
    page.locator(".cs[data-transfers]").first.wait_for(timeout=SLOW)
    before = computing()
    page.wait_for_timeout(3000)
    assert all(used - before.get(pid, 0) <= 1 for pid, used in computing().items() if pid in before)
    assert page.errors == []
