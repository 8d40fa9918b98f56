"""Network cards of a node: those that NCCL's search gives its GPUs."""

import pytest

import collsim as cs
from collsim.nccl import predict, search_graphs

GB = 10**9


def test_one_gpu_of_a_node_has_the_card_next_to_it():
    """NVIDIA/nccl src/graph/search.cc: with a solution at hand no cards beyond PXN are tried, so a GPU without peers in
    its node stays at its own of 12.5 GB/s."""
    machine = cs.machine("dgx-h100", nodes=2, nic="roce-100")
    rings = search_graphs(machine, ranks=2).rings
    assert {card for channel in rings.channels for card in (channel.entry_card, channel.exit_card)} == {0}
    prediction = predict("allreduce", machine, GB, ranks=2)
    assert prediction.facts.nics == 1
    assert "NCCL's rings use 1 of the 8 network cards of a node" in prediction.notes
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
