"""The words of tables of measurements."""

import itertools

import pytest
from sampling import sample

from collsim.errors import CollsimError
from collsim.nccl import parse_facts, predict
from collsim.nccl.machine.machine_facts import parse_launch
from collsim.nccl.machine.machine_words import parse_network
from collsim.nccl.nccl_prediction import BUSBW


@pytest.mark.parametrize(
    ("intra", "inside", "rate"),
    [
        ("nvlink3-nvswitch", "nvswitch", 300e9),  # 12 links x 25 GB/s
        ("nvlink3-mesh4", "mesh", 300e9),
        ("nvlink4-nvswitch-h800", "nvswitch", 200e9),  # 8 links x 25
        ("pcie4-x16-p2p", "pcie", 31.5e9),
        ("pcie4-x8-p2p", "pcie", 15.75e9),
        ("pcie5-x16-2switch-1root", "pcie", 63e9),
        ("pcie3-x16-nop2p", "host", 15.75e9),
        ("shm", "host", 31.5e9),
    ],
)
def test_links_inside_a_node(intra, inside, rate):
    machine = parse_facts("A100-SXM4", 4, 1, intra, "none")
    assert (machine.wiring, machine.link_rate) == (inside, pytest.approx(rate))


@pytest.mark.parametrize(
    ("inter", "nics", "gigabits", "net"),
    [
        ("8xNDR400 IB", 8, 400, "ib"),
        ("1x10GbE (TCP sockets)", 1, 10, "tcp"),
        ("16x200G EFA", 16, 200, "efa"),
        ("8x200GbE TCPXO", 8, 200, "tcpxo"),
        ("2xSlingshot (libfabric cxi)", 2, 200, "slingshot"),
        ("1 NIC 400G per GPU (rate inferred)", 8, 400, "ib"),
        ("200G RoCE (2x100G functions)", 8, 200, "roce"),
        ("EFA", 8, 400, "efa"),
        ("32xEFA", 32, 100, "efa"),
        ("NIC rate not stated", 8, 400, "ib"),
        ("HDR200 IPoIB (TCP sockets)", 1, 200, "tcp"),
        ("3x800G RoCE", 3, 800, "roce"),
        ("IB/RoCE (rate not stated)", 8, 400, "ib"),
        ("8x400G", 8, 400, "ib"),
        ("4xHDR100", 4, 100, "ib"),
        ("2x100Gb Ethernet", 2, 100, "roce"),
    ],
)
def test_networks(inter, nics, gigabits, net):
    machine = parse_facts("H100-SXM5", 16, 2, "nvlink4-nvswitch", inter)
    assert (machine.nics, machine.nic_rate, machine.net) == (nics, gigabits * 1e9 / 8, net)


def test_an_nvlink_domain_over_several_trays_is_one_node():
    rack = parse_facts("GB200", 72, 18, "nvlink5-nvl72", "nvl72 (MNNVL)")
    assert (rack.nodes, rack.local_ranks, rack.ranks_per_host) == (1, 72, 4)
    assert parse_facts("B200", 72, 1, "nvlink5-nvl72", "none") == rack  # as one node: a B200 of a rack is a GB200
    racks = parse_facts("GB200", 144, 36, "nvlink5-nvl72", "400G IB per GPU between racks")
    assert (racks.nodes, racks.nics) == (2, 72)


@pytest.mark.parametrize(
    ("gpu", "intra", "inter", "word"),
    [
        ("H100", "carrier-pigeon", "8xNDR400 IB", "carrier-pigeon"),
        ("H100", "nvlink9-nvswitch", "8xNDR400 IB", "9"),
        ("H100", "nvlink4-nvswitch", "none", "none"),
        ("H100", "nvlink4-nvswitch", "warp 99", "warp 99"),
        ("H100", "nvlink4-nvswitch", "wibble", "wibble"),
        ("RTX 4090", "nvlink4-nvswitch", "8xNDR400 IB", "no NVLink"),
        ("MI300X", "nvlink4-nvswitch", "8xNDR400 IB", "no NVLink"),
    ],
)
def test_a_word_that_is_not_understood_is_named(gpu, intra, inter, word):
    with pytest.raises(CollsimError, match=word):
        parse_facts(gpu, 16, 2, intra, inter)


def test_wiring_that_nobody_states_is_the_usual_one():
    assert parse_facts("A100-SXM4", 8, 1, "", "none").wiring == "nvswitch"
    assert parse_facts("RTX 4090", 8, 1, "none", "none").wiring == "host"


def test_a_pcie_fabric_between_boxes_is_farther_than_a_slot():
    assert parse_facts("A100-PCIE-40GB", 2, 1, "pcie4-fabric-nop2p", "none").crosses_sockets
    assert not parse_facts("A100-PCIE-40GB", 2, 1, "pcie4-x16-nop2p", "none").crosses_sockets


