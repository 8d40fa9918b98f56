"""Network cards of a node: those that NCCL's search gives its GPUs."""

import pytest

import collsim as cs
from collsim.nccl import LinkParameters, predict, search_graphs

GB = 10**9


def test_one_gpu_of_a_node_has_the_card_next_to_it():
    """NVIDIA/nccl src/graph/search.cc: with a solution at hand no cards beyond PXN are tried, so a GPU without peers in
    its node stays at its own of 12.5 GB/s."""
    machine = cs.machine("dgx-h100", nodes=2, nic="roce-100")
    rings = search_graphs(machine, ranks=2).rings
    assert {card for channel in rings.channels for card in (channel.entry_card, channel.exit_card)} == {0}
    prediction = predict("allreduce", machine, GB, ranks=2)
    assert prediction.facts.nics == 1
    assert any("rings use 1 of the 8 network cards of a node" in note for note in prediction.notes)
    assert prediction.busbw < 12.5e9


@pytest.mark.parametrize("nic", ["ib-ndr", "roce-100"])
def test_more_gpus_of_a_node_have_more_cards(nic):
    """NVIDIA/nccl issue 1250: 1, 2 and 4 GPUs of each of two nodes with a card per GPU take 0.27, 0.13 and 0.067 s for
    1 GB."""
    machine = cs.machine("dgx-h100", nodes=2, nic=nic)
    one, two, four = (predict("allreduce", machine, GB, ranks=ranks).time for ranks in (2, 4, 8))
    assert one / two == pytest.approx(0.27 / 0.13, rel=0.15)
    assert two / four == pytest.approx(0.13 / 0.067, rel=0.1)


def test_a_network_named_by_rate_alone_is_one_card_a_node():
    """10 Gbit/s are 1.25 GB/s for the whole node: horovod issue 2581. A machine with cards of that kind keeps them."""
    slow = cs.machine("dgx-a100", nodes=2, nic="tcp-10")
    assert "nics=1" in slow.name
    assert cs.nccl.read_facts(slow).nics == 1
    assert cs.simulate(cs.schedule("allreduce_ring", topology=slow), slow, "1GiB").busbw < 1.25e9
    for options, cards in (({"nic": "roce-100"}, 8), ({"nic": "tcp-10", "nics": "all"}, 8), ({}, 8)):
        assert cs.nccl.read_facts(cs.machine("dgx-a100", nodes=2, **options)).nics == cards


def test_a_node_with_fewer_cards_has_them_at_different_switches():
    """Four cards of a DGX A100 sit at its four switches, so that NCCL's rings reach all of them (NVIDIA/nccl issue 1412:
    8 channels over 4 cards, 93 GB/s); the nearest come before."""
    for name, count, switches in (
        ("dgx-a100", 4, {"pcie0", "pcie1", "pcie2", "pcie3"}),
        ("dgx-a100", 2, {"pcie0", "pcie2"}),
        ("dgx-h100", 2, {"pcie0", "pcie4"}),
    ):
        machine = cs.machine(name, nodes=2, nics=count)
        ends = [{a, b} for a, b, _ in machine.facts.machine.connections if "nic" in a + b]
        assert {end for pair in ends for end in pair if end.startswith("pcie")} == switches
    prediction = predict("allreduce", cs.machine("dgx-a100", nodes=2, nics=4), GB)
    assert prediction.facts.nics == 4
    assert prediction.channels == 8
    assert prediction.busbw == pytest.approx(93e9, rel=0.1)


@pytest.mark.parametrize("name", ["pcie-8gpu", "dgx-a100"])
def test_cards_are_idle_where_pcie_carries_no_more_rings(name):
    """The busiest cable is a card's, and faster slots help all the same: the sentence says both, and it holds."""
    options = {"nodes": 2, "nic": "roce-100", "gdr": False}
    slow, fast = (predict("allreduce", cs.machine(name, **options, **more), GB) for more in ({}, {"pcie": 5}))
    idle = [note for note in slow.notes if "network cards of a node" in note]
    assert len(idle) == 1
    assert f"use {slow.facts.nics:g} of the" in idle[0]
    assert f"With pcie=5 they would use {fast.facts.nics:g}" in idle[0]
    assert fast.time < slow.time


def test_a_step_says_that_rings_leave_cards_idle():
    """GPT-2 medium on two nodes of eight GPUs: cards of 100 Gbit/s are what GPUs wait for, and PCIe 5 halves the wait."""
    machines = [cs.machine("pcie-8gpu", nodes=2, nic="roce-100", **more) for more in ({}, {"pcie": 5})]
    slow, fast = (cs.training_step("gpt2-medium", machine, parallel=cs.ddp(), micro_batch=2) for machine in machines)
    assert "use 1 of the 2 network cards of a node: the PCIe links cannot carry more. With pcie=5" in slow.explain()
    assert "2 块网卡中的 1 块" in slow.explain("zh")
    assert fast.exposed < slow.exposed / 1.8
    assert "network cards of a node" not in fast.explain()


def test_other_rings_than_those_of_nccl_are_named_as_the_difference():
    """The rings of the topology cross both cards, NCCL's one: twice the time on the same links."""
    machine = cs.machine("pcie-8gpu", nodes=2, nic="roce-100")
    run = cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, GB)
    difference = cs.nccl.explain_difference(run)
    _, of_nccl = cs.nccl.predict_and_simulate("allreduce", machine, GB, NCCL_ALGO="Ring")
    assert difference.term == "rings"
    assert difference.seconds == pytest.approx(of_nccl.time - run.time)
    assert "With pcie=5 they would use 2" in str(difference)
    assert "环" in difference.text("zh")
    # the run's own counterfactual says that faster PCIe saves nothing, so the sentence says whose rings it helps
    assert "faster PCIe helps the rings of NCCL only" in str(difference)
    times = f"{cs.format_time(of_nccl.time)} on the same links, {cs.format_time(difference.predicted)} as predicted"
    assert str(difference).startswith(f"allreduce_ring takes {cs.format_time(run.time)} on these links. NCCL's own")
    assert times in str(difference)
    assert "times simulate" not in str(difference)


def test_without_gpudirect_rdma_a_channel_leaves_by_its_card_and_not_by_a_gpus_nearest():
    """NCCL's search puts the ends of a ring on another switch than its card, so that data staged through host memory
    cross the uplink of each once in each direction (NVIDIA/nccl issue 1412: 33 GB/s); by a GPU's nearest card they
    cross one uplink twice."""
    machine = cs.machine("dgx-a100", nodes=2, gdr=False)
    by_channel = predict("allreduce", machine, "1GiB", NCCL_ALGO="Ring")
    nearest = predict("allreduce", machine, "1GiB", NCCL_ALGO="Ring", links=LinkParameters().without("cards"))
    loads = by_channel.call.loads
    rings = len(by_channel.graph_search.rings.channels)
    once = 2 * 15 / 16 / rings / 31.5e9
    assert [staged for _, staged in loads.by_channel.pcie] == [pytest.approx(once)]
    assert max(staged for _, staged in loads.pcie) == pytest.approx(2 * once)
    assert 1.3 * by_channel.time < nearest.time
    assert predict("allreduce", machine, "1GiB", NCCL_ALGO="Tree").call.loads.by_channel is not None
    with_gdr = predict("allreduce", cs.machine("dgx-a100", nodes=2), "1GiB", NCCL_ALGO="Ring")
    assert with_gdr.call.loads.by_channel is None
