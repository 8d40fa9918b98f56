"""Predictions: known answers by hand, what must always hold, and what NCCL's environment variables do."""

import itertools
import re
from collections import Counter
from dataclasses import replace

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import Facts, build_communicator, parse_facts, predict, predict_choices
from collsim.nccl.model.algorithm_time import (
    Call,
    compute_byte_time,
    compute_channel_rate,
    compute_drain_time,
    compute_loads,
    compute_net_rate,
    get_tree_load,
)
from collsim.nccl.model.links import MEASURED
from collsim.nccl.nccl_prediction import BUSBW

GIB, MIB, KIB = 2**30, 2**20, 2**10
A100 = parse_facts("A100-SXM4-80GB", 8, 1, "nvlink3-nvswitch", "none")
H100 = parse_facts("H100-SXM5", 8, 1, "nvlink4-nvswitch", "none")
TWO_H100 = parse_facts("H100-SXM5", 16, 2, "nvlink4-nvswitch", "8xNDR400 IB")
V100 = parse_facts("V100-SXM2-32GB", 8, 1, "nvlink2-hybridcubemesh", "none")
CARDS = parse_facts("RTX 4090", 2, 1, "pcie4-x16-nop2p", "none")
ETHERNET = parse_facts("RTX 2080 Ti", 16, 16, "none", "1x10GbE (TCP sockets)")
#: Values of NCCL's variables that it does not have, and the word for each in the sentence about it.
WRONG = (
    ({"NCCL_ALGO": "Foo"}, "NCCL_ALGO 'Foo'"),
    ({"NCCL_PROTO": "Foo"}, "NCCL_PROTO 'Foo'"),
    ({"NCCL_ALGO": 7}, "NCCL_ALGO '7'"),
    ({"NCCL_NVLS_ENABLE": 3}, "NCCL_NVLS_ENABLE=3 must be 0 or 1, or 2"),
    ({"NCCL_PAT_ENABLE": "on"}, "NCCL_PAT_ENABLE='on' must be 0 or 1, or 2"),
    ({"NCCL_P2P_DISABLE": 2}, "NCCL_P2P_DISABLE=2 must be 0 or 1$"),
    ({"NCCL_P2P_LEVEL": "near", "NCCL_P2P_DISABLE": 1}, "NCCL_P2P_LEVEL 'near'"),
    ({"NCCL_NET_GDR_LEVEL": "near"}, "NCCL_NET_GDR_LEVEL 'near'"),
    ({"NCCL_CROSS_NIC": 3}, "NCCL_CROSS_NIC=3"),
    ({"NCCL_MAX_NCHANNELS": "few"}, "NCCL_MAX_NCHANNELS='few'"),
    ({"ranks": 4.5}, "ranks=4.5 is not a whole number"),
    ({"ranks": True}, "ranks=True"),
    ({"ranks": "many"}, "ranks='many'"),
)
MACHINES = [A100, H100, TWO_H100, V100, CARDS, ETHERNET]


def test_large_allreduce_runs_at_what_the_links_carry():
    # ring on NVSwitch: 2 x 7/8 buffers over 300 GB/s x 0.78, whatever the latency of 8 GiB
    run = predict("allreduce", A100, "8GiB")
    assert run.parts.bytes == pytest.approx(2 * 7 / 8 * 8 * GIB / (300e9 * MEASURED.carries["nvlink-80"]))
    assert run.busbw == pytest.approx(300e9 * 0.77, rel=0.01)


def test_nvls_moves_s_plus_s_over_n_and_beats_the_ring():
    nvls = predict("allreduce", H100, "8GiB")
    ring = predict("allreduce", H100, "8GiB", NCCL_NVLS_ENABLE=0)
    assert (nvls.algorithm, ring.algorithm) == ("NVLS", "Ring")
    assert compute_loads("allreduce", "NVLS", H100)[0] == 1 + 1 / 8
    assert nvls.busbw / ring.busbw == pytest.approx(479 / 368, rel=0.06)  # measured, GB/s


def test_trees_over_two_nodes_send_the_buffer_once():
    assert compute_loads("allreduce", "Tree", TWO_H100)[1] == 1.0
    assert compute_loads("allreduce", "Ring", TWO_H100)[1] == 2 * 15 / 16


