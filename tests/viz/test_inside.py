"""Nodes that are drawn as boxes can be opened: what is in them is in the timeline."""

import numpy as np
import pytest

import collsim as cs
from collsim.viz.timeline.timeline_document import build_timeline


def build_trace(algorithm, machine, nodes, **options):
    topology = cs.machine(machine, nodes=nodes)
    trace = cs.simulate(cs.schedule(algorithm, topology=topology, **options), topology, "256MiB")
    return trace, build_timeline(trace)


MACHINES = [
    ("allreduce_hierarchical", "dgx-a100", 8),
    ("allreduce_ring", "dgx-1v", 8),
    ("allreduce_ring", "pcie-8gpu", 8),
    ("allreduce_ring", "dgx-2", 4),
    ("allreduce_ring", "mi300x-8gpu", 8),
]


@pytest.mark.parametrize(("algorithm", "machine", "nodes"), MACHINES)
def test_every_byte_on_a_link_is_drawn_and_every_node_opens(algorithm, machine, nodes):
    trace, played = (
        build_trace(algorithm, machine, nodes, channels=1)
        if "ring" in algorithm
        else build_trace(algorithm, machine, nodes)
    )
    assert sum(played["figures"]["link_bytes"]) == int(trace.link_bytes.sum())
    opened = [one["node"] for group in played["inside"] for one in group["nodes"]]
    assert sorted(opened) == list(range(nodes))
    ranks = sorted(e for group in played["inside"] for one in group["nodes"] for e in one["endpoint"] if e >= 0)
    assert ranks == list(range(trace.schedule.ranks))
    links = played["links"]
    assert len({len(column) for column in links.values()}) == 1


@pytest.mark.parametrize(("algorithm", "machine", "nodes"), MACHINES)
def test_an_open_node_hangs_together_and_nothing_in_it_overlaps(algorithm, machine, nodes):
    _, played = (
        build_trace(algorithm, machine, nodes, channels=1)
        if "ring" in algorithm
        else build_trace(algorithm, machine, nodes)
    )
    for group in played["inside"]:
        devices, links, stage = group["devices"], group["links"], group["stage"]
        boxes = [tuple(box) for box in zip(*(devices[k] for k in "xywh"), strict=True)]
        strip = [tuple(box) for box in zip(*(group["strip"][k] for k in "xywh"), strict=True)]
        for x, y, w, h in boxes + strip:
            assert min(x, y) >= 0
            assert x + w <= stage["w"] + 0.1
            assert y + h <= stage["h"] + 0.1
        for i, (x, y, w, h) in enumerate(boxes):
            for u, v, a, b in [*boxes[i + 1 :], *strip]:
                assert x + w <= u + 0.1 or u + a <= x + 0.1 or y + h <= v + 0.1 or v + b <= y + 0.1
        for one in group["nodes"]:
            mine = slice(one["first"], one["first"] + len(links["src"]))
            assert set(played["links"]["path"][mine.start]) == set()
            assert len(played["links"]["kind"][mine]) == len(links["path"])


def test_nvlink_of_64_ranks_has_a_row_and_a_bar_in_each_node():
    """Hierarchical on 8 DGX A100: 2 x 7 of 28 steps on NVLink, each 32 MiB / 300 GB/s + 1.4 us = 113.25 us."""
    trace, played = build_trace("allreduce_hierarchical", "dgx-a100", 8)
    row = next(row for row in played["rows"] if row["label"]["en"] == "NVLink")
    assert len(row["links"]) == 128  # 64 GPUs, both directions
    assert row["hot"], "the bottleneck of the mock `drill`"
    share = [played["figures"]["link_bytes"][i] / 300e9 / trace.time for i in row["links"]]
    assert share == pytest.approx([14 * 32 * 2**20 / 300e9 / (14 * (113.25e-6 + 170.97e-6))] * 128, rel=1e-3)
    bars = [bars for bars in played["devices"]["bars"] if bars]
    assert [[bar["label"]["en"] for bar in one] for one in bars] == [["NVLink", "IB"]] * 8
    assert all(len(one[0]["links"]) == 16 for one in bars)


def test_a_node_that_somebody_changed_is_drawn_by_itself():
    topology = cs.machine("dgx-a100", nodes=8).with_link("node3/gpu0", "node3/nvswitch", bandwidth="half")
    trace = cs.simulate(cs.schedule("allreduce_hierarchical", topology=topology), topology, "256MiB")
    groups = build_timeline(trace)["inside"]
    assert [[one["node"] for one in group["nodes"]] for group in groups] == [[0, 1, 2, 4, 5, 6, 7], [3]]
    slow = groups[1]["nodes"][0]["first"]
    rates = build_timeline(trace)["links"]["bandwidth"][slow : slow + len(groups[1]["links"]["src"])]
    assert rates.count(150e9) == 2, "there and back"


def test_pictures_on_paper_are_of_closed_nodes():
    trace, _ = build_trace("allreduce_hierarchical", "dgx-a100", 8)
    plain = build_timeline(trace, inside=False)
    assert "inside" not in plain
    assert all(plain["links"]["path"])
    assert np.diff(plain["routes"]["start"]).max() == 2  # out of a box, into another
