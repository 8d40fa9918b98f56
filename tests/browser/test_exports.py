"""Files of a run, made by a click and saved by the browser: each is opened by something that knows its format."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile

import pytest
import yaml
from PIL import Image

import collsim as cs
from collsim.app import files
from collsim.app.texts import TEXTS, say
from collsim.exchange import formats, load

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


def picture(path):
    with Image.open(path) as found:
        assert min(found.size) > 300
        assert len(found.convert("RGB").getcolors(1 << 24)) > 10  # not one blank colour


def film(path):
    with Image.open(path) as found:
        assert found.n_frames > 10
        found.seek(found.n_frames // 2)
        assert len(found.convert("RGB").getcolors(1 << 24)) > 10


def trace(path):
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) >= TRANSFERS


def timeline(path):
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == "collsim.timeline/1"


def page_of_player(path):
    assert len(path.read_bytes()) < 2**20


def ranks_in(path):
    with zipfile.ZipFile(path) as packed:
        assert len(packed.namelist()) == 4
        assert packed.testzip() is None


def schedule(path):
    made = load(path)
    cs.verify(made)
    assert len(made) == TRANSFERS


def xml(path):
    assert len(list(ET.parse(path).getroot())) > 0


def text(*words):
    def check(path):
        said = path.read_text(encoding="utf-8")
        assert [word for word in words if word not in said] == []

    return check


def results_json(path):
    assert json.loads(path.read_text(encoding="utf-8"))["results"]


def machine(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))


#: What each format is opened with; a film has a test of its own.
OPEN = {
    "astra-sim": machine,
    "chakra": ranks_in,
    "chrome-trace": trace,
    "csv": schedule,
    "dot": text("digraph", "}"),
    "gif": film,
    "goal": text("num_ranks 4"),
    "html": page_of_player,
    "json": schedule,
    "latex": text("\\begin{tabular}", "\\end{tabular}"),
    "markdown": text("|---|"),
    "msccl": schedule,
    "nccl-tests": text("busbw"),
    "nccl-tests-json": results_json,
    "png": picture,
    "simgrid": xml,
    "svg": xml,
    "timeline": timeline,
    "topology-yaml": machine,
}


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


def test_every_other_file_that_the_app_makes_can_be_opened(page, app_url, tmp_path, chromium):
    opened(page, app_url)
    seen = {}
    for entry in files.offers():
        if entry.name != "mp4":
            seen[entry.name] = saved(page, tmp_path / entry.name, label_of(entry))
    assert set(seen) == set(OPEN), "a format that this test does not know"
    for name, path in seen.items():
        OPEN[name](path)
    tab = chromium.new_context(offline=True, locale="en-US").new_page()
    tab.goto(seen["html"].as_uri())
    tab.locator(f'.cs[data-transfers="{TRANSFERS}"]').wait_for(timeout=SLOW)
    tab.get_by_role("button", name="Play").click()
    tab.wait_for_function("() => Number(document.querySelector('.cs').dataset.t) > 0", timeout=SLOW)
    tab.context.close()
    assert page.errors == []
