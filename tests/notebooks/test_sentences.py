"""Comparisons in the prose hold in a run: which links carry bytes, who sends how much, and what a Chinese multiple
says."""

import json
import re
from pathlib import Path

import pytest
from links import trace_of
from test_teaching import GUIDES, links

import collsim as cs
from collsim.lessons import chapters, short

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!--=.*?-->", re.DOTALL)
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


@pytest.mark.parametrize("lang", GUIDES)
def test_which_links_appear_has_an_answer_on_the_machine_that_the_guide_opens(lang):
    (row,) = [line for line in GUIDES[lang].read_text(encoding="utf-8").splitlines() if line.startswith("| 32–40")]
    on, off = (trace_of(url) for url in re.findall(r"\]\((http[^)]*)\)", row))
    assert carrying(on, "memory") == 0
    assert carrying(off, "memory") == 2  # into it and out of it
    assert set(off.links.link[off.links.bytes > 0]) > set(on.links.link[on.links.bytes > 0])


@pytest.mark.parametrize("lang", GUIDES)
def test_that_gpus_talk_directly_is_answered_by_a_run_with_p2p_on_that_is_staged(lang):
    text = GUIDES[lang].read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(('| "GPUs of one', "| “同一台服务器"))]
    url = re.findall(r"\]\((http[^)]*)\)", row)[0]
    assert "p2p=off" not in url
    trace = trace_of(url)
    assert hops_through_memory(trace.topology) == 4
    assert carrying(trace, "memory") > 0
    assert url in links(lang)


def test_the_lesson_inside_the_box_shows_host_memory_only_without_p2p():
    told = short.staging()
    assert carrying(told.trace, "memory") == 2
    assert "4 of the 8 hops" in told.paragraphs[-1][0]
    assert "8 跳中仍有 4 跳" in told.paragraphs[-1][1]
    direct = cs.machine("pcie-8gpu-single-root")
    assert hops_through_memory(direct) == 0
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=direct), direct, "64MiB")
    assert cs.format_time(trace.time) in chapters.inside().before[0][0]


def test_in_a_tree_a_rank_sends_once_to_its_parent_and_once_to_each_child():
    switch = cs.topology.switch(8)
    trace = cs.simulate(cs.schedule("allreduce_tree", 8), switch, "8MiB")
    assert list(trace.sent_bytes / trace.nbytes) == [3, 3, 2, 2, 1, 1, 1, 1]
    table = trace.schedule.transfers
    up, down = ([int(((table["src"] == r) & (table["reduce"] == adds)).sum()) for r in range(8)] for adds in (1, 0))
    assert up == [0] + [1] * 7
    assert down == [3, 2, 1, 1, 0, 0, 0, 0]
    for told in (*short.two_trees().paragraphs[0], *prose("04-latency-and-bandwidth.ipynb")):
        assert not re.search(r"inner ranks send everything twice|内部 rank 要把所有数据发两遍", told)


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
        text = path.read_text(encoding="utf-8").replace("\\N{NO-BREAK SPACE}", " ")
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