def parents(n):
    """Of every rank but the root, 0, in NCCL's first tree (src/graph/trees.cc, ncclGetBtree)."""
    bits = {rank: rank & -rank for rank in range(1, n)}
    up = {rank: (rank ^ bit) | (bit << 1) for rank, bit in bits.items()}
    return {rank: up[rank] if up[rank] < n else rank ^ bit for rank, bit in bits.items()}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, 7, 8, 9, 16, 31])
def test_the_busiest_node_of_two_trees_sends_what_is_counted(nodes):
    """Each tree takes half of the buffer up and down every edge; the second is the first shifted by one rank, or
    mirrored where their number is even (ncclGetDtree)."""
    first = parents(nodes)
    turn = (lambda r: (r + 1) % nodes) if nodes % 2 else (lambda r: nodes - 1 - r)
    sent = Counter(dict.fromkeys(range(nodes), 0.0))
    for child, parent in [*first.items(), *((turn(c), turn(p)) for c, p in first.items())]:
        sent[child] += 0.5
        sent[parent] += 0.5
    assert get_tree_load(nodes) == max(sent.values())


def test_trees_over_three_nodes_are_faster_than_over_four():
    """Published: 3 partitions of 4 GB200 take 134 ms with trees and 160 ms with rings for 16 GiB (NVIDIA/nccl issue
    1801)."""
    three = parse_facts("GB200", 12, 3, "nvlink5-nvl4", "400G IB per GPU")
    tree, ring = (
        predict("allreduce", three, 16 * GIB, NCCL_ALGO=name, NCCL_NVLS_ENABLE=0) for name in ("Tree", "Ring")
    )
    assert tree.time / ring.time == pytest.approx(134.2 / 160.0, rel=0.1)


@pytest.mark.parametrize(
    ("card", "held"),
    [("1x100GbE RoCE", False), ("1xHDR200 IB", True)],
)
def test_a_host_bridge_holds_back_cards_that_are_faster_than_half_a_slot(card, held):
    """31.5 GB/s of a slot of PCIe 4: two ways of 12.5 GB/s fit, two of 25 do not; one way alone does."""
    pair = parse_facts("A40", 2, 2, "none", card)
    ring = Call("allreduce", "Ring", "Simple", GIB, pair, build_communicator(pair))
    wire = pair.nic_rate * MEASURED.carries[pair.net]
    assert compute_net_rate(ring) == pytest.approx(31.5e9 * MEASURED.host_bridge if held else wire)
    assert compute_net_rate(replace(ring, collective="broadcast")) == wire


def test_a_small_send_has_one_channel_and_a_large_one_hides_it_but_for_a_chunk():
    """10 of a ring's 16 warps send; 512 KiB are handed over at once over NVLink."""
    pair = parse_facts("A100-SXM4-80GB", 2, 1, "nvlink3-nvswitch", "none")
    small, large = (predict("sendrecv", pair, size).parts for size in (MIB, GIB))
    rate = compute_channel_rate(Call("sendrecv", "Ring", "Simple", MIB, pair, build_communicator(pair))) * 10 / 16
    assert small.bytes + small.fill == pytest.approx(MIB / rate)
    assert large.fill == pytest.approx(512 * KIB / rate)


@pytest.mark.parametrize(("machine", "collective"), list(itertools.product(MACHINES, BUSBW)))
def test_more_bytes_never_take_much_less_time(machine, collective):
    """Only where NCCL changes algorithm or protocol may a larger call be faster, as in reality."""
    runs = [predict(collective, machine, 2**k) for k in range(3, 34)]
    for small, large in itertools.pairwise(runs):
        same = (small.algorithm, small.protocol) == (large.algorithm, large.protocol)
        assert large.time >= small.time * (1 - 1e-12 if same else 0.5)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_parts_add_up_and_busbw_is_nccl_tests(machine):
    run = predict("allgather", machine, "64MiB")
    assert run.time == pytest.approx(run.parts.launch + run.parts.steps + run.parts.bytes + run.parts.fill)
    assert run.algbw == pytest.approx(64 * MIB / run.time)
    assert run.busbw == pytest.approx(run.algbw * (machine.ranks - 1) / machine.ranks)


