"""Make the pictures of the app on the pages, docs/explore.png and docs/explore.zh.png: `python docs/make_screens.py`.

It starts the app on a free port and takes its pages with headless Chromium. `docs/screens.json` records what a picture
shows in words (menu, figures) and the digest of the picture; a test compares these words with the app's.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
RECORD = DOCS / "screens.json"
#: Each picture, its language and the address of its page.
SCREENS = {
    "explore.png": ("en", "explore?mode=full&lang=en"),
    "explore.zh.png": ("zh", "explore?mode=full&lang=zh"),
}
SIZE = {"width": 1440, "height": 834}
DRAWN = ".cs[data-transfers]:not([data-transfers='0'])"
HEADLINE = ".cs-head"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def run_app() -> Iterator[str]:
    """Run the app on a free port of this computer.

    Yields:
        Its address.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = [f"--server.port={port}", "--server.headless=true", "--server.address=127.0.0.1"]
    process = subprocess.Popen([sys.executable, "-m", "streamlit", "run", "app.py", *flags], cwd=DOCS.parent)
    try:
        for _ in range(600):
            try:
                urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def read_words(page: Page) -> dict[str, Any]:
    """Read the words of a page that a test compares with the app.

    Returns:
        The groups of the menu, and the figures above the picture.
    """
    menu = page.get_by_test_id("stTopNavSection").all_inner_texts()
    return {
        "menu": [text.strip().split("\n")[0] for text in menu],
        "headline": " ".join(page.locator(HEADLINE).inner_text().split()),
    }


if __name__ == "__main__":
    browser_path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    record = {}
    with run_app() as address, sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for name, (_, path) in SCREENS.items():
            page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
            page.goto(f"{address}/{path}")
            page.wait_for_selector(DRAWN, timeout=120_000)
            page.wait_for_timeout(2_000)
            picture = page.screenshot(path=DOCS / name)
            record[name] = {"sha256": hashlib.sha256(picture).hexdigest(), **read_words(page)}
        browser.close()
    RECORD.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
