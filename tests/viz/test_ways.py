"""The way between two ranks, hop by hop, alone and in a ring."""

import pytest

import collsim as cs
from collsim.errors import TopologyError
from collsim.viz.route.route import list_routes
from collsim.viz.timeline.timeline_document import decode


@pytest.fixture(scope="module")
def pair():
    return list_routes([cs.machine("pcie-8gpu", p2p=on) for on in (True, False)], 0, 1, "64MiB")


def test_with_p2p_the_data_turn_round_in_the_switch_and_without_they_cross_host_memory(pair):
    on, off = pair
    assert [hop["kind"] for hop in on.hops] == ["pcie", "pcie"]
    assert [hop["kind"] for hop in off.hops] == ["pcie", "pcie", "memory", "memory", "pcie", "pcie"]
    assert on.description[0] == "PIX in nvidia-smi, PIX in NCCL, GPUDirect P2P"
    assert off.description == (
        "PIX in nvidia-smi, PIX in NCCL, P2P is off: staged through host memory (SHM)",
        "PIX（nvidia-smi），PIX（NCCL），P2P 已关闭：经主机内存中转（SHM）",
    )


def test_alone_staging_costs_latency_only_and_in_the_ring_it_costs_double(pair):
    on, off = pair
    assert on.alone == pytest.approx(64 * 2**20 / 31.5e9 + 2 * 0.5e-6)
    assert off.alone == pytest.approx(64 * 2**20 / 31.5e9 + 4 * 0.5e-6 + 2 * 0.1e-6)
    assert on.ring == pytest.approx(14 * (8 * 2**20 / 31.5e9 + 2.4e-6))  # between two switches it is staged anyway
    assert off.ring == pytest.approx(14 * (16 * 2**20 / 31.5e9 + 2.4e-6))


def test_the_links_that_two_ranks_share_are_the_hot_ones(pair):
    assert [hop["hot"] for hop in pair[1].hops] == [False, True, False, False, True, False]


def test_both_pictures_show_the_same_devices_and_number_every_hop(pair):
    first, second = (decode(way.timeline) for way in pair)
    assert first["devices"]["name"] == second["devices"]["name"]
    assert [mark["text"] for mark in pair[1].marks] == ["1", "2", "3", "4", "5", "6"]


def test_one_transfer_is_not_taken_for_a_collective_that_is_wrong(pair):
    assert [decode(way.timeline)["mistake"] for way in pair] == [None, None]


def test_a_generic_network_has_a_way_without_words():
    (way,) = list_routes([cs.topology.ring(4)], 0, 2, "1MiB")
    assert way.description == ("", "")
    assert len(way.hops) == 2


def test_where_there_is_no_way_the_error_says_so():
    with pytest.raises(TopologyError, match="cannot reach"):
        list_routes([cs.machine("gb200-nvl72", p2p=False)], 0, 9, "1MiB")


@pytest.mark.parametrize(
    ("machine", "dst", "english", "chinese"),
    [
        (
            cs.machine("dgx-a100", nodes=2),
            8,
            "Through card 0 (PIX, GPUDirect RDMA) and card 0 (PIX, GPUDirect RDMA)",
            "经网卡 0（PIX，GPUDirect RDMA），再经网卡 0（PIX，GPUDirect RDMA）",
        ),
        (
            cs.machine("dgx-a100", nodes=2, gdr=False),
            8,
            "Through card 0 (PIX, no GPUDirect RDMA: staged through host memory) and card 0 (PIX, no GPUDirect RDMA: "
            "staged through host memory)",
            "经网卡 0（PIX，不用 GPUDirect RDMA：经主机内存中转），再经网卡 0（PIX，不用 GPUDirect RDMA：经主机内存中转）",
        ),
        (
            cs.machine("dgx-1v"),
            5,
            "SYS in nvidia-smi, NVB in NCCL, GPUDirect P2P",
            "SYS（nvidia-smi），NVB（NCCL），GPUDirect P2P",
        ),
        (
            cs.machine("cpu-2socket-ib", nodes=2),
            2,
            "Through card 0 (from host memory) and card 0 (to host memory)",
            "经网卡 0（来自主机内存），再经网卡 0（到主机内存）",
        ),
        (cs.machine("tpu-v4-64"), 1, "Over the chips' own links", "经芯片自身的链路"),
    ],
    ids=lambda value: value.name if isinstance(value, cs.Topology) else "",
)
def test_a_way_has_the_same_words_in_both_languages(machine, dst, english, chinese):
    (way,) = list_routes([machine], 0, dst, "1MiB")
    assert way.description == (english, chinese)
