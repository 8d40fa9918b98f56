"""Pipelines as still pictures: every pass is a box of its length, and who cannot see it reads the same."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from collsim.lessons.chapters import SECTIONS
from collsim.train import pipeline, time_schedules
from collsim.train.pipelines.pass_orders import SCHEDULES
from collsim.viz.splits.pipeline_document import build_pipeline_runner
from collsim.viz.splits.pipeline_picture import build_pipeline_picture

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(made, k=0, **dress):
    """The SVG element."""
    return ET.fromstring(made.svg(k, **dress))


def describe_picture(made, k=0):
    """What stands for the picture where it is not seen."""
    wide, narrow, _ = ET.fromstring(re.sub("(<img[^>]*)>", r"\1/>", made.html(k)))
    assert wide.get("alt") == narrow.get("alt")
    assert wide.get("src").startswith("data:image/svg+xml;base64,")
    return wide.get("alt")


def test_a_formula_is_shown_with_the_numbers_of_its_run():
    timings = time_schedules(4, 8, 1.0, 2.0, schedules=tuple(SCHEDULES))
    written = {name: timing.formulas.numbers for name, (_, timing) in timings.items() if timing.formulas}
    assert written["gpipe"] == {"time": "11 × 3", "idle": "3 × 3", "activations": ""}
    assert written["1f1b"]["activations"] == "min(8, 4)"
    assert written["interleaved"]["activations"] == "min(16, 11) ÷ 2"
    assert written["interleaved"]["time"] == "8 × 3 + 4.5"
    assert written["dualpipe-v"]["activations"] == "4 + ½"


def test_the_numbers_of_every_formula_are_its_value():
    """What stands behind the equals sign comes to what stands beside it."""
    for name, (pipe, timing) in time_schedules(4, 8, 1.0, 2.0, schedules=tuple(SCHEDULES)).items():
        for row in build_pipeline_runner(pipe, timing)["figures"]:
            python = row["numbers"].replace("×", "*").replace("÷", "/").replace("½", "0.5")
            assert not python or eval(python) == pytest.approx(row["value"]), name


def test_every_pass_is_a_box_as_long_as_it_takes():
    made = build_pipeline_picture(pipeline(4, schedule="gpipe"), 8)
    assert made.runner["time"] == (8 + 4 - 1) * (1 + 2)  # (m + p - 1)(f + b)
    boxes = [rect for rect in drawn(made) if rect.tag == f"{SVG}rect" and rect.get("stroke-width") == "1"]
    idle = [float(rect.get("width")) for rect in boxes if rect.get("fill").startswith("url(")]
    passes = [float(rect.get("width")) for rect in boxes if not rect.get("fill").startswith("url(")]
    assert len(passes) == 2 * 4 * 8
    assert sum(idle) / (sum(idle) + sum(passes)) == pytest.approx(3 / 11, rel=0.01)  # (p - 1) / (m + p - 1)
    forward, backward = min(passes), max(passes)
    assert backward == pytest.approx(2 * forward, rel=0.01)


def test_the_text_says_what_is_drawn_in_both_languages():
    made = build_pipeline_picture(pipeline(2, schedule="1f1b"), 3)
    assert describe_picture(made) == (
        "1f1b, 2 GPUs, 3 microbatches: 12 forward passes long, 25 % bubble. GPU 0: F0 F1 B0 F2 B1 B2, idle for 3. "
        "GPU 1: F0 B0 F1 B1 F2 B2, idle for 3"
    )
    assert describe_picture(made, 1).startswith("1f1b，2 个 GPU，3 个微批：共 12 个前向的时间，气泡 25 %。GPU 0：F0 F1")


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("k", [0, 1])
def test_a_number_is_no_wider_than_its_box_and_nothing_leaves_the_picture(k, narrow):
    for schedule, ranks, microbatches in (("1f1b", 16, 32), ("interleaved", 4, 8), ("zero-bubble", 4, 8)):
        svg = drawn(build_pipeline_picture(pipeline(ranks, schedule=schedule), microbatches), k, narrow=narrow)
        wide, tall = map(float, svg.get("viewBox").split()[2:])
        before = None
        for part in svg:
            if part.tag == f"{SVG}text" and part.get("text-anchor") == "middle":
                assert float(before.get("width")) >= 8 * len(part.text), part.text
            if part.tag == f"{SVG}text":
                long = len(part.text) * (13 if k else 8) * float(part.get("font-size")) / 15
                assert part.get("text-anchor") or float(part.get("x")) + 0.9 * long <= wide, part.text
                assert float(part.get("y")) <= tall
            if part.tag == f"{SVG}rect" and part.get("x"):
                assert float(part.get("x")) + float(part.get("width")) <= wide
            before = part


def test_pictures_of_one_clock_have_one_scale_and_each_its_end():
    def forward(made):
        return min(float(part.get("width")) for part in drawn(made) if part.get("stroke-width") == "1")

    slow, quick = pipeline(4, schedule="gpipe"), pipeline(4, schedule="zero-bubble")
    long = build_pipeline_picture(slow, 8)
    short = build_pipeline_picture(quick, 8, until=long.runner["time"])
    assert forward(short) == pytest.approx(forward(long) / 2, rel=0.02)  # two thin stages of a GPU
    ends = [float(part.get("x")) for part in drawn(short) if part.get("width") == "2"]
    assert ends == [pytest.approx(64 + (1000 - 64 - 8) * short.runner["time"] / long.runner["time"], abs=0.1)]
    told = SECTIONS["orders"][1].fill_texts()
    assert {made.until for made in told.lanes_after} == {told.lanes[0].runner["time"]}


def test_a_dark_page_has_dark_pictures():
    made = build_pipeline_picture(pipeline(2, schedule="gpipe"), 2)
    cards = [next(part for part in drawn(made, dark=dark) if part.get("rx")).get("fill") for dark in (False, True)]
    assert cards == ["#FFFFFF", "#161D21"]


@pytest.mark.parametrize("key", ["bubbles", "orders", "placement"])
def test_lessons_on_pipelines_show_them(key):
    told = SECTIONS[key][1].fill_texts()
    assert told.lanes
    if key == "orders":  # what is asked for is not shown before it is answered
        assert [made.schedule for made in told.lanes] == ["gpipe"]
        assert [made.schedule for made in told.lanes_after] == ["1f1b", "interleaved", "zero-bubble"]
