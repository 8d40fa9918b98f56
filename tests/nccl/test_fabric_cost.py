"""The way between nodes in predictions: rails, spines and oversubscription cost what a simulation over the same links
says, and one switch costs nothing."""

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import predict
from collsim.nccl.machine.fabric_cost import ONE_SWITCH
from collsim.nccl.model.links import MEASURED
from collsim.nccl.predicted_schedule import predict_and_simulate

#: Bytes at which latency is nothing beside them.
MANY = "4GiB"
#: Fabrics on which four nodes share cables between switches, or not, and rails with PXN and without.
FABRICS = {
    "rails": {"fabric": "rail"},
    "rails only": {"fabric": "rail-only"},
    "rails without PXN": {"fabric": "rail", "pxn": False},
    "rails of two nodes, half of a node's rate up": {"fabric": "rail", "unit": 2, "oversubscription": 2},
    "leaves that keep up": {"fabric": "leaf-spine", "nodes_per_leaf": 2},
    "leaves with a quarter up": {"fabric": "leaf-spine", "nodes_per_leaf": 2, "oversubscription": 4},
    "a fat tree with half up": {"fabric": "fat-tree", "oversubscription": 2},
}
RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}


def compare_times(collective, name="dgx-h100", nodes=4, settings=None, **fabric):
    """Times of the bytes as predicted, and of the simulation."""
    machine = cs.machine(name, nodes=nodes, **fabric)
    prediction, run = predict_and_simulate(collective, machine, MANY, **(settings or {}))
    return prediction, run.time


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize(("collective", "settings"), [("allreduce", RING), ("allgather", RING), ("alltoall", {})])
def test_a_fabric_makes_bytes_as_much_slower_as_the_simulation_says(fabric, collective, settings):
    on_one, alone = compare_times(collective, settings=settings)
    here, time = compare_times(collective, settings=settings, **FABRICS[fabric])
    assert on_one.fabric == ONE_SWITCH
    assert here.fabric.slowdown == pytest.approx(time / alone, rel=0.02)


@pytest.mark.parametrize("fabric", ["leaves with a quarter up", "rails of two nodes, half of a node's rate up"])
@pytest.mark.parametrize("algorithm", ["Tree", "NVLSTree"])
def test_trees_cross_fewer_spines_than_they_have_nodes(fabric, algorithm):
    """Latency is part of a simulated tree's time, so that it is slowed by a little less than its bytes."""
    settings = {"NCCL_ALGO": algorithm, "NCCL_PROTO": "Simple"}
    _, alone = compare_times("allreduce", settings=settings)
    here, time = compare_times("allreduce", settings=settings, **FABRICS[fabric])
    assert here.fabric.slowdown == pytest.approx(time / alone, rel=0.1)


def test_what_leaves_bandwidth_costs_no_bytes():
    """TCP moves some 4 of the 25 GB/s of a card (LinkParameters.tcp_per_nic), so that flows that share one uplink between two leave
    room for it, and those that share one between sixteen do not."""
    few, many = (
        predict("sendrecv", cs.machine("dgx-h100", nodes=nodes, nic="tcp-200", nics="all", pxn=False, **rails), MANY)
        for nodes, rails in ((2, {"fabric": "rail"}), (16, {"fabric": "rail", "oversubscription": 4}))
    )
    alone = predict("sendrecv", cs.machine("dgx-h100", nodes=16, nic="tcp-200", nics="all"), MANY)
    assert (few.fabric.slowdown, many.fabric.slowdown) == (pytest.approx(2), pytest.approx(16))
    assert few.parts.bytes == alone.parts.bytes
    assert many.parts.limit == "fabric"
    moved = MEASURED.tcp_per_nic * MEASURED.net_p2p["sendrecv"]
    assert many.parts.bytes / alone.parts.bytes == pytest.approx(moved / (25e9 * MEASURED.carries["tcp"] / 16))


def test_one_switch_and_words_are_as_they_were():
    """A machine on one switch is predicted as the facts read off it, which know of no fabric. Where slots and host
    memory hold the bytes up, its links say more than words do: a tree of RTX 4090 stages what goes to the network, too,
    and the slots of Polaris carry 35 GB/s of 43 by words (36.1 measured, argonne-lcf/alcf-nccl-tests)."""
    for name, nodes, more in (
        ("dgx-h100", 2, 1.0),
        ("dgx-a100", 4, 1.0),
        ("rtx4090-8gpu", 2, 1.11),
        ("polaris", 4, 1.24),
    ):
        machine = cs.machine(name, nodes=nodes)
        for size in ("1KiB", "1MiB", MANY):
            words = predict("allreduce", cs.nccl.read_facts(machine), size)
            assert 1 - 1e-9 <= predict("allreduce", machine, size).time / words.time <= more + 1e-9
            assert predict("allreduce", machine, size).fabric == ONE_SWITCH


