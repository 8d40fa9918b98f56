"""The simulation behind a prediction."""

import pytest

from collsim import topology, verify
from collsim.errors import CollsimError
from collsim.nccl import predict, read_facts
from collsim.nccl.predicted_schedule import build_schedule, predict_and_simulate

GIB = 2**30


@pytest.mark.parametrize(
    ("collective", "name", "nodes"),
    [
        ("allreduce", "dgx-a100", 1),
        ("allreduce", "dgx-h100", 1),
        ("allreduce", "dgx-h100", 2),
        ("allgather", "dgx-a100", 2),
        ("reduce_scatter", "dgx-1v", 1),
        ("broadcast", "dgx-a100", 1),
        ("reduce", "dgx-a100", 1),
        ("alltoall", "dgx-a100", 1),
        ("sendrecv", "dgx-a100", 2),
    ],
)
def test_links_alone_are_never_slower_than_what_is_predicted(collective, name, nodes):
    machine = topology.machine(name, nodes)
    prediction, run = predict_and_simulate(collective, machine, "1GiB")
    verify(build_schedule(prediction, machine))
    assert 0.2 * prediction.time < run.time < 1.3 * prediction.time


def test_the_simulated_ring_moves_what_the_model_counts():
    """2 x 7/8 GiB out of each of 8 GPUs over 300 GB/s of NVLink."""
    _, run = predict_and_simulate("allreduce", topology.machine("dgx-a100"), GIB, NCCL_ALGO="Ring")
    assert run.sent_bytes.max() == pytest.approx(2 * 7 / 8 * GIB, rel=1e-3)
    assert run.time == pytest.approx(2 * 7 / 8 * GIB / 300e9, rel=0.05)


def test_nvls_tree_on_uneven_nodes_says_what_nccl_does_and_what_to_ask_for():
    machine = topology.machine("dgx-h100", 2)
    with pytest.raises(CollsimError, match=r"8 and 7 ranks: NCCL gives each node 7 heads .* simulate ranks=14"):
        predict_and_simulate("allreduce", machine, "64MiB", ranks=15, NCCL_ALGO="NVLSTree")
    assert predict_and_simulate("allreduce", machine, "64MiB", ranks=14, NCCL_ALGO="NVLSTree")[1].time > 0
    with pytest.raises(CollsimError, match=r"one rank has no NVLink SHARP.*give each node two ranks or more"):
        predict("allreduce", machine, "64MiB", 3, NCCL_ALGO="NVLSTree")
    assert predict("allreduce", machine, "64MiB", 3).algorithm == "Ring"
    assert predict("allreduce", machine, "64MiB", [0, 1, 9]).algorithm == "Ring"


def test_nvls_beats_the_ring_in_the_simulation_too():
    machine = topology.machine("dgx-h100")
    assert (
        predict_and_simulate("allreduce", machine, GIB)[1].time
        < 0.85 * predict_and_simulate("allreduce", machine, GIB, NCCL_ALGO="Ring")[1].time
    )


@pytest.mark.parametrize("algorithm", ["Ring", "Tree"])
def test_fewer_ranks_are_spread_over_the_nodes_as_they_are_predicted(algorithm):
    """Four ranks of two nodes sit two in each, and their rings cross the network; of one node they stay on NVLink."""
    two, one = topology.machine("dgx-a100", nodes=2), topology.machine("dgx-a100")
    p, run = predict_and_simulate("allreduce", two, GIB, ranks=4, NCCL_ALGO=algorithm)
    assert (p.facts.ranks, p.facts.nodes, run.schedule.ranks) == (4, 2, 4)
    node = run.topology.devices.node[run.topology.endpoint_device[:4]]
    assert list(node) == [0, 0, 1, 1]
    carried = run.links.groupby("kind")["bytes"].sum()
    assert carried["infiniband"] == pytest.approx(
        {"Ring": 2 * 2 * (2 * 3 / 4), "Tree": 2 * 2}[algorithm] * GIB
    )  # card to switch to card
    assert 0.2 * p.time < run.time < 1.3 * p.time
    p, run = predict_and_simulate("allreduce", one, GIB, ranks=4, NCCL_ALGO=algorithm)
    assert run.links.groupby("kind")["bytes"].sum()["nvlink"] > 0
    assert "infiniband" not in set(run.links["kind"])
    assert 0.2 * p.time < run.time < 1.3 * p.time


