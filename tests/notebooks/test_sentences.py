"""Comparisons in the prose hold in a run: which links carry bytes, who sends how much, and what a Chinese multiple
says."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from links import trace_of
from make_numbers import MARK
from test_teaching import GUIDES, links

import collsim as cs
from collsim.lessons.chapters import SECTIONS

ROOT = Path(__file__).parents[2]
#: 快 3 倍, 增长 3 倍: read as four times by some and as three by others; 速度是 ... 的 3 倍 is read in one way.
DOUBTFUL = re.compile(r"(?:快|慢|增长|增加|提高|减少|降低)了?\s*(?:\{[^}]*\}|\d[\d.]*)\s*倍|[快慢]一半")


def carrying(trace, kind):
    """How many links of a kind carry bytes."""
    links = trace.links
    return int(((links.kind == kind) & (links.bytes > 0)).sum())


def hops_through_memory(topology):
    kind = topology.links.kind
    around = [topology.routes([r], [(r + 1) % topology.ranks])[0] for r in range(topology.ranks)]
    return sum(any(kind(link) == "memory" for link in route) for route in around)


@pytest.mark.parametrize("language", GUIDES)
def test_which_links_appear_has_an_answer_on_the_machine_that_the_guide_opens(language):
    (row,) = [line for line in GUIDES[language].read_text(encoding="utf-8").splitlines() if line.startswith("| 32–40")]
    on, off = (trace_of(url) for url in re.findall(r"\]\((http[^)]*)\)", row))
    assert carrying(on, "memory") == 0
    assert carrying(off, "memory") == 2  # into it and out of it
    assert set(off.links.link[off.links.bytes > 0]) > set(on.links.link[on.links.bytes > 0])


@pytest.mark.parametrize("language", GUIDES)
def test_that_gpus_talk_directly_is_answered_by_a_run_with_p2p_on_that_is_staged(language):
    text = GUIDES[language].read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(('| "GPUs of one', "| “同一台服务器"))]
    url = re.findall(r"\]\((http[^)]*)\)", row)[0]
    assert "p2p=off" not in url
    trace = trace_of(url)
    assert hops_through_memory(trace.topology) == 4
    assert carrying(trace, "memory") > 0
    assert url in links(language)


def fill_section(key):
    return SECTIONS[key][1].fill_texts()


def test_the_lesson_inside_the_box_shows_host_memory_only_without_p2p():
    lesson = fill_section("inside")
    assert carrying(lesson.trace, "memory") == 2
    assert "4 of the 8 hops" in lesson.after[-1][0]
    assert "8 跳中仍有 4 跳" in lesson.after[-1][1]
    direct = cs.machine("pcie-8gpu-single-root")
    assert hops_through_memory(direct) == 0
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=direct), direct, "64MiB")
    assert cs.format_time(trace.time) in lesson.before[0][0]


def test_a_lost_copy_spoils_the_ranks_that_come_after_it_on_the_way():
    lesson = fill_section("broken")
    steps = [(int(t["step"]), int(t["src"]), int(t["dst"])) for t in lesson.trace.schedule.transfers if t["chunk"] == 0]
    assert (4, 0, 1) not in steps  # chunk 0 is finished at rank 3 after steps 0 to 2, then goes 3 → 0 → 1 → 2
    assert (5, 1, 2) in steps
    out = cs.replay(lesson.trace.schedule, np.ones((4, 4), int))
    assert [r for r in range(4) if (out[r] != 4).any()] == [1, 2]
    assert lesson.question.choices[1].text[0] == "2"


def test_eight_rings_between_two_machines_are_nearly_eight_times_as_fast_as_one():
    lesson = fill_section("between")
    assert lesson.trace.schedule.channels == 1
    busy = lesson.trace.links[lesson.trace.links.kind == "infiniband"]
    assert (busy.bytes > 0).sum() == 4  # a cable there and one back, through the switch
    assert 7 < float(re.search(r"([\d.]+) times as fast", lesson.before[1][0])[1]) < 8


def test_with_twice_the_infiniband_the_network_cards_pcie_is_the_bottleneck():
    base = fill_section("what-if").trace
    faster = cs.simulate(base.schedule, base.topology.scaled(kind="infiniband", by=2), base.nbytes)
    assert faster.bottleneck.kind == "pcie"
    busy = base.links.groupby("kind").busy.max() / base.time
    assert 0.7 < busy["pcie"] < busy["infiniband"]


def test_the_six_rings_of_a_dgx_1_use_every_nvlink_both_ways():
    dgx = cs.machine("dgx-1v")
    for rings, uses_all in ((6, True), (2, False)):
        links = cs.simulate(cs.schedule("allgather_ring", topology=dgx, channels=rings), dgx, "64MiB").links
        assert (links[links.kind == "nvlink"].bytes > 0).all() == uses_all


def test_within_one_algorithm_all_ranks_end_with_the_same_bits():
    data = np.random.default_rng(0).standard_normal((8, 4096)).astype(np.float16)
    for name in ("allreduce_ring", "allreduce_tree"):
        out = cs.replay(cs.schedule(name, ranks=8), data)
        assert (out.view(np.uint16) == out[0].view(np.uint16)).all()


def test_in_a_tree_a_rank_sends_once_to_its_parent_and_once_to_each_child():
    switch = cs.topology.switch(8)
    trace = cs.simulate(cs.schedule("allreduce_tree", 8), switch, "8MiB")
    assert list(trace.sent_bytes / trace.nbytes) == [3, 3, 2, 2, 1, 1, 1, 1]
    table = trace.schedule.transfers
    up, down = ([int(((table["src"] == r) & (table["reduce"] == adds)).sum()) for r in range(8)] for adds in (1, 0))
    assert up == [0] + [1] * 7
    assert down == [3, 2, 1, 1, 0, 0, 0, 0]
    said = [*fill_section("pipelined").before[0], *prose("04-latency-and-bandwidth.ipynb")]
    assert not [
        text for text in said if re.search(r"inner ranks send everything twice|内部 rank 要把所有数据发两遍", text)
    ]


def prose(name):
    for path in (ROOT / "notebooks" / name, ROOT / "notebooks" / "zh" / name):
        yield from ("".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"])


def chinese():
    """Every text in Chinese that people read, with the file it stands in; halves of Python strings joined."""
    for path in sorted((ROOT / "notebooks" / "zh").glob("*.ipynb")):
        yield path.name, "\n".join("".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"])
    for path in sorted((ROOT / "docs" / "zh").glob("*.md")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "collsim").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield str(path.relative_to(ROOT)), re.sub(r'"\s*\n\s*f?"', "", text)
    for path in sorted((ROOT / "collsim").rglob("*.js")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_no_chinese_multiple_can_be_read_in_two_ways():
    found = [f"{where}: {hit.group()}" for where, text in chinese() for hit in DOUBTFUL.finditer(MARK.sub("", text))]
    assert not found


def test_the_search_for_doubtful_multiples_finds_them():
    for said in ("增长 31 倍", "快了 7.74 倍", "快 {_times(one, many)} 倍", "线缆慢一半"):
        assert DOUBTFUL.search(said)
    for said in ("速度是原来的 7.74 倍", "增长到原来的 31 倍", "加倍可省一半", "快一倍"):
        assert not DOUBTFUL.search(said)