def test_without_p2p_the_data_go_through_host_memory():
    staged = predict("allreduce", A100, "1GiB", NCCL_P2P_DISABLE=1)
    assert staged.facts.wiring == "host"
    assert staged.parts.bytes == pytest.approx(2 * 7 / 8 * GIB / (31.5e9 * MEASURED.host_one_way / 2))
    assert staged.time > 10 * predict("allreduce", A100, "1GiB").time
    assert predict("allreduce", A100, "1GiB", NCCL_P2P_LEVEL="NVL").facts.wiring == "nvswitch"
    assert (
        predict(
            "allreduce", parse_facts("A100-PCIE-40GB", 2, 1, "pcie4-x16-p2p", "none"), MIB, NCCL_P2P_LEVEL="NVL"
        ).facts.wiring
        == "host"
    )


DGX2 = parse_facts("V100-SXM3-32GB", 12, 1, "nvlink2-nvswitch", "none")


@pytest.mark.parametrize(("collective", "measured"), [("allgather", 73.75), ("reduce_scatter", 64.16)])
def test_blocks_that_are_no_multiple_of_16_bytes_are_slower_on_a_dgx2_as_measured(collective, measured):
    """busbw, GB/s, of 12 V100 with 8 GiB (github.com/wohlbier/nccl-tests); a reduce of theirs has 122.7."""
    odd = predict(collective, DGX2, 8589934560)
    assert 8589934560 // 12 % 16 == 8
    assert odd.busbw / 1e9 == pytest.approx(measured, rel=0.15)
    even = predict(collective, DGX2, 8589934560 - 12 * 8)
    assert even.busbw / odd.busbw == pytest.approx(1 / MEASURED.unaligned, rel=0.02)
    assert [note for note in odd.notes if "no multiple of 16" in note]
    assert not [note for note in even.notes if "no multiple of 16" in note]


@pytest.mark.parametrize(
    ("collective", "nbytes", "settings"),
    [
        ("allgather", 12 * 715827880, {"NCCL_PROTO": "LL"}),  # copies 8 bytes at a time anyway
        ("allreduce", 12 * 715827880, {}),  # NCCL cuts it where it likes
        ("allgather", 8 * 2**30, {}),  # 12 do not divide it: rounded, as nccl-tests does
    ],
)
def test_where_no_block_is_out_of_step_nothing_is_slower(collective, nbytes, settings):
    here, next_to_it = (predict(collective, DGX2, size, **settings) for size in (nbytes, nbytes - nbytes % 192))
    assert here.time == pytest.approx(next_to_it.time, rel=1e-3)
    assert not [note for note in here.notes if "no multiple of 16" in note]


@pytest.mark.parametrize("gpu", ["V100-SXM2-16GB", "A100-SXM4-40GB"])
def test_small_broadcasts_take_as_long_over_many_nodes_as_over_two(gpu):
    """The root does not wait: 5.2 to 7.1 us of V100 up to 2 KiB (github.com/aistabci/abci2.0benchmark), of 2 nodes as
    of 32; with Simple at 64 KiB, and with LL at 256, more nodes take longer."""
    inside = "nvlink2-mesh4" if gpu.startswith("V100") else "nvlink3-mesh4"
    few, many = (parse_facts(gpu, 4 * nodes, nodes, inside, "4xHDR200 IB") for nodes in (2, 32))
    for size in (4, 256):
        two, more = (predict("broadcast", at, size, NCCL_PROTO="LL").time for at in (few, many))
        assert 4.5e-6 < two <= more < 1.1 * two < 8.5e-6
    for size, protocol in ((64 * KIB, "Simple"), (256 * KIB, "LL")):
        two, more = (predict("broadcast", at, size, NCCL_PROTO=protocol).time for at in (few, many))
        assert more > 1.6 * two


