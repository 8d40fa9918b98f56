"""What docs/training.md says of how far off steps are stands there as `accuracy.steps` prints it, in both languages."""

import csv
import os
import re
from pathlib import Path

import pytest
from accuracy import steps

from collsim.errors import CollsimError
from collsim.train import get_gpu_speed, training_step
from collsim.train.measured_steps import parse_row

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = Path(os.environ.get("COLLSIM_TRAINING", Path(__file__).parents[3] / "shared/data/training/measured.csv"))
ENGLISH, CHINESE = "training.md", "training.zh.md"
LINE = re.compile(
    r"^\| ([^|]+) \| (\d+) \| ([\d.]+)% \| ([\d.]+)% \| ([+−]\d+)% \| (\d+) \|(?: [^|]+ \|)?$", re.MULTILINE
)
NUMBER = re.compile(r"[+−]?\d+(?:,\d{3})*(?:\.\d+)?")


def rows(page):
    return LINE.findall((DOCS / page).read_text("utf-8"))


def tables(page):
    """All tables of a page, each its lines behind the head, of their cells."""
    found = re.findall(r"^\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()] for table in found]


def table_of(page, begins):
    """The table whose first line begins so."""
    (found,) = (table for table in tables(page) if table[0][0].startswith(begins))
    return found


def test_the_table_has_all_sources_the_farthest_off_first():
    found = rows(ENGLISH)
    assert {row[0] for row in found} == {name for name, _, _ in steps.SOURCES}
    assert [float(row[2]) for row in found] == sorted((float(row[2]) for row in found), reverse=True)
    assert all(int(fast) <= int(count) for _, count, _, _, _, fast in found)


def test_a_line_is_written_as_the_table_reads_it():
    (line,) = LINE.findall(steps.table({"somebody": [0.1, -0.2, -0.4]}))
    assert line == ("somebody", "3", "20.0", "23.3", "−40", "2")


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_rows_are_counted_and_two_sources_predicted_as_the_measurements_give():
    """All sources are counted; two are predicted again, as the large ones take minutes."""
    groups = steps.chosen([*steps.read(MEASURED), *steps.read(steps.TYPED)])
    for name, count, *said in rows(ENGLISH):
        assert sum(map(is_call, groups[name])) >= int(count)
        if name in ("fms-fsdp", "PyTorch's DDP benchmark"):
            errors = [error for error in map(steps.error, groups[name]) if error is not None]
            (again,) = LINE.findall(steps.table({name: errors}))
            assert list(again) == [name, count, *said]


def test_rows_of_llama_3_are_those_of_the_paper():
    """GPUs are TP x CP x PP x DP, and every step has 16 Mi tokens (arXiv 2407.21783, table 4)."""
    for row in steps.read(steps.TYPED):
        call = parse_row(row).call
        assert int(row["tp"]) * int(row["pp"]) * int(row["dp"]) * int(row["mode"].split("=")[1]) == int(row["gpus"])
        assert call["batch"] * call["model"].tokens == 2**24
        assert len(call["ranks"]) == call["machine"].ranks == int(row["gpus"])


@pytest.mark.slow
def test_llama_3_is_as_far_off_as_the_page_says_and_inside_the_intervals():
    errors = [steps.error(row) for row in steps.read(steps.TYPED)]
    (again,) = LINE.findall(steps.table({"Llama 3, table 4": errors}))
    assert again in rows(ENGLISH)
    for row in steps.read(steps.TYPED):
        interval = training_step(**parse_row(row).call).interval
        assert interval.low < parse_row(row).seconds < interval.high


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_mixtures_of_megatron_bridge_are_as_far_off_as_the_page_says():
    """Two of seven models; of equal calls one is predicted."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = steps.chosen(csv.DictReader(file))["Megatron-Bridge"]
    told = {name: f"{name} ({count}) {off.replace('%', ' %')}" for name, count, off in table_of(ENGLISH, "llama3-405b")}
    for said, name in (("GPT OSS 120B", "gpt-oss-120b"), ("Qwen3_30B", "qwen3-30b-a3b")):
        pairs = [(row, steps.error(row)) for row in rows if row["model"].startswith(said)]
        assert steps.by_model(pairs) == told[name]


def splits():
    """Groups, those in which the choice is right, and near: of all, and with the microbatch given."""
    return [
        [re.match(r"\d+", cell).group() for cell in line[1:4]] for line in table_of(ENGLISH, "model, batch and GPUs")
    ]


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
@pytest.mark.slow
def test_the_best_split_is_found_as_often_as_the_page_says():
    """All groups are counted; some are chosen from again: of every 6th within 4 % in 19 of 19 (18 where no time is
    lost at collectives), and of every 14th with the microbatch given in 14 of 14."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = ((), 6, 19), (("micro_batch",), 14, 14)
    for (more, every, expected), said in zip(told, splits(), strict=True):
        groups = steps.jobs(rows, *more)
        assert len(groups) == int(said[0])
        assert sum(steps.choice(group) <= steps.NEAR for group in groups[::every]) == expected
        if not more:
            assert sum(steps.choice(group, wait=0.0) <= steps.NEAR for group in groups[::every]) == expected - 1


def test_the_page_says_what_other_waits_at_collectives_would_give():
    """The one that is taken gives what is said of the choice."""
    text = (DOCS / ENGLISH).read_text("utf-8")
    waits = NUMBER.findall(re.search(r"^\| µs lost(.*)$", text, re.MULTILINE).group(1))
    near, off = table_of(ENGLISH, "groups within 4 %")
    assert [float(wait) * 1e-6 for wait in waits] == pytest.approx(steps.WAITS)
    taken = [
        cell for cell in re.search(r"^\| µs lost \|(.*)\|$", text, re.MULTILINE).group(1).split("|") if "taken" in cell
    ]
    assert [float(NUMBER.search(cell).group()) * 1e-6 for cell in taken] == pytest.approx(
        [get_gpu_speed("A100").wait_time]
    )
    at = waits.index(NUMBER.search(taken[0]).group()) + 1
    assert near[at] == splits()[0][2]
    assert f"On all 660 rows of one node our mean is {off[at].replace('%', ' %')}" in text


FOLLOW = re.compile(r"(\d+) of (\d+) follow from the others, (\d+) to twelve digits")
SAMPLES = 1, 2, 4


def blocks():
    """Of a hidden size of 2,048: ms of a layer of a microbatch, and how far off, by TP and samples."""
    found = table_of(ENGLISH, "one sample")
    cells = [[re.fullmatch(r"([\d.]+) \(([+−]\d+) %\)", cell).groups() for cell in line[1:]] for line in found]
    return {
        (tp, n): cell
        for n, line in zip(SAMPLES, cells, strict=True)
        for tp, cell in zip((1, 2, 4, 8), line, strict=True)
    }


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
def test_as_many_rows_on_one_node_follow_from_others_as_the_page_says():
    with MEASURED.open(encoding="utf-8", newline="") as file:
        found = steps.cells(csv.DictReader(file))
    follow, exact = (sum(c.more for c in found.values() if c.worst < most) for most in (4e-4, 1e-12))
    text = (DOCS / ENGLISH).read_text("utf-8")
    said = tuple(map(int, FOLLOW.search(text).groups()))
    assert (follow, sum(c.rows for c in found.values()), exact) == said
    for samples in SAMPLES:
        assert f"{found[2048, samples, 4, 1, 1].block * 1e3:.2f}" == blocks()[4, samples][0]


@pytest.mark.skipif(not MEASURED.is_file(), reason="the measured steps are not here")
@pytest.mark.slow
def test_blocks_on_one_node_are_as_far_off_as_the_page_says():
    """Of a hidden size of 2,048, by TP and samples of a microbatch."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["hidden"] == "2048" and row["nodes"] == "1"]
    found = steps.blocks(rows)
    for (tp, samples), said in blocks().items():
        measured, ours = found[2048, samples, tp]
        assert (f"{measured * 1e3:.2f}", f"{ours / measured - 1:+.0%}".replace("-", "−").rstrip("%")) == said


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


def test_both_languages_say_as_many_rows_follow():
    one, other = ((DOCS / page).read_text("utf-8") for page in (ENGLISH, CHINESE))
    follow, whole, exact = FOLLOW.search(one).groups()
    assert re.search(rf"{whole} 行[^。]*{follow} 行可以?由其余各行推出[^。]*{exact} 行", other)


def is_call(row):
    try:
        return parse_row(row) is not None
    except CollsimError:
        return False
