"""What docs/training.md says of how far off steps are stands there as `accuracy.steps` prints it, in both languages."""

import csv
import os
import re
from pathlib import Path

import pytest
from accuracy import steps

from collsim.errors import CollsimError
from collsim.training import speed
from collsim.training.accuracy import call_of

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = Path(os.environ.get("COLLSIM_TRAINING", Path(__file__).parents[3] / "shared/data/training/measured.csv"))
LINE = re.compile(r"^\| ([^|]+) \| (\d+) \| ([\d.]+)% \| ([\d.]+)% \| ([+−]\d+)% \| (\d+) \|$", re.MULTILINE)


def rows(page):
    return LINE.findall((DOCS / page).read_text("utf-8"))


def test_the_table_has_all_sources_the_farthest_off_first():
    found = rows("training.md")
    assert {row[0] for row in found} == {name for name, _, _ in steps.SOURCES}
    assert [float(row[2]) for row in found] == sorted((float(row[2]) for row in found), reverse=True)
    assert all(int(fast) <= int(count) for _, count, _, _, _, fast in found)


def test_both_languages_have_the_same_table():
    assert rows("training.zh.md") == rows("training.md")


def test_a_line_is_written_as_the_table_reads_it():
    (line,) = LINE.findall(steps.table({"somebody": [0.1, -0.2, -0.4]}))
    assert line == ("somebody", "3", "20.0", "23.3", "−40", "2")


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_rows_are_counted_and_two_sources_predicted_as_the_measurements_give():
    """All sources are counted; two are predicted again, as the large ones take minutes."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        groups = steps.chosen(csv.DictReader(file))
    for name, count, *said in rows("training.md"):
        assert sum(map(is_call, groups[name])) >= int(count)
        if name in ("fms-fsdp", "PyTorch's DDP benchmark"):
            errors = [error for error in map(steps.error, groups[name]) if error is not None]
            (again,) = LINE.findall(steps.table({name: errors}))
            assert list(again) == [name, count, *said]


def near(text, name):
    """Rows and median error of a model of Megatron-Bridge, as the page has them."""
    return re.search(rf"{name} \((\d+)\) ([\d.]+) %", text).groups()


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_mixtures_of_megatron_bridge_are_as_far_off_as_the_page_says():
    """Two of seven models; of equal calls one is predicted."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = steps.chosen(csv.DictReader(file))["Megatron-Bridge"]
    text = (DOCS / "training.md").read_text("utf-8")
    for said, name in (("GPT OSS 120B", "gpt-oss-120b"), ("Qwen3_30B", "qwen3-30b-a3b")):
        pairs = [(row, steps.error(row)) for row in rows if row["model"].startswith(said)]
        assert near(steps.by_model(pairs), name) == near(text, name)