def test_the_last_slice_of_a_ring_is_half_of_a_short_allgather_between_two():
    """One step of S/2, cut in two slices: the second is copied out alone, half of the wire time; from two rounds of
    chunks on it fades."""
    pair = parse_facts("A100-SXM4-80GB", 2, 1, "nvlink3-nvswitch", "none")

    def drained(size, machine=pair):
        call = Call("allgather", "Ring", "Simple", size, machine, build_communicator(machine))
        return compute_drain_time(call, compute_byte_time(call)[0]) / compute_byte_time(call)[0]

    one_round = 2 * 2**21 * build_communicator(pair).running_channels
    assert drained(16 * MIB) == pytest.approx(1 / 2)
    assert drained(4 * one_round) == pytest.approx(1 / 8)
    assert drained(16 * MIB, A100) == pytest.approx(1 / 14)


def test_one_way_through_host_memory_is_faster_than_both():
    assert predict("broadcast", CARDS, "1GiB").algbw > 1.8 * predict("allreduce", CARDS, "1GiB").algbw


def test_gpudirect_off_is_slower_over_one_nic():
    pair = parse_facts("A100-PCIE-40GB", 2, 2, "none", "1xHDR200 IB", "yes")
    assert (
        predict("allreduce", pair, "256MiB", NCCL_NET_GDR_LEVEL="LOC").time
        > 1.1 * predict("allreduce", pair, "256MiB").time
    )


def test_tcp_is_held_back_by_the_cpu_on_a_fast_wire_and_by_the_wire_on_a_slow_one():
    fast = parse_facts("A100-SXM4", 8, 2, "nvlink3-mesh4", "2xSlingshot (TCP sockets)")
    assert predict("allgather", fast, "4GiB").busbw < 2 * 4.4e9
    assert predict("allreduce", ETHERNET, "1GiB").busbw == pytest.approx(1.25e9 * 0.91, rel=0.1)


def test_fewer_channels_are_counted():
    assert predict("allreduce", A100, "1GiB").channels == 24
    assert predict("allreduce", A100, "1GiB", NCCL_MAX_NCHANNELS=8).channels == 8


def test_the_tuner_stands_next_to_the_model():
    run = predict("allreduce", A100, "1GiB")
    assert run.tuner is not None
    assert run.tuner_time == pytest.approx(56e-6 + GIB / 137.142857e9, rel=1e-3)
    assert predict("alltoall", A100, "1GiB").tuner_time is None
    assert "tuner believes" in str(run)


def test_mistakes_get_a_sentence():
    with pytest.raises(CollsimError, match="did you mean 'allreduce'"):
        predict("allreduc", A100, 8)
    with pytest.raises(CollsimError, match="NCCL_CROSS_NIC"):
        predict("allreduce", TWO_H100, 8, NCCL_CROSS_NIC=3)
    with pytest.raises(CollsimError, match="NCCL_P2P_LEVEL"):
        predict("allreduce", A100, 8, NCCL_P2P_LEVEL="near")
    with pytest.raises(CollsimError, match="each node needs"):
        Facts("A100", 80, ranks=1, nodes=2)


def test_graphs_that_nccl_is_known_to_find():
    """DGX-1V 6 x 20 and 12 channels, DGX A100 12 x 20 and 24, H100 12 x 30 and 24, two nodes of H100 8 x 45 and 16,
    B200 16 x 45."""
    known = {V100: (6, 20.0, 12), A100: (12, 20.0, 24), H100: (12, 30.0, 24), TWO_H100: (8, 45.0, 16)}
    for machine, (channels, speed, running) in known.items():
        comm = build_communicator(machine)
        assert (comm.ring.channels, comm.ring.bw_intra, comm.running_channels) == (channels, speed, running), (
            machine.gpu
        )
    b200 = build_communicator(parse_facts("B200", 8, 1, "nvlink5-nvswitch", "none"))
    assert (b200.ring.channels, b200.ring.bw_intra) == (16, 45.0)
    nvls = [g for g in (build_communicator(H100).nvls, b200.nvls) if g]
    assert [(g.channels, g.bw_intra) for g in nvls] == [(8, 40.0), (8, 80.0)]


@pytest.mark.parametrize(("asked", "said"), WRONG, ids=[said for _, said in WRONG])
@pytest.mark.parametrize("collective", ["allreduce", "alltoall", "sendrecv"])
def test_what_nccl_does_not_take_is_refused_by_name_for_every_collective(collective, asked, said):
    for machine in (A100, TWO_H100):
        with pytest.raises(CollsimError, match=re.escape(said.removesuffix("$")) + "$" * said.endswith("$")):
            predict(collective, machine, MIB, **asked)