def test_the_way_round_over_nvlink_to_the_receivers_rail_takes_its_latency():
    """From GPU 7 to GPU 0 of the next node: with PXN an NVLink up and one down more."""
    machine = cs.machine("dgx-h100", nodes=2, fabric="rail")
    cable = machine.route(0, 1)[0].alpha
    rails, alone = (predict("sendrecv", m, "1KiB") for m in (machine, cs.machine("dgx-h100", nodes=2)))
    assert rails.fabric.hop_delay == pytest.approx(2 * cable)
    assert rails.parts.steps - alone.parts.steps == pytest.approx(2 * cable)


def test_a_lost_cable_to_a_spine_is_counted_as_the_simulation_counts_it():
    """The others of its leaf carry what it carried: a hop more on one of them."""
    machine = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine", nodes_per_leaf=1)
    cut = machine.without_link("fabric/leaf1", "fabric/spine2")
    prediction, run = predict_and_simulate("allreduce", cut, MANY, **RING)
    usual, before = predict_and_simulate("allreduce", machine, MANY, **RING)
    assert usual.fabric.slowdown == 1
    assert prediction.fabric.slowdown == pytest.approx(run.time / before.time, rel=0.02)
    assert prediction.fabric.slowdown > 1.5
    assert any("held up by" in note and "leaf" in note for note in prediction.notes)


def test_fewer_ranks_load_fewer_cables():
    """One GPU of each node has a leaf's way up, a quarter of 8 cards, to itself."""
    machine = cs.machine("dgx-a100", nodes=4, **FABRICS["leaves with a quarter up"])
    all_of_them, few = (predict("allgather", machine, MANY, ranks, **RING) for ranks in (32, 4))
    assert (all_of_them.fabric.slowdown, few.fabric.slowdown) == (pytest.approx(2), 1)


def test_rails_that_nothing_joins_are_refused_where_a_hop_has_to_change_them():
    machine = cs.machine("dgx-h100", nodes=2, fabric="rail-only", pxn=False)
    assert predict("allreduce", machine, MANY, **RING).fabric.slowdown == 1
    with pytest.raises(CollsimError, match=r"nothing joins.*; join the rails \(fabric='rail'\)"):
        predict("alltoall", machine, MANY)


def test_rails_that_nothing_joins_do_where_the_channels_of_the_search_keep_to_them():
    """Polaris' GPUs share no switch with their cards: the nearest card of one may be on another rail, but the search's
    rings leave by the card that they enter by."""
    machine = cs.machine("polaris", nodes=4, fabric="rail-only")
    assert cs.nccl.search_graphs(machine).rings.count_crossings(4) == 0
    assert predict("allreduce", machine, MANY, **RING).fabric == ONE_SWITCH
    with pytest.raises(CollsimError, match="nothing joins"):
        predict("alltoall", machine, MANY)


def test_where_the_ranks_sit_does_not_change_the_rings():
    """NCCL sorts ranks by node whatever numbers they have."""
    usual, dealt = (
        cs.machine("dgx-h100", nodes=4, placement=p, **FABRICS["leaves with a quarter up"])
        for p in ("node", "round-robin")
    )
    assert predict("allreduce", dealt, MANY, **RING).fabric == predict("allreduce", usual, MANY, **RING).fabric


def test_a_calibration_is_not_charged_twice_for_the_fabric():
    """A log of an oversubscribed machine, made by the model itself, fits with all factors 1."""
    import pandas as pd

    machine = cs.machine("dgx-a100", nodes=4, **FABRICS["leaves with a quarter up"])
    sizes = [2**k for k in range(10, 33, 2)]
    times = [predict("allreduce", machine, n).time for n in sizes]
    fitted = cs.nccl.fit_calibration(pd.DataFrame({"collective": "allreduce", "nbytes": sizes, "time": times}), machine)
    assert all(factor == pytest.approx(1, abs=0.02) for factor in fitted.factors.values())