def test_efa_has_gpudirect_rdma_since_the_a100():
    assert parse_facts("V100-SXM2-32GB", 16, 2, "nvlink2-hybridcubemesh", "1x100G EFA").gdr is False
    assert parse_facts("A100-SXM4-40GB", 16, 2, "nvlink3-nvswitch", "4x100G EFA").gdr is None


GPUS = (
    "V100-SXM2-32GB",
    "A100-PCIE-40GB",
    "A40",
    "RTX 4090",
    "H100-SXM5-80GB",
    "GB200",
    "GB10",
    "RTX PRO 6000 Blackwell 96GB",
    "MI300X",
)
LINKS = (
    "none",
    "nvlink2-hybridcubemesh",
    "nvlink3-bridge",
    "nvlink4-mesh4",
    "nvlink5-nvl72",
    "pcie4-fabric-nop2p",
    "pcie5-plx-p2p",
    "shm",
    "xgmi-mi300x",
)
NETS = (
    "1x10GbE (TCP sockets)",
    "16x200G EFA",
    "HDR200 IPoIB (TCP sockets)",
    "8xNDR400 IB",
    "NIC rate not stated",
    "nvl72 (MNNVL)",
)


@pytest.mark.parametrize("gpu", sample(GPUS, 1))
def test_every_combination_of_words_is_predicted_sanely_or_refused_in_a_sentence(gpu):
    """More bytes never take much less time, and no link gives more than it has (NVLS sends half of what busbw
    counts)."""
    predicted = 0
    for link, net, nodes, local in itertools.product(LINKS, NETS, (1, 2, 16), (1, 3, 8)):
        if nodes == 1 and net != NETS[0]:
            continue  # nothing crosses it
        try:
            machine = parse_facts(gpu, nodes * local, nodes, link, net)
        except CollsimError:
            continue
        for collective in BUSBW if machine.ranks > 1 else ():
            runs = [predict(collective, machine, n) for n in (8, 2**16, 2**24, 2**32)]
            assert all(b.time > 0.6 * a.time > 0 for a, b in itertools.pairwise(runs)), (
                link,
                net,
                nodes,
                local,
                collective,
            )
            if machine.nodes == 1:
                assert runs[-1].busbw <= machine.link_rate * (2 if runs[-1].algorithm == "NVLS" else 1), (
                    link,
                    local,
                    collective,
                )
            predicted += 1
    assert predicted > 300


@pytest.mark.parametrize(
    ("gpu", "intra", "cc", "pcie", "inside", "rate"),
    [
        ("H900", "nvlink4-nvswitch", 90, 5, "nvswitch", 18 * 25e9),  # by the generation of its NVLink
        ("RTX 4070 Ti SUPER", "pcie4-x16-nop2p", 89, 4, "host", 31.5e9),  # by its series
        ("RTX 6000D", "pcie5-x16-p2p", 120, 5, "pcie", 63e9),
        ("Radeon AI PRO R9700", "pcie5-x16-nop2p", 0, 5, "host", 63e9),
        ("Banana", "pcie3-x16-p2p", 75, 3, "pcie", 15.75e9),  # by its slot
        ("Banana", "", 89, 4, "host", 31.5e9),  # nobody says anything: PCIe 4, through host memory
    ],
)
def test_a_gpu_that_no_table_knows_is_what_the_other_words_make_of_it(gpu, intra, cc, pcie, inside, rate):
    found = parse_facts(gpu, 2, 1, intra, "none")
    assert (found.cc, found.pcie, found.wiring, found.link_rate) == (cc, pcie, inside, rate)
    assert "gpu" in found.guessed
    notes = predict("allreduce", found, 1024).notes
    assert any(gpu in note and "in no table" in note for note in notes)
    assert parse_facts("H100", 2, 1, "nvlink4-nvswitch", "none").guessed == frozenset()


def test_a_network_card_next_to_an_apu_has_four_lanes():
    """Of PCIe 4: 31.5 GB/s / 4, whatever the card; there is no slot between GPU and CPU where both ways would meet."""
    fast, slow = (parse_facts("Strix Halo", 2, 2, "none", f"1x{rate}GbE RoCE") for rate in (100, 25))
    assert (fast.nic_rate, slow.nic_rate) == (31.5e9 / 4, 25e9 / 8)
    assert not fast.is_pcie_card
    assert parse_facts("Radeon AI PRO R9700", 2, 2, "none", "1x100GbE RoCE").is_pcie_card


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("one process, -g 8 (guide: nccl-tests on one host)", "one process"),
        ("mpirun, one process per node, -g 8 in each", "one process"),
        ("mpirun --bind-to numa, one process per GPU", "process per gpu"),
        ("mpirun --bind-to numa, one process per GPU, HIP graph (-G 1)", "graph"),
        ("not stated (16 ranks taken)", ""),
        ("", ""),
    ],
)
def test_who_launches_is_read_from_the_words_of_a_table(said, means):
    assert parse_launch(said) == means


