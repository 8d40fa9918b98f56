"""Files of a run, made by a click and saved by the browser."""

import json
import shutil
import subprocess

import pytest
from catalogs import pair_texts
from PIL import Image

from collsim.app.texts import say
from collsim.io import formats, load

TEXTS = pair_texts()

pytestmark = pytest.mark.browser

SLOW = 180_000
RUN = "/?collective=allreduce&algorithm=allreduce_ring&network=switch&ranks=4&bandwidth=25GB/s&alpha=1us&nbytes=1MiB"
TRANSFERS = 24


def opened(page, url):
    page.goto(url + RUN)
    page.locator(f'.cs[data-transfers="{TRANSFERS}"]').wait_for(timeout=SLOW)
    page.get_by_role("tab", name="Files").click()


def saved(page, folder, label):
    """Choose a format by what its entry in the menu begins with, make the file, save it."""
    page.get_by_role("combobox", name="Take this run along as").click(timeout=SLOW)
    page.get_by_role("option", name=label, exact=True).click(timeout=SLOW)
    take = page.get_by_role("button", name="Download collsim")
    take.wait_for(state="detached", timeout=SLOW)  # the file before this one
    page.get_by_role("button", name="Make the file").click(timeout=SLOW)
    take.wait_for(timeout=SLOW)
    with page.expect_download(timeout=SLOW) as waiting:
        take.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def label_of(entry):
    about = say("en", f"format.{entry.name}") if f"format.{entry.name}" in TEXTS else entry.about
    return f"{say('en', f'files.{entry.holds}')}: {about} ({entry.suffixes[0]})"


@pytest.mark.slow
def test_a_film_is_made_in_the_app_and_is_one(page, app_url, tmp_path):
    if not shutil.which("ffprobe"):
        pytest.skip("ffmpeg and ffprobe are not installed here: no MP4 can be made or looked at")
    opened(page, app_url)
    path = saved(page, tmp_path, label_of(formats()["mp4"]))
    asked = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", str(path)]
    (stream,) = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)["streams"]
    assert stream["codec_name"] == "h264"
    assert int(stream["nb_read_frames"]) > 30
    frames = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-vf", "fps=1", tmp_path / "%03d.png"], check=True)
    assert frames.returncode == 0
    pictures = [Image.open(p).convert("RGB") for p in sorted(tmp_path.glob("*.png"))]
    assert len(pictures) >= 2
    assert len({picture.tobytes() for picture in pictures}) == len(pictures), "the film moves"
    assert page.errors == []


def test_files_are_saved_and_the_page_among_them_plays_without_a_network(page, app_url, tmp_path, chromium):
    """What is in each format is opened in tests/app/test_files.py."""
    opened(page, app_url)
    assert len(load(saved(page, tmp_path, label_of(formats()["csv"])))) == TRANSFERS
    path = saved(page, tmp_path, label_of(formats()["html"]))
    tab = chromium.new_context(offline=True, locale="en-US").new_page()
    tab.goto(path.as_uri())
    tab.locator(f'.cs[data-transfers="{TRANSFERS}"]').wait_for(timeout=SLOW)
    tab.get_by_role("button", name="Play").click()
    tab.wait_for_function("() => Number(document.querySelector('.cs').dataset.t) > 0", timeout=SLOW)
    tab.context.close()
    assert page.errors == []
