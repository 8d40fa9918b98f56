"""TE-CCL's schedules: flows and demands become transfers that verify."""

import json
from itertools import pairwise

import numpy as np
import pytest

import collsim as cs
from collsim.io import load

# Four nodes on a line 1 - 2 - 4 - 5; node 3 is a switch that only carries. Ranks 0..3 are nodes 1, 2, 4, 5.
LINE = [1, 2, 4, 5]


def allgather():
    """Every node's chunk spreads hop by hop; the demands say the same as the flows."""
    flows, demands = [], {}
    for s, source in enumerate(LINE):
        for d, node in enumerate(LINE):
            if d == s:
                continue
            way = list(range(s, d + 1)) if d > s else list(range(s, d - 1, -1))
            hops = [(LINE[a], LINE[b]) for a, b in pairwise(way)]
            via = lambda a, b: " via switches 3" if {a, b} == {2, 4} else ""  # noqa: E731
            demands[f"Demand at {node} for chunk 0 from {source} met by epoch {len(hops)}"] = [
                f"{a}->{b} in epoch {e}{via(a, b)}" for e, (a, b) in enumerate(hops)
            ]
            a, b = hops[-1]
            flows.append(f"Chunk 0 from {source} traveled over {a}->{b} in epoch {len(hops) - 1}{via(a, b)}")
    return {"1-Epoch_Duration": 1e-6, "3-Epochs_Required": 3, "7-Flows": flows, "8-Chunk_paths": demands}


ALLGATHER = allgather()
# Three nodes; chunk c of source s goes to node c + 1. Half of 1 -> 3 goes through node 2.
ALLTOALL = {
    "1-Epoch_Duration": 0.001,
    "6-Flows": [
        "Chunk 1 from 1 traveled over 1->2 with volume 1.0 in epoch 0",
        "Chunk 2 from 1 traveled over 1->3 with volume 0.5 in epoch 0",
        "Chunk 2 from 1 traveled over 1->2 with volume 0.5 in epoch 1",
        "Chunk 2 from 1 traveled over 2->3 with volume 0.5 in epoch 2 via switches 0",
        "Chunk 0 from 2 traveled over 2->1 with volume 1.0 in epoch 0",
        "Chunk 2 from 2 traveled over 2->3 with volume 0.9999999 in epoch 0",
        "Chunk 0 from 3 traveled over 3->1 with volume 1.0 in epoch 0",
        "Chunk 1 from 3 traveled over 3->2 with volume 1.0 in epoch 0",
    ],
}


def read(tmp_path, data, **options):
    (tmp_path / "a.json").write_text(json.dumps(data))
    return load(tmp_path / "a.json", **options)


@pytest.mark.parametrize("leave_out", [None, "7-Flows", "8-Chunk_paths"])
def test_an_allgather_is_read_from_its_flows_or_its_demands(tmp_path, leave_out):
    schedule = read(tmp_path, {k: v for k, v in ALLGATHER.items() if k != leave_out})
    cs.verify(schedule)
    assert (schedule.collective, schedule.ranks, len(schedule), schedule.steps) == ("allgather", 4, 12, 3)
    assert {abs(int(t["src"]) - int(t["dst"])) for t in schedule.transfers} == {1}


def test_an_alltoall_with_split_chunks_is_cut_into_pieces(tmp_path):
    schedule = read(tmp_path, ALLTOALL)
    cs.verify(schedule)
    assert (schedule.collective, schedule.ranks, schedule.chunks) == ("alltoall", 3, 3 * 2)
    t = schedule.transfers
    away = t[t["src"] != t["dst"]]
    assert len(away) == 2 * 5 + 1 + 1 + 1  # five whole chunks in two pieces, one half direct and one over two hops
    data = np.arange(3 * 12).reshape(3, 12)
    want = np.stack([np.concatenate([data[r, g * 4 : g * 4 + 4] for r in range(3)]) for g in range(3)])
    assert (cs.replay(schedule, data) == want).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda d: d["6-Flows"].__setitem__(3, d["6-Flows"][3].replace("epoch 2", "epoch 0")),
            "node 2 holds 0 of this chunk by then",
        ),
        (lambda d: d["6-Flows"].append("Chunk 0 from 2 traveled 3->1"), "expected 'Chunk C from S traveled over"),
        (
            lambda d: d["6-Flows"].append("Chunk 0 from 2 traveled over 3->1 with volume 1e999 in epoch 0"),
            "volume above 0",
        ),
        (lambda d: d["6-Flows"].append(7), "expected 'Chunk C"),
        (lambda d: d["6-Flows"].clear(), "no flows"),
        (lambda d: d.update({"8-Chunk_paths": {"Demand at 1": []}}), "expected 'Demand at D"),
        (
            lambda d: d.update({"8-Chunk_paths": {"Demand at 9 for chunk 0 from 2 met by epoch 1": []}}),
            "wanted by or from a node",
        ),
    ],
)
def test_flows_that_cannot_be_are_named(tmp_path, change, words):
    data = json.loads(json.dumps(ALLTOALL))
    change(data)
    with pytest.raises(cs.FormatError, match=words):
        read(tmp_path, data, format="teccl", collective="alltoall")