@pytest.mark.parametrize("unset", [None, ""])
def test_none_and_nothing_are_not_set(unset):
    names = (
        "ALGO",
        "PROTO",
        "P2P_DISABLE",
        "P2P_LEVEL",
        "NET_GDR_LEVEL",
        "MAX_NCHANNELS",
        "CROSS_NIC",
        "NVLS_ENABLE",
        "PAT_ENABLE",
    )
    for machine in (H100, TWO_H100):
        usual = predict("allreduce", machine, GIB)
        assert usual.algorithm.startswith("NVLS")
        assert predict("allreduce", machine, GIB, **{f"NCCL_{name}": unset for name in names}) == usual


def test_two_leaves_nvls_and_pat_to_nccl():
    singles = parse_facts("H100-SXM5", 8, 8, "none", "1xNDR400 IB")
    for variable, machine, collective in (
        ("NCCL_NVLS_ENABLE", H100, "allreduce"),
        ("NCCL_PAT_ENABLE", singles, "allgather"),
    ):
        usual, off, chosen = (
            predict(collective, machine, 64 * KIB, **asked) for asked in ({}, {variable: 0}, {variable: "2"})
        )
        assert chosen == usual != off


def test_a_level_is_a_number_or_its_text():
    for variable in ("NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"):
        number, text, word = (predict("allreduce", TWO_H100, GIB, **{variable: value}) for value in (0, "0", "LOC"))
        assert number == text == word != predict("allreduce", TWO_H100, GIB)


def test_ranks_are_a_whole_number_in_any_form():
    assert (
        predict("allreduce", A100, GIB, ranks="4")
        == predict("allreduce", A100, GIB, ranks=4.0)
        == predict("allreduce", A100, GIB, ranks=4)
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_no_bytes_take_the_time_of_a_call(machine):
    for collective, protocol in itertools.product(BUSBW, ("", "LL", "Simple")):
        nothing, little = (predict(collective, machine, size, NCCL_PROTO=protocol) for size in (0, 8))
        assert 0 < nothing.time <= little.time
        assert nothing.busbw == nothing.algbw == 0


def test_a_prediction_says_what_it_is_in_a_line_and_can_be_in_a_set():
    first, same = (predict("allreduce", "dgx-a100", "64MiB") for _ in range(2))
    assert re.fullmatch(r"<Prediction allreduce of 64 MiB on 8 ranks: .* \(Ring, .*, \d+ channels\)>", repr(first))
    assert len({first, same}) == 1


def test_one_size_is_a_size_and_not_its_letters():
    choices = predict_choices("allreduce", cs.machine("dgx-a100", nodes=2), "64MiB", nodes=[2])
    assert list(choices["nbytes"]) == [64 * 2**20]


@pytest.mark.parametrize(
    ("machine", "settings", "slowest"),
    [
        (cs.machine("rtx4090-8gpu", gpu="RTX 5090", pcie=5), {}, "18"),
        (cs.machine("pcie-8gpu-single-root"), {"NCCL_P2P_DISABLE": 1}, "3"),
    ],
    ids=["sockets of 16 GB/s", "eight hops over one uplink"],
)
def test_where_the_search_of_nccl_falls_back_the_tuner_has_no_estimate_of_the_machine(machine, settings, slowest):
    """search.cc sets 0.1 GB/s there: NVIDIA/nccl-tests issue 287 has the line "falling back to simple order" of two RTX
    5090 on an EPYC. The tuner's time is NCCL's own all the same: 2(n-1)/n * bytes at 0.1 GB/s."""
    prediction = predict("allreduce", machine, GIB, **settings)
    assert prediction.tuner_time == pytest.approx(1.75 * GIB / 0.1e9, rel=0.01)
    assert any(f"its slowest channel ({slowest} GB/s) and falls back to 0.1 GB/s" in n for n in prediction.notes)


def test_where_the_search_finds_a_ring_nothing_is_said_of_a_fall_back():
    assert not any("falls back" in n for n in predict("allreduce", cs.machine("pcie-8gpu"), GIB).notes)
