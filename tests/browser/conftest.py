"""A running app, and tabs that look at it."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect
from visits import REFUSALS, STILL

ROOT = Path(__file__).parents[2]
#: Milliseconds that a tab waits for what is to come, as two cores may have other tests to do.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory):
    """The address of an app that this session started and will stop."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    flags = [
        "--server.headless=true",
        "--server.fileWatcherType=none",
        "--browser.gatherUsageStats=false",
        "--server.address=127.0.0.1",
    ]
    with log.open("w") as out:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", *flags]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            _wait_until_it_answers(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_it_answers(url, process, log):
    end = time.time() + 60
    while True:
        assert process.poll() is None, log.read_text()
        assert time.time() < end, log.read_text()
        try:
            if urlopen(url + "/_stcore/health", timeout=1).status == 200:
                return
        except OSError:
            time.sleep(0.1)


@pytest.fixture
def tab(chromium):
    """A new tab, for which nobody has been here before: no cookie, no permission, nothing stored by the app."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1400}, color_scheme="light", locale="en-US")
    context.add_init_script(STILL)
    context.add_init_script(REFUSALS)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab, app_url):
    """A new tab that remembers requests to other sites and errors of the page."""
    tab.off_site, tab.errors = [], []
    own = (app_url, app_url.replace("http", "ws"), "data:", "blob:")
    tab.on("request", lambda r: None if r.url.startswith(own) else tab.off_site.append(r.url))
    tab.on("pageerror", lambda e: tab.errors.append(str(e)))
    tab.on("console", lambda line: tab.errors.append(line.text) if "NaN" in line.text else None)  # lengths of pictures
    return tab


@pytest.fixture
def turn(page):
    """Go to another page by the menu: its group, then its name."""

    def to(group, name):
        page.get_by_test_id("stTopNavSection").filter(has_text=group).click()
        page.get_by_role("menuitem", name=name, exact=True).click()

    return to