def test_a_small_call_is_the_longer_the_more_one_process_launches():
    """A graph launches nothing, a process per GPU once, one process for all eight times; the kernel before overlaps."""
    box = parse_facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")
    graph, each, one = (
        predict("allreduce", box, 1024, launch=how) for how in ("graph", "process per gpu", "one process")
    )
    assert graph.time < each.time < one.time
    for p, host in ((graph, 0.0), (each, 2.7e-6 + 3.4e-6), (one, 2.7e-6 + 8 * 3.4e-6)):
        kernel = 4.1e-6 + p.parts.steps + p.parts.bytes + p.parts.fill
        assert p.time == pytest.approx((host**1.25 + kernel**1.25) ** 0.8)
    large = [predict("allreduce", box, 2**33, launch=how).time for how in ("graph", "one process")]
    assert large[1] / large[0] == pytest.approx(1, abs=0.01)
    with pytest.raises(CollsimError, match="two processes"):
        predict("allreduce", box, 1024, launch="two processes")


@pytest.mark.parametrize("column", ["gpu_name", "intra_link", "inter_link"])
def test_words_longer_than_any_machine_needs_are_refused_before_they_are_read(column):
    words = {"gpu_name": "A100", "intra_link": "pcie4-x16-p2p", "inter_link": "8xHDR200 IB"}
    said = r"(gpu|intra_link|inter_link)='.{40}\.\.\.' has 1001 letters; write at most 1000"
    with pytest.raises(CollsimError, match=said):
        parse_facts(ranks=16, nodes=2, **(words | {column: "1" * 1001}))
    with pytest.raises(CollsimError, match="has 1001 letters"):
        parse_network("(" * 1001)


def test_a_b200_of_a_rack_is_a_gb200():
    rack = parse_facts("B200", 72, 18, "nvlink5-nvl72", "nvl72 (MNNVL)")
    assert (rack.gpu, rack.cpu, rack.trays) == ("GB200", "arm", 18)
    assert parse_facts("B200", 8, 1, "nvlink5-nvswitch", "none").gpu == "B200"


def test_a_rate_that_the_words_leave_open_is_marked_as_guessed():
    def guessed(word):
        return parse_facts("H100-SXM5", 16, 2, "nvlink4-nvswitch", word).guessed

    assert {"nic_rate"} == guessed("") == guessed("NIC rate not stated") == guessed("8x400G IB/RoCE (not stated)")
    assert frozenset() == guessed("8xNDR400 IB") == guessed("1x10GbE (TCP sockets)")
    assert {"slingshot"} == guessed("2xSlingshot") == guessed("2xSlingshot (libfabric)")
    assert {"nic_rate"} == guessed("Slingshot") == guessed("8xConnectX-7 IB")


@pytest.mark.parametrize(
    ("word", "gigabits"),
    [
        *(
            ("4xSlingshot-10", 100),
            ("4xSlingshot 11", 200),
            ("4xSlingshot11", 200),
            ("2xSlingshot (libfabric cxi)", 200),
        ),
        *(("8xNDR IB", 400), ("8xHDR IB", 200), ("1xEDR IB", 100), ("8xHDR100 IB", 100), ("4xSlingshot200", 200)),
    ],
)
def test_a_generation_states_the_rate_of_a_card_and_its_number_is_no_rate(word, gigabits):
    network = parse_network(word)
    assert (network.rate * 8e-9, network.guessed) == (gigabits, "")


def test_nvls_over_a_rack_follows_published_rates():
    """72 GB200 (coreweave/nccl-tests pull request 43): 1.81 ms for 512 MiB and 20.3 ms for 8 GiB, where 1,101 GB/s of busbw
    were predicted; two trays are as fast as a board."""
    rack = parse_facts("GB200", 72, 18, "nvlink5-nvl72", "nvl72 (MNNVL)")
    for size, seconds in (("512MiB", 1.81e-3), ("2GiB", 5.59e-3), ("8GiB", 20.3e-3)):
        assert predict("allreduce", rack, size).time == pytest.approx(seconds, rel=0.2), size
    two, board = (
        predict("allreduce", parse_facts("GB200", 8, *words), "8GiB").time
        for words in ((2, "nvlink5-nvl72", "nvl72 (MNNVL)"), (1, "nvlink5-nvswitch", "none"))
    )
    assert two == pytest.approx(board, rel=0.02)
