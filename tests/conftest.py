"""What all tests share: the registry as shipped, and one headless Chromium (without it they skip on a desk and fail in CI)."""

import gc
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from collsim import registry

#: The shell draws the same and has no browser's own pages, which take a fifth of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--always-sparkplug --no-maglev --no-opt",  # most scripts run once: they end sooner than they are optimized
]


def pytest_configure(config):
    """Of several workers each would compile the kernels where nobody has, and each begins to collect with another folder:
    pytest rewrites the asserts of a file, which takes longer than all else of collecting it, where no worker has left it
    rewritten."""
    if not hasattr(config, "workerinput"):
        if getattr(config.option, "tx", None):
            compiling = subprocess.Popen(
                [sys.executable, "-c", "import collsim.app.jobs.worker as w; w.compile_engine()"]
            )
            config.add_cleanup(compiling.wait)
    elif config.args == config.getini("testpaths"):
        place = Path(__file__).parent
        parts = sorted(str(path) for path in place.glob("[a-z]*") if path.is_dir() or path.match("test_*"))
        number, of_all = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
        begin = len(parts) * number // of_all
        config.args[:] = parts[begin:] + parts[:begin]


def pytest_collection_modifyitems(items):
    """The same order in all workers, which they are asked for: early what needs a browser. It is the longest, and all of
    it falls to one worker, whose Chromium and app do for all; others take it over only where nothing else is left. Tests
    of the server come before: Playwright leaves a running event loop, in whose thread no other one begins."""
    items.sort(  # those of a file stay in their order
        key=lambda item: (item.path.parent.name != "server", "chromium" not in item.fixturenames, item.path)
    )


def pytest_collection_finish():
    """What is loaded by now stays to the end: looking through thirteen thousand tests at every collection of garbage
    (Streamlit's is after each rerun) takes longer than many a test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)  # most of what a test makes goes without a collection
    if "streamlit.testing.v1" in sys.modules:
        # it reads the metadata of all installed packages for each run of an AppTest, which takes longer than most pages
        scanner = import_module("streamlit.components.v2.manifest_scanner")
        scanner.scan_component_manifests = cache(scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def catalogues_as_shipped():
    """What a test registers (a student's file does) is gone after it: the next draws from `algorithms()`."""
    machines = import_module("collsim.topology.machines")
    machines.machines()  # all there are, so that none is taken out again
    algorithms, catalogue = registry._REGISTRY.entries(), dict(machines._CATALOGUE)
    yield
    if registry._REGISTRY.entries() != algorithms:
        registry._REGISTRY.clear()
        registry._REGISTRY.update(algorithms)
    if catalogue != machines._CATALOGUE:
        machines._CATALOGUE.clear()
        machines._CATALOGUE.update(catalogue)


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    missing = None
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed"
    if CHROMIUM is None:
        missing = "no Chromium on the path; set CHROMIUM=/path/to/it"
    if missing:
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()
