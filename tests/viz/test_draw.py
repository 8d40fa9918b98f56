"""topology.draw: a picture of any network, in Axes of its own or in those that are given."""

import subprocess
import sys

import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import collsim as cs
from collsim.errors import CollsimError
from collsim.viz.pictures.draw import KINDS

NETWORKS = [
    cs.machine("dgx-a100", nodes=2),
    cs.machine("dgx-1v"),
    cs.machine("pcie-8gpu"),
    cs.machine("dgx-h100", nodes=4),
    cs.machine("dgx-h100", nodes=12, fabric="fat-tree"),
    cs.topology.switch(8),
    cs.topology.switch(4).with_helpers(1),
    cs.topology.torus(4, 4),
    cs.topology.ring(1),
    cs.machine("dgx-a100").scaled(kind="nvlink", by=2),
]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def cores(ax):
    """(colour, width) of every link; each has a light rim below it."""
    links = next(c for c in ax.collections if isinstance(c, LineCollection))
    colours, widths = links.get_colors()[1::2], links.get_linewidths()[1::2]
    return [(to_hex(c).upper(), float(w)) for c, w in zip(colours, widths, strict=True)]


@pytest.mark.parametrize("topology", NETWORKS, ids=lambda t: t.name)
def test_every_network_can_be_drawn(topology):
    ax = topology.draw()
    assert isinstance(ax, Axes)
    ax.figure.canvas.draw()
    assert topology.name in texts(ax)
    assert topology.ranks > 64 or {str(r) for r in range(topology.ranks)} <= set(texts(ax))


def test_axes_of_the_caller_are_used_and_left_in_their_place():
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    assert cs.machine("dgx-a100").draw(right) is right
    assert cs.topology.switch(4).draw(ax=left) is left
    assert figure.axes == [left, right]
    figure.canvas.draw()


def test_narrow_axes_have_thinner_links():
    wide, narrow = (Figure(figsize=(size, size)).subplots() for size in (8, 4))
    topology = cs.machine("dgx-a100", nodes=2)
    for ax in (wide, narrow):
        topology.draw(ax)
    assert sum(w for _, w in cores(narrow)) == pytest.approx(sum(w for _, w in cores(wide)) / 2)


def test_kinds_differ_in_colour_and_bandwidth_in_width():
    drawn = cores(cs.machine("dgx-a100", nodes=2).draw())
    width = {kind: max(w for c, w in drawn if c == KINDS[kind].upper()) for kind in ("nvlink", "pcie", "infiniband")}
    assert width["nvlink"] > width["pcie"] > width["infiniband"]
    assert width["nvlink"] / width["infiniband"] == pytest.approx(
        (300 / 25) ** 0.5
    )  # area of a pipe: square root of the rate


def test_two_directions_of_every_cable_are_drawn():
    topology = cs.machine("dgx-a100", nodes=2)
    assert len(cores(topology.draw())) == len(topology.links)


def test_the_key_says_what_each_kind_carries():
    said = texts(cs.machine("dgx-a100", nodes=2).draw())
    assert any("NVLink 3 ×12" in text and "300" in text for text in said)
    assert any("IB HDR" in text and "25" in text for text in said)
    assert texts(cs.topology.switch(4, bandwidth="25GB/s").draw())[-1] == "25 GB/s each way"


def test_beyond_a_few_nodes_a_box_stands_for_each():
    ax = cs.machine("dgx-h100", nodes=12).draw()
    assert "88–95" in texts(ax)
    assert sum(isinstance(p, FancyBboxPatch) for p in ax.patches) == 12 + 1  # and the switch
    assert any(text.startswith("8 × IB NDR") for text in texts(ax))


def test_chinese_words():
    cards = cs.machine("dgx-a100", nodes=2).draw(language="zh")
    from collsim.viz.pictures.machine_picture import CHINESE, find_fonts

    if any(name in CHINESE for name in find_fonts("zh")):
        assert any("节点" in text for text in texts(cards))


def test_a_font_that_was_installed_after_matplotlib_wrote_its_list_is_found(monkeypatch):
    from matplotlib import font_manager

    from collsim.viz.pictures import machine_picture

    late = next(f for f in font_manager.fontManager.ttflist if f.name == "DejaVu Serif")
    before = [f for f in font_manager.fontManager.ttflist if f.name != late.name]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", before)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [late.fname, __file__])
    monkeypatch.setattr(machine_picture, "CHINESE", (late.name,))
    machine_picture._register_new_fonts.cache_clear()
    assert late.name not in machine_picture.find_fonts("en")
    assert late.name in machine_picture.find_fonts("zh")
    machine_picture._register_new_fonts.cache_clear()


def test_another_language_is_refused():
    with pytest.raises(CollsimError, match="language"):
        cs.topology.switch(4).draw(language="fr")


def test_too_many_boxes_are_refused_with_a_sentence():
    with pytest.raises(CollsimError, match="boxes to draw"):
        cs.machine("dgx-h100", nodes=8192, fabric="fat-tree").draw()


def test_a_notebook_shows_the_axes():
    assert cs.topology.switch(4).draw()._repr_png_().startswith(b"\x89PNG")


def test_pyplot_is_not_loaded():
    code = "import sys, collsim as cs; cs.topology.switch(4).draw(); sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
