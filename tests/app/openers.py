"""Something that knows each format of a run's files: it opens one, and fails where there is nothing in it."""

import json
import xml.etree.ElementTree as ET
import zipfile

import yaml
from PIL import Image

import collsim as cs
from collsim.io import load

TRANSFERS = 24  # of the ring of four ranks that is written


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


def check_content(path):
    """For a format without an opener of its own: something is in it, and collsim reads back what it can read."""
    assert path.stat().st_size > 0
    if any(path.name.endswith(entry.suffixes) for entry in cs.io.formats().values() if entry.read):
        load(path)


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
