"""What a log states beats what fits: causes that it states are named, and those that it rules out are not."""

from dataclasses import replace

import pytest

import collsim as cs
from collsim.nccl import create_run, explain_gap

SIZES = [2**k for k in range(20, 31, 2)]
HEAD = "n0:1:2 [0] NCCL INFO "
BOX, TWO = cs.machine("dgx-a100"), cs.machine("dgx-a100", nodes=2, nics=2)


def write_log(path, *lines, ranks=8, via="P2P/CUMEM"):
    """A log of a ring, with more lines."""
    ring = "Channel 00/02 :  " + "".join(f"{rank:5d}" for rank in range(ranks))
    texts = [ring, f"Channel 00/0 : 0[0] -> 1[1] via {via}", *lines]
    path.write_text("".join(f"{HEAD}{text}\n" for text in texts))
    return cs.load(path)


def slow(machine, log, factor, ranks=None, **settings):
    """The verdict on a run that takes so many times as long as predicted."""
    times = [factor * cs.nccl.predict("allreduce", machine, n, ranks=ranks, **settings).time for n in SIZES]
    return explain_gap(create_run("allreduce", machine, SIZES, times, ranks=ranks, log=log))


def list_hypotheses(gap):
    return {c.key for c in (*((gap.best,) if gap.best else ()), *gap.alternatives)}


@pytest.mark.parametrize(
    ("machine", "lines", "via", "key"),
    [
        (BOX, ["NCCL_P2P_LEVEL set by environment to LOC"], "SHM/direct/direct", "p2p_off"),
        (TWO, ["NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket"], "P2P/IPC", "tcp"),
        (TWO, ["Using network IB", "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/0"], "P2P/IPC", "gdr_off"),
        (TWO, ["NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"], "P2P/IPC", "one_nic"),
        (TWO, ["NET/IB : Using [0]mlx5_bond_0:1/RoCE [1]mlx5_bond_1:1/RoCE; OOB x"], "P2P/IPC", "one_qp"),
        (cs.machine("dgx-h100"), ["NVLS multicast support is not available on dev 0"], "P2P/CUMEM", "nvls_off"),
    ],
)
def test_a_cause_that_the_log_states_is_named(machine, lines, via, key, tmp_path):
    gap = slow(machine, write_log(tmp_path / "nccl.log", *lines, ranks=machine.ranks, via=via), 1.9)
    assert gap.best.key == key
    assert gap.is_stated
    assert "The log states the cause" in str(gap)


def test_trays_of_different_cliques_are_joined_by_the_network(tmp_path):
    lines = [f"MNNVL busId 0x{k} fabric UUID 4a.7c cliqueId 0x{k} state 3 healthMask 0x0" for k in (1, 2)]
    domain = cs.machine("gb200-nvl72")
    log = write_log(tmp_path / "nccl.log", *lines, "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 MNNVL 0")
    gap = slow(domain, log, 4.0, ranks=8)
    assert gap.best.key == "split_domain"
    joined = write_log(tmp_path / "nccl.log", *lines, "comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 MNNVL 1")
    assert "split_domain" not in list_hypotheses(slow(domain, joined, 4.0, ranks=8))


def test_what_the_log_rules_out_is_not_named(tmp_path):
    """A run as without P2P; the transports say that there is P2P, and no variable was set."""
    assert "p2p_off" in list_hypotheses(slow(BOX, None, 1.0, NCCL_P2P_DISABLE=1))
    gap = slow(BOX, write_log(tmp_path / "nccl.log", "24 coll channels, 24 collnet channels"), 1.0, NCCL_P2P_DISABLE=1)
    assert not {"p2p_off", "ring", "tree", "simple", "ll", "channels", "nvls_off"} & {c.key for c in gap.candidates}


def test_a_pinned_algorithm_is_part_of_the_prediction(tmp_path):
    log = write_log(tmp_path / "nccl.log", "NCCL_ALGO set by environment to Tree", ranks=16)
    gap = slow(TWO, log, 1.0, NCCL_ALGO="Tree")
    assert gap.is_agreement


def test_a_healthy_run_has_nothing_to_explain_whatever_the_log_states(tmp_path):
    """NVLS is never there on an A100, and a card list of one is no fault where the run is as fast as predicted."""
    log = write_log(tmp_path / "nccl.log", "NVLS multicast support is not available on dev 0", via="SHM/direct")
    assert slow(BOX, log, 1.0).is_agreement
    assert "no fault to look for" in str(slow(BOX, log, 0.5))


def test_a_machine_whose_change_cannot_be_modelled_is_still_explained():
    """Without P2P the hosts of an NVLink domain share no memory, which ended the whole explanation in an error."""
    gap = slow(cs.machine("gb200-nvl72"), None, 5.0, ranks=8)
    assert "p2p_off" not in {c.key for c in gap.candidates}


def test_statements_of_a_log(tmp_path):
    path = tmp_path / "nccl.log"
    write_log(
        path, "NCCL_IB_HCA set to mlx5_0", "NCCL_MAX_NCHANNELS set by environment to 4.", "4 coll channels, 0 nvls"
    )
    path.write_text(path.read_text() + "n0:1:2 [0] misc/shmutils.cc:88 NCCL WARN Error: No space left on device (28)\n")
    job = cs.load(path)
    assert dict(job.statements.environment) == {"NCCL_IB_HCA": "mlx5_0", "NCCL_MAX_NCHANNELS": "4"}
    assert job.statements.channels == 4
    assert "set: NCCL_MAX_NCHANNELS=4" in str(job)
    assert "P2P is off" not in str(job)
    assert "P2P is off" in str(write_log(tmp_path / "shm.log", via="SHM/direct/direct"))
    assert "warning: Error: No space left on device (28)" in str(job)


def test_a_line_at_the_end_keeps_the_number_of_nodes(tmp_path):
    job = write_log(
        tmp_path / "nccl.log",
        "comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8",
        "comm 0x1 rank 0 nranks 8 - Init COMPLETE",
    )
    assert job.nodes == 1


def test_published_run_without_log_has_no_evidence():
    run = create_run("allreduce", BOX, SIZES, [1.0] * len(SIZES))
    assert (run.confirmed, run.excluded) == (frozenset(), frozenset())
    assert replace(run, confirmed=frozenset({"p2p_off"})).confirmed