SPLITS = re.compile(r"(\d+) groups: right in (\d+), within 4 % in (\d+)")


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_the_best_split_is_found_as_often_as_the_page_says():
    """All groups are counted; some are chosen from again: of every 6th within 4 % in 19 of 19 (18 where no time is
    lost at collectives), and of every 14th with the microbatch given in 14 of 14."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = SPLITS.findall((DOCS / "training.md").read_text("utf-8"))
    told = ((), 6, 19), (("micro_batch",), 14, 14)
    for (more, every, expected), said in zip(told, found, strict=True):
        groups = steps.jobs(rows, *more)
        assert len(groups) == int(said[0])
        assert sum(steps.choice(group) <= steps.NEAR for group in groups[::every]) == expected
        if not more:
            assert sum(steps.choice(group, wait=0.0) <= steps.NEAR for group in groups[::every]) == expected - 1


def test_the_page_says_what_other_waits_at_collectives_would_give():
    """The one that is taken gives what is said of the choice."""
    told = []
    for page, waits, near, mean in (
        (
            "training.md",
            r"with ([\d, ]+) \(taken\) and 160 µs",
            r"in\s([\d, ]+) and 101 groups",
            r"on one node is (.*)\.",
        ),
        ("training.zh.md", r"取 ([\d、]+)（采用）和 160 µs", r"有\s([\d、]+) 和 101 组", r"平均偏差为 (.*)。"),
    ):
        text = (DOCS / page).read_text("utf-8")
        told.append([re.findall(r"[\d.]+", re.search(what, text).group(1)) for what in (waits, near, mean)])
    assert told[0] == told[1]
    waits, near, mean = told[0]
    assert [float(wait) * 1e-6 for wait in (*waits, "160")] == pytest.approx(steps.WAITS)
    assert steps.WAITS[3] == speed("A100").wait
    text = (DOCS / "training.md").read_text("utf-8")
    assert (near[3], len(mean)) == (SPLITS.search(text).group(3), len(steps.WAITS))
    assert f"660\n  is {mean[3]} %" in text


FOLLOW = re.compile(r"(\d+) of (\d+) follow from the others, (\d+) to twelve digits")


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_as_many_rows_on_one_node_follow_from_others_as_the_page_says():
    with MEASURED.open(encoding="utf-8", newline="") as file:
        found = steps.cells(csv.DictReader(file))
    follow, exact = (sum(c.more for c in found.values() if c.worst < most) for most in (4e-4, 1e-12))
    text = (DOCS / "training.md").read_text("utf-8")
    said = tuple(map(int, FOLLOW.search(text).groups()))
    assert (follow, sum(c.rows for c in found.values()), exact) == said
    blocks = [found[2048, micro, 4, 1, 1].block * 1e3 for micro in (1, 2, 4)]
    assert "{:.2f} ms for one sample, {:.2f} for two, {:.2f} for four".format(*blocks) in text


OFF = re.compile(r"[+−]\d+ %")


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_blocks_on_one_node_are_as_far_off_as_the_page_says():
    """Of a hidden size of 2,048, by TP and samples of a microbatch."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["hidden"] == "2048" and row["nodes"] == "1"]
    one, other = ((DOCS / page).read_text("utf-8") for page in ("training.md", "training.zh.md"))
    whole, rest = (
        text[text.index(at) :] for text, at in ((one, "In this order\nof samples"), (other, "没有 TP 时预测"))
    )
    said, same = OFF.findall(whole)[:12], OFF.findall(rest)[:12]
    assert said == same
    found = steps.blocks(rows)
    for tp, figures in zip((1, 2, 4, 8), (said[at : at + 3] for at in range(0, 12, 3)), strict=True):
        off = [found[2048, samples, tp] for samples in (1, 2, 4)]
        assert [f"{ours / measured - 1:+.0%}".replace("-", "−").replace("%", " %") for measured, ours in off] == figures


def test_rows_that_are_sums_are_told_from_runs():
    """Three layers by three microbatches: four times make all nine, so five follow; a run that took 1 % longer does
    not."""
    row = {"source": "vTrain", "nodes": "1", "hidden": "8", "micro_batch": "2", "tp": "1", "pp": "1", "dp": "1"}
    times = {(n, m): 1 + 2 * n + 3 * m + 0.5 * n * m for n in (2, 4, 8) for m in (1, 2, 4)}
    listed = [{**row, "layers": str(n), "batch": str(2 * m), "value": str(s)} for (n, m), s in times.items()]
    (cell,) = steps.cells(listed).values()
    assert (cell.rows, cell.more, cell.block) == (9, 5, pytest.approx(0.5))
    assert cell.worst < 1e-12
    (other,) = steps.cells([*listed[:-1], {**listed[-1], "value": str(float(listed[-1]["value"]) * 1.01)}]).values()
    assert other.worst > 1e-4


def test_both_languages_say_the_same_of_splits_and_models():
    one, other = ((DOCS / page).read_text("utf-8") for page in ("training.md", "training.zh.md"))
    assert len(SPLITS.findall(one)) == 2
    for _, right, within in SPLITS.findall(one):
        assert re.search(rf"选对 {right} 组，.*{within} 组", other)
    assert near(other, "gpt-oss-120b") == near(one, "gpt-oss-120b")
    whole = FOLLOW.search(one).groups()
    assert re.search(rf"{whole[1]} 行中有 {whole[0]} 行可由其余各行推出，其中 {whole[2]} 行到十二位数字", other)


def is_call(row):
    try:
        return call_of(row) is not None
    except CollsimError:
        return False