def test_what_cannot_be_simulated_is_said():
    with pytest.raises(CollsimError, match="predict_and_simulate wants a topology"):
        predict_and_simulate("allreduce", read_facts(topology.machine("dgx-a100")), GIB)


def test_ranks_that_nodes_cannot_share_evenly_are_simulated():
    """Three ranks: GPUs 0 and 1 of node 0, and GPU 0 of node 1, in one ring that crosses the network once each way."""
    p, run = predict_and_simulate("allreduce", topology.machine("dgx-a100", nodes=2), GIB, ranks=3, NCCL_ALGO="Ring")
    assert p.used_ranks == "3 ranks: GPUs 0-1 of node 0, GPU 0 of node 1"
    node = run.topology.devices.node[run.topology.endpoint_device[:3]]
    assert list(node) == [0, 0, 1]
    assert run.time == pytest.approx(4 / 3 * GIB / 25e9, rel=0.02)


def test_without_p2p_the_simulation_loads_host_memory():
    _, direct = predict_and_simulate("allreduce", topology.machine("dgx-a100"), GIB)
    _, staged = predict_and_simulate("allreduce", topology.machine("dgx-a100", p2p=False), GIB)
    assert staged.time > 5 * direct.time


def test_the_tree_is_that_of_the_search():
    """Every rank's parent in the first channel of the schedule, read off its copies downwards, is the parent that the
    search says."""
    for name, nodes in (("dgx-h100", 4), ("dgx-a100", 3), ("dgx-1v", 1)):
        machine = topology.machine(name, nodes=nodes)
        prediction, _ = predict_and_simulate("allreduce", machine, "1MiB", NCCL_ALGO="Tree", NCCL_PROTO="Simple")
        rows = build_schedule(prediction, machine).transfers
        down = rows[~rows["reduce"] & (rows["channel"] == 0)]
        wanted = prediction.graph_search.trees.build_parents(nodes)[0]
        assert {(int(r["dst"]), int(r["src"])) for r in down} == {
            (rank, up) for rank, up in enumerate(wanted) if up >= 0
        }, name


def test_cross_nic_says_over_which_cards_the_simulated_rings_go():
    """Two H100 nodes on rails. 0: a ring's last GPU leaves by the first one's card, over NVLink (PXN); 2: in pairs,
    each by its own. So NVLink carries one more hop of 8 rings, in each of the 2 nodes, with 0; the cards carry the
    same. The prediction knows it too: each of the 2 steps between nodes crosses an NVLink up and down more.
    """
    machine = topology.machine("dgx-h100", nodes=2, fabric="rail")
    runs = {
        k: predict_and_simulate("allreduce", machine, "256MiB", NCCL_ALGO="Ring", NCCL_PROTO="Simple", NCCL_CROSS_NIC=k)
        for k in (0, 2)
    }
    carried = {k: run.links.groupby("kind")["bytes"].sum() for k, (_, run) in runs.items()}
    hop = 2 * 15 / 16 * 2**28 / 8  # of one ring over one cable
    assert carried[0]["nvlink"] - carried[2]["nvlink"] == pytest.approx(
        2 * 8 * 2 * hop, rel=0.01
    )  # up to the switch and down, 8 rings
    assert carried[0]["infiniband"] == pytest.approx(carried[2]["infiniband"])
    assert runs[0][1].time > runs[2][1].time
    nvlink = next(hop.alpha for hop in machine.route(0, 1))
    assert runs[0][0].parts.steps - runs[2][0].parts.steps == pytest.approx(2 * 2 * nvlink)
    assert runs[0][0].parts.bytes == runs[2][0].parts.bytes


def test_no_order_carries_more_channels_than_another():
    """DGX-1V has 6 rings; 8 channels over them would put two on two of them, and twice the time."""
    prediction, run = predict_and_simulate("allreduce", topology.machine("dgx-1v"), GIB, NCCL_ALGO="Ring")
    assert prediction.channels == 12
    assert run.time == pytest.approx(2 * 7 / 8 * GIB / 150e9, rel=0.05)
