"""What docs/howto/slow-job.md says of the log in examples/ is what its program prints."""

from pathlib import Path

import pytest

import collsim as cs

ROOT = Path(__file__).parents[2]
LOG = ROOT / "examples" / "all_reduce_perf.txt"


@pytest.fixture(scope="module")
def log():
    return cs.load(LOG)


def read_page(name):
    return " ".join((ROOT / "docs" / "howto" / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", ["slow-job.md", "slow-job.zh.md"])
def test_the_page_names_the_line_of_the_broken_links(name):
    """The log was written for NVLinks at 80 % of their rate."""
    words, factor = "bandwidth inside a node", cs.analysis.calibrate(LOG, cs.machine("dgx-a100"))
    line = next(line.split() for line in str(factor).splitlines() if words in line)
    assert f"`{words} x {line[-1]}`" in read_page(name)
    assert float(line[-1]) == pytest.approx(0.8, abs=0.02)


def test_the_page_names_the_hypotheses_in_their_order(log):
    gap = cs.nccl.explain_gap(cs.nccl.create_run("allreduce", cs.machine("dgx-a100"), log["nbytes"], log["time"]))
    assert (gap.verdict, gap.best.key, [c.key for c in gap.alternatives]) == ("explained", "nvlink_lost", ["tree"])
    page = read_page("slow-job.md")
    first, second = (page.index(f'"{c.description}"') for c in (gap.best, *gap.alternatives))
    assert first < second


def test_the_order_is_not_that_of_the_fit(log):
    """Trees fit a little better; they need a variable that somebody set."""
    gap = cs.nccl.explain_gap(cs.nccl.create_run("allreduce", cs.machine("dgx-a100"), log["nbytes"], log["time"]))
    assert gap.candidates[0].key == "tree"
