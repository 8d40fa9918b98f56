"""Data staged through host memory: the flows of a ring on the links of a box, against rates that people measured."""

import warnings

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import parse_facts, predict
from collsim.nccl.machine.host_flows import compute_staged_rates, list_flows, list_tree_flows
from collsim.nccl.measured.gaps import HYPOTHESES, predict_under_hypothesis
from collsim.nccl.measured.published_runs import create_run
from collsim.nccl.model.links import MEASURED

GIB = 2**30
GB = 1e9


def box(rows, **options):
    """A machine from the words of nvidia-smi topo -m between its GPUs, all on the sockets that `rows` say."""
    words, sockets = rows
    count = len(sockets)
    lines = ["\t".join(["", *(f"GPU{i}" for i in range(count)), "CPU Affinity", "NUMA Affinity"])]
    for i, socket in enumerate(sockets):
        cells = [" X " if i == j else words if sockets[j] == socket else "SYS" for j in range(count)]
        lines.append("\t".join([f"GPU{i}", *cells, f"{32 * socket}-{32 * socket + 31}", str(socket)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cs.topology.parse_topology_text("\n".join(lines) + "\n", **options)


def rate(machine, **options):
    """GB/s of busbw of a large allreduce."""
    return predict("allreduce", machine, GIB, **options).busbw / GB


def test_a_pair_under_one_switch_is_half_as_fast_as_one_across_sockets():
    """NVIDIA/nccl issues 1086 and 1309: GeForce has no P2P, so the uplink of the switch carries both copies (maintainer)."""
    pair, apart = (rate(box(rows, gpu="RTX 4090")) for rows in (("PIX", (0, 0)), ("PIX", (0, 1))))
    assert apart == pytest.approx(2 * pair, rel=0.02)
    # 9.1 GB/s both ways on 2 RTX 4090, Panlichen/nccl-tests test_scripts/4090_2card_para
    assert pair == pytest.approx(9.1, rel=0.1)


@pytest.mark.parametrize(
    ("sockets", "measured"),
    [
        ((0, 0, 0, 0), 24),  # NVIDIA/nccl issue 1130: 4 GPUs of one NUMA node, P2P off
        ((0, 0, 1, 1), 35),  # the same, two GPUs on each socket
        ((0, 0, 0, 0, 1, 1, 1, 1), 28),  # NVIDIA/nccl issue 1639: 8 RTX 5090 on two Xeon 8480+
    ],
)
def test_gpus_of_one_socket_share_its_memory(sockets, measured):
    machine = box(("NODE", sockets), gpu="RTX 5090", pcie=5, cpu="sapphire-rapids")
    assert rate(machine) == pytest.approx(measured, rel=0.15)


def test_eight_cards_with_a_slot_each():
    """16.1, 15.5, 16.2 and 15.9 GB/s on 8 RTX 4090: Panlichen/nccl-tests test_scripts/4090_8card_para."""
    machine = cs.machine("rtx4090-8gpu")
    for collective, measured in (
        ("allreduce", 16.1),
        ("allgather", 15.5),
        ("broadcast", 16.2),
        ("reduce_scatter", 15.9),
    ):
        assert predict(collective, machine, 4 * GIB).busbw / GB == pytest.approx(measured, rel=0.15)


def test_a_link_gives_each_flow_its_share():
    """Two GPUs of a DGX A100 share the uplink of a switch: each gets half of 31.5 GB/s, and a chain as much, for its two
    GPUs send as well; a pair of GPUs that sends one way has it alone."""
    facts = predict("allreduce", cs.machine("dgx-a100", p2p=False), 8).facts
    assert compute_staged_rates(facts, "allreduce").slot == pytest.approx(31.5 * GB / 2)
    pair = parse_facts("RTX 4090", 2, 1, "pcie4-x16-nop2p", "none")
    assert compute_staged_rates(pair, "allreduce").slot == pytest.approx(31.5 * GB / 2)
    assert compute_staged_rates(pair, "broadcast").slot == pytest.approx(31.5 * GB)
    assert sum(list_flows("alltoall", 8).values()) == pytest.approx(8)


def test_chains_of_a_tree_across_sockets_take_no_more_than_a_ring():
    """NVIDIA/nccl issue 1130: 35 GB/s with two GPUs on each socket, and 24 with four on one."""
    apart, near = (box(("NODE", sockets), gpu="H100", pcie=5, p2p=False) for sockets in ((0, 0, 1, 1), (0, 0, 0, 0)))
    assert rate(apart) == pytest.approx(35, rel=0.15)
    assert rate(near) == pytest.approx(24, rel=0.15)
    # of two chains, each half of the buffer up and down, every GPU is the end of one: 1.5 buffers
    flows = list_tree_flows(4, True)
    assert {sum(share for (a, _), share in flows.items() if a == gpu) for gpu in range(4)} == {1.5}


def test_the_interval_holds_what_others_measured():
    """NVIDIA/nccl issue 1639: four of eight RTX 5090 reach 35 GB/s, the most of any; nothing says on which sockets they
    sit. Five in six lie inside."""
    machine = box(("NODE", (0, 0, 0, 0)), gpu="RTX 5090", pcie=5, cpu="sapphire-rapids")
    prediction = predict("allreduce", machine, GIB)
    interval = prediction.interval(5 / 6)
    slow, fast = (prediction.busbw * prediction.time / end / GB for end in (interval.high, interval.low))
    assert slow < 24 < 35 < fast


def test_memory_counts_what_is_written_and_what_is_read():
    """Eight flows of four GPUs over 8 x DDR5-4800, 307.2 GB/s."""
    machine = box(("NODE", (0, 0, 0, 0)), gpu="RTX 5090", pcie=5, cpu="sapphire-rapids")
    facts = predict("allreduce", machine, 8).facts
    assert compute_staged_rates(facts, "allreduce").memory == pytest.approx(307.2 * GB / 8)


def test_p2p_that_is_switched_off_is_the_machine_without_it():
    for name in ("dgx-a100", "dgx-h100", "pcie-8gpu"):
        off = rate(cs.machine(name, p2p=False))
        assert rate(cs.machine(name), NCCL_P2P_DISABLE=1) == pytest.approx(off)
        run = create_run("allreduce", cs.machine(name), [GIB], [1.0])
        hypothesis = next(h for h in HYPOTHESES if h.key == "p2p_off")
        (seconds,) = predict_under_hypothesis(hypothesis, run, MEASURED)
        assert 1.75 * GIB / seconds / GB == pytest.approx(off)


def test_without_shared_memory_the_cards_of_the_node_carry_it():
    """One card of 12.5 GB/s for eight GPUs: each gets an eighth of what it carries."""
    machine = cs.machine("rtx4090-8gpu")
    shared = predict("allreduce", machine, GIB, NCCL_SHM_DISABLE=1)
    assert shared.busbw == pytest.approx(12.5 * GB * MEASURED.carries["roce"] / 8, rel=0.02)
    assert any("over its 1 network card" in note for note in shared.notes)
    # NVLink needs no shared memory
    assert predict("allreduce", cs.machine("dgx-a100"), GIB, NCCL_SHM_DISABLE=1).time == pytest.approx(
        predict("allreduce", cs.machine("dgx-a100"), GIB).time
    )
    without_card = parse_facts("RTX 4090", 8, 1, "pcie4-x16-nop2p", "none")
    with pytest.raises(CollsimError, match="give Facts with nics, nic_rate and net"):
        predict("allreduce", without_card, GIB, NCCL_SHM_DISABLE=1)
