"""Go three newcomers' ways with the README alone, and say how long each part takes: `python .ci/stopwatch.py`.

A teacher shows a ring, a learner runs an algorithm of ten lines, an engineer predicts and simulates. Each begins with a
copy of the last commit and nothing else, types what the README says, and stops at the first answer. Seconds are those
of this computer and its connection to a package index. Words are those of the README up to the last command that is
used; people read 238 words a minute (Brysbaert, "How many words do we read per minute?", J. Memory and Language 109,
2019).

Needs Chromium and Playwright for the teacher.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from release import FENCE, ROOT, export_commit, make_environment, start_app

WORDS_A_MINUTE = 238
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: What the README prints for somebody who has the repository and no make.
INSTALL = "python3 -m venv .venv && .venv/bin/pip install -e '.[app]'"
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


def count_words_until(text: str) -> int:
    """Words of the README until a text that it has, that text included."""
    position = README.index(text) + len(text)
    return len(re.findall(r"\w[\w'-]*", README[:position]))


def find_python_block() -> str:
    """The first block of Python: the algorithm of ten lines."""
    return next(text for kind, text in FENCE.findall(README) if kind == "python")


def run_shell(command: str, folder: Path) -> str:
    """Type a command, and return what it prints; a command that fails ends all."""
    done = subprocess.run(command, shell=True, cwd=folder, env=make_environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def press_play(address: str) -> None:
    """Open the first page, press Play, and wait until the clock of the picture runs."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(address)
        page.get_by_role("button", name=re.compile("^Play")).first.click(timeout=120_000)
        clock = page.locator("[data-t]").first
        while float(clock.get_attribute("data-t") or 0) == 0:
            time.sleep(0.05)
        browser.close()


def teach(folder: Path) -> list[tuple[str, float]]:
    """The teacher: install, open the app, press Play."""
    parts = [time_part("install", lambda: run_shell(INSTALL, folder))]
    began = time.monotonic()
    with start_app(folder / ".venv" / "bin", folder) as address:
        parts.append(("the app answers", time.monotonic() - began))
        parts.append(time_part("the picture moves", lambda: press_play(address)))
    return parts


def learn(folder: Path) -> list[tuple[str, float]]:
    """The learner: install, type the algorithm, run it."""
    (folder / "mine.py").write_text(find_python_block(), encoding="utf-8")

    def run() -> None:
        assert "+3←3" in run_shell(".venv/bin/python mine.py", folder)

    return [time_part("install", lambda: run_shell(INSTALL, folder)), time_part("the table is printed", run)]


def engineer(folder: Path) -> list[tuple[str, float]]:
    """The engineer: install, and every command of the README's block."""
    lines = [line for kind, text in FENCE.findall(README) if not kind for line in text.splitlines()]
    commands = [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith("collsim ")]
    predict = next(command for command in commands if " predict " in command)

    def run_all() -> None:
        for command in commands:
            run_shell(f".venv/bin/{command}", folder)

    return [
        time_part("install", lambda: run_shell(INSTALL, folder)),
        time_part("NCCL's time is predicted", lambda: run_shell(f".venv/bin/{predict}", folder)),
        time_part(f"all {len(commands)} commands", run_all),
    ]


def time_part(name: str, action: Callable[[], object]) -> tuple[str, float]:
    """Do something, and return its name and how long it took (s)."""
    began = time.monotonic()
    action()
    return name, time.monotonic() - began


#: Each newcomer, the way, and the last text of the README that it needs.
PATHS = {
    "teacher": (teach, "Run `make app` and press play."),
    "learner": (learn, find_python_block().strip()),
    "engineer": (engineer, "collsim predict"),
}


def main() -> None:
    """Go all ways and print a row for each part."""
    for name, (walk, last) in PATHS.items():
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "collsim"
            export_commit(folder)
            words = count_words_until(last)
            print(f"{name}: reads {words} words ({words / WORDS_A_MINUTE:.1f} min)")
            for part, seconds in walk(folder):
                print(f"{name}: {part} {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
