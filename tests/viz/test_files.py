"""Files open, are small enough, are written whole or not at all; plots draw without pyplot."""

import json
import re
import subprocess
import sys

import pytest
from matplotlib.figure import Figure
from PIL import Image
from sampling import keep_fast

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology import machine
from collsim.viz import animate
from collsim.viz.pictures import film, plots
from collsim.viz.pictures.film import Film
from collsim.viz.timeline.timeline_document import build_timeline, decode

_MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def trace():
    topology = machine("dgx-a100", nodes=2)
    return cs.simulate(cs.schedule("allreduce_ring", topology=topology, channels=1), topology, "256MiB")


@pytest.mark.parametrize("suffix", keep_fast(["html", "json", "gif", "png", "svg"], ["html", "json", "png", "svg"]))
def test_files_of_16_ranks_are_under_a_megabyte_and_open(trace, tmp_path, suffix):
    path = trace.save(tmp_path / f"run.{suffix}")
    assert path.stat().st_size < _MEGABYTE
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "no left-overs"
    if suffix == "json":
        assert decode(path.read_text(encoding="utf-8"))["meta"]["ranks"] == 16
    elif suffix == "html":
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>")
        assert "http://" not in text.replace("http://www.w3.org", "")
    elif suffix == "svg":
        assert "InfiniBand" in path.read_text(encoding="utf-8"), "text stays text"
    else:
        with Image.open(path) as picture:
            assert min(picture.size) > 300
            assert suffix == "png" or picture.n_frames >= 50


def test_pictures_in_chinese(trace, tmp_path):
    for suffix, options in (("png", {}), ("gif", {"frames": 6}), ("html", {})):
        assert trace.save(tmp_path / f"run.{suffix}", language="zh", **options).stat().st_size < _MEGABYTE


@pytest.mark.parametrize(
    ("path", "options", "sentence"),
    [
        ("run.bmp", {}, "no format writes a trace to 'run.bmp'; its suffixes: .gif, .html, .json"),
        ("run", {}, "no format writes a trace to 'run'"),
        ("nowhere/run.html", {}, "no folder"),
        ("run.html", {"language": "fr"}, "unknown language 'fr'"),
        ("run.html", {"theme": "pink"}, "theme"),
        ("run.png", {"size": 3}, "has no option 'size'; it has language, dpi"),
        ("run.gif", {"frames": 1}, "frames=1"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing_behind(trace, tmp_path, path, options, sentence):
    with pytest.raises(CollsimError, match=sentence):
        trace.save(tmp_path / path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_does_not_harm_the_old_one(tmp_path):
    old = tmp_path / "run.json"
    old.write_text("old")
    topology = cs.topology.ring(512)
    with pytest.raises(CollsimError, match="at most"):
        cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1GiB").save(old)
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_mp4_needs_ffmpeg_and_says_so(trace, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(CollsimError, match="ffmpeg"):
        trace.save(tmp_path / "run.mp4")


def test_an_mp4_is_h264_with_every_frame(trace, tmp_path):
    """Six frames at 30 a second are 0.2 s; ffmpeg itself says what it finds in the file."""
    try:
        ffmpeg = film._find_ffmpeg()
    except CollsimError as error:
        pytest.skip(str(error))
    path = trace.save(tmp_path / "run.mp4", frames=6)
    told = subprocess.run(
        [ffmpeg, "-i", str(path), "-f", "null", "-"], capture_output=True, text=True, check=True
    ).stderr
    assert re.search(r"Video: h264 .*yuv420p", told), told
    assert re.findall(r"frame=\s*(\d+)", told)[-1] == "6"
    assert "Duration: 00:00:00.20" in told
    with pytest.raises(CollsimError, match="ffmpeg could not write the film"):
        film.write_mp4(trace, tmp_path / "nowhere" / "run.mp4", frames=2)


def test_a_notebook_shows_the_player_in_a_frame(trace):
    html = animate(trace, language="zh", height=700)._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert 'height="700"' in html
    assert "<iframe srcdoc=" in trace._repr_html_()
    with pytest.raises(CollsimError, match="language"):
        animate(trace, language="de")
    with pytest.raises(CollsimError):
        animate(trace, colour="pink")._repr_html_()


def test_a_chunk_is_where_its_bytes_are():
    """Over a switch both hops cost the same: half-way in time is at the switch."""
    topology = cs.topology.switch(4)
    made = build_timeline(cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB"))
    film = Film.from_timeline(made, "en")
    middle = made["transfers"]["t1"][0] / 2
    x, y = film._locate_transfer(0, middle * 0.999)
    end = made["links"]["path"][made["routes"]["link"][0]][-2:]
    assert (x, y) == pytest.approx(end, abs=0.5)


def test_runs_without_steps_have_pictures_too(tmp_path):
    one = cs.simulate(cs.schedule("allreduce_ring", ranks=1), cs.topology.switch(1), "1MiB")
    for suffix in ("html", "json", "gif", "png"):
        assert one.save(tmp_path / f"one.{suffix}").exists()


@pytest.mark.parametrize("draw", [plots.link_utilisation, plots.volume_over_time, plots.gantt])
def test_plots_of_a_run(trace, draw):
    ax = draw(trace)
    assert isinstance(ax.figure, Figure)
    assert ax.get_xlabel()
    assert ax.get_title(loc="left")
    assert ax._repr_png_().startswith(b"\x89PNG"), "a notebook shows it"
    own = Figure().add_subplot()
    assert draw(trace, ax=own) is own


def test_volume_ends_at_the_bytes_of_the_link(trace):
    ax = plots.volume_over_time(trace)
    assert ax.lines[0].get_ydata()[-1] * 2**20 == pytest.approx(trace.link_bytes.max(), rel=1e-9)


def test_plots_of_a_sweep():
    frame = cs.sweep(
        algorithm=["allreduce_ring", "allreduce_tree"], topology=[cs.topology.switch(4)], nbytes=[1024, 2**20]
    )
    for draw in (plots.time_over_size, plots.busbw_over_size):
        assert [line.get_label() for line in draw(frame).lines] == ["allreduce_ring", "allreduce_tree"]
    with pytest.raises(CollsimError, match="busbw"):
        plots.busbw_over_size(frame.drop(columns="busbw"))


def test_drawing_libraries_are_not_loaded_before_they_are_needed():
    code = (
        "import sys, collsim as cs; t = cs.simulate(cs.schedule('allreduce_ring', ranks=4), cs.topology.switch(4), "
        "'1MiB'); t._repr_html_(); print(sorted({m.split('.')[0] for m in sys.modules} & {'matplotlib', 'PIL'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_saved_timeline_is_the_same_every_time(trace, tmp_path):
    a, b = (trace.save(tmp_path / name).read_bytes() for name in ("a.json", "b.json"))
    assert a == b
    assert json.loads(a)["schema"] == "collsim.timeline/1"
