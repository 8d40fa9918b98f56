"""Fleets made at random: healthy nodes with noise, one of them with a planted fault, in the forms of the tools."""

import json
import random
import time
from pathlib import Path

import pytest

import collsim as cs
from collsim.diagnosis import compare_nodes
from collsim.diagnosis.fleet_nodes import is_fleet, name_nodes

GPUS, NVLINKS, GBITS, GPU = 8, 18, 400, "NVIDIA H100 80GB HBM3"
HEALTHY_BUSBW = 480.0
FAULTS = ("nvlink", "lanes", "port_down", "port_rate", "card_missing", "slow_card", "slow_node", "driver", "variable")


class Fleet:
    """The files of a number of nodes; `fault` is that of one of them."""

    def __init__(self, seed, nodes, fault=""):
        self.draw = random.Random(seed)
        self.fault = fault
        self.nodes = [f"gpu-node-{k:03}" for k in range(nodes)]
        self.odd = self.draw.choice(self.nodes)
        self.part = self.draw.randrange(GPUS)

    def write(self, folder):
        for node in self.nodes:
            (folder / node).mkdir()
            fault = self.fault if node == self.odd else ""
            for name, text in self.texts(node, fault).items():
                (folder / node / name).write_text(text)
        return folder

    def texts(self, node, fault):
        return {
            "nvlink.txt": self.nvlink(fault),
            "pcie.csv": self.pcie(fault),
            "ibstat.txt": self.ibstat(fault),
            "ib_write_bw.txt": self.card_tests(fault),
            "all_reduce_perf.txt": self.table(node, fault),
            "nccl.log": self.log(node, fault),
            "nvidia-smi.txt": f"| NVIDIA-SMI 570.1 Driver Version: {'535.54' if fault == 'driver' else '570.133'} CUDA Version: 12.8 |",
        }

    def is_odd(self, fault, name, part):
        return fault == name and part == self.part

    def nvlink(self, fault):
        lines = []
        for gpu in range(GPUS):
            lines.append(f"GPU {gpu}: {GPU} (UUID: GPU-{gpu})")
            for link in range(NVLINKS):
                down = self.is_odd(fault, "nvlink", gpu) and link < 2
                lines.append(f"\t Link {link}: {'<inactive>' if down else '26.562 GB/s'}")
        return "\n".join(lines)

    def pcie(self, fault):
        head = "index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max"
        lanes = [8 if self.is_odd(fault, "lanes", gpu) else 16 for gpu in range(GPUS)]
        return "\n".join([head, *(f"{gpu}, P0, 5, 5, {lanes[gpu]}, 16" for gpu in range(GPUS))])

    def ibstat(self, fault):
        texts = []
        for card in range(GPUS):
            if self.is_odd(fault, "card_missing", card):
                continue
            state = "Down" if self.is_odd(fault, "port_down", card) else "Active"
            rate = 200 if self.is_odd(fault, "port_rate", card) else GBITS
            texts.append(
                f"CA 'mlx5_{card}'\n\tPort 1:\n\t\tState: {state}\n\t\tRate: {rate}\n\t\tLink layer: InfiniBand"
            )
        return "\n".join(texts)

    def card_tests(self, fault):
        texts = []
        for card in range(GPUS):
            rate = GBITS * self.draw.uniform(0.965, 0.985)
            if self.is_odd(fault, "slow_card", card):
                rate *= 0.85
            texts.append(
                f" Number of qps   : 1\t\tTransport type : IB\n Device         : mlx5_{card}\n Link type       : IB\n"
                " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                f" 65536      5000             {rate + 1:.2f}             {rate:.2f}    0.74\n"
            )
        return "\n".join(texts)

    def table(self, node, fault):
        busbw = HEALTHY_BUSBW * self.draw.uniform(0.99, 1.01) * (0.8 if fault == "slow_node" else 1)
        return write_table([node], busbw)

    def log(self, node, fault):
        lines = [f"{node}:4000:4001 [0] NCCL INFO NCCL version 2.26.2+cuda12.8"]
        if fault == "variable":
            lines.append(f"{node}:4000:4001 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 5.")
        for rank in range(GPUS):
            tag = f"{node}:{4000 + rank}:{5000 + rank} [{rank}] NCCL INFO"
            lines.append(f"{tag} NCCL_SOCKET_IFNAME set by environment to eth0")
            lines += [f"{tag} Channel {channel:02}/16 :    0  1  2  3  4  5  6  7" for channel in range(16)]
            lines += [
                f"{tag} Channel {channel:02}/0 : {rank}[{rank}] -> {(rank + 1) % GPUS}[{(rank + 1) % GPUS}] via P2P/CUMEM"
                for channel in range(16)
            ]
        return "\n".join(lines)


def write_table(hosts, busbw):
    """A table of all_reduce_perf over all GPUs of the hosts."""
    ranks = GPUS * len(hosts)
    lines = ["# nThread 1 nGpus 1 minBytes 8589934592", "# Using devices"]
    lines += [
        f"#  Rank {rank:2} Group  0 Pid {4000 + rank:6} on {hosts[rank // GPUS]:>10} device {rank % GPUS:2} [0x{17 + rank:02x}] {GPU}"
        for rank in range(ranks)
    ]
    lines.append(
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    )
    nbytes = 2**33
    algbw = busbw / (2 * (ranks - 1) / ranks)
    half = f"{nbytes / algbw / 1e3:9.1f} {algbw:7.2f} {busbw:7.2f}      0"
    return "\n".join([*lines, f"{nbytes:12} {nbytes // 4:13}     float     sum      -1 {half} {half}"])


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_the_odd_node_is_named_and_no_other(number, tmp_path):
    fleet = Fleet(number, 12, FAULTS[number])
    found = compare_nodes(fleet.write(tmp_path))
    assert found.odd_nodes == (fleet.odd,), found.report()
    parts = {odd.reading.part for odd in found.odd}
    named = {"nvlink": f"GPU {fleet.part}", "lanes": f"GPU {fleet.part}", "slow_card": f"mlx5_{fleet.part} (1 QP)"}
    named |= dict.fromkeys(("port_down", "port_rate", "card_missing"), f"mlx5_{fleet.part}")
    named |= {"variable": "NCCL_IB_TIMEOUT"}
    assert named.get(FAULTS[number]) in {*parts, None}, found.report()


@pytest.mark.parametrize("number", range(4))
def test_a_healthy_fleet_has_no_odd_node(number, tmp_path):
    found = compare_nodes(Fleet(100 + number, 12).write(tmp_path))
    assert (found.verdict, found.odd_nodes) == ("alike", ()), found.report()


def test_what_all_nodes_have_is_told_of_the_typical_one(tmp_path):
    fleet = Fleet(7, 4)
    fleet.nvlink = lambda fault: ""
    fleet.log = lambda node, fault: f"{node}:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1."
    found = compare_nodes(fleet.write(tmp_path))
    assert found.verdict == "alike"
    assert found.typical.job.nodes == 1
    assert found.typical.cost.possible == pytest.approx(HEALTHY_BUSBW * 1e9, rel=0.1)


def write_pairs(folder, nodes, rate):
    for first in range(nodes):
        for second in range(first + 1, nodes):
            hosts = [f"n{first}", f"n{second}"]
            (folder / f"{first}-{second}.txt").write_text(write_table(hosts, rate(first, second)))
    return folder


def test_of_pairs_the_node_that_is_slow_with_all_is_told_from_a_slow_cable(tmp_path):
    def rate(first, second):
        if 3 in (first, second):
            return 200.0
        return 250.0 if (first, second) == (0, 5) else 330.0

    found = compare_nodes(write_pairs(tmp_path, 7, rate))
    assert [odd.node for odd in found.odd] == ["n3"]
    assert [pair.nodes for pair in found.slow_pairs] == [("n0", "n5")]
    assert found.predicted_pair == pytest.approx(
        cs.nccl.predict("allreduce", cs.machine("dgx-h100", nodes=2), 2**33).busbw
    )
    assert found.list_rows()[-1]["node"] == "n0 – n5"


def test_names_are_replaced_everywhere(tmp_path):
    fleet = Fleet(3, 5, "variable")
    found = compare_nodes(fleet.write(tmp_path), anonymize=True)
    for text in (found.to_json(), found.report(), found.report("zh", "html"), str(found.list_rows())):
        assert "gpu-node" not in text
    assert json.loads(found.to_json())["verdict"] == "odd"


def test_nodes_stand_in_names_of_files(tmp_path):
    for node in Fleet(1, 3).nodes:
        (tmp_path / f"{node}.ibstat.txt").write_text("CA 'mlx5_0'\n\tRate: 400\n\tLink layer: InfiniBand")
    assert is_fleet([tmp_path])
    assert set(name_nodes([file.name for file in tmp_path.iterdir()]).values()) == set(Fleet(1, 3).nodes)
    assert name_nodes(["nccl_rank0.log", "nccl_rank1.log", "nccl_rank2.log"]) == {}


def test_a_bundle_of_one_job_is_no_fleet():
    folder = Path(__file__).parents[2] / "examples" / "slow-job"
    assert folder.is_dir()
    assert not is_fleet([folder])


def test_too_few_nodes_are_refused(tmp_path):
    with pytest.raises(cs.CollsimError, match="files of 2 nodes"):
        compare_nodes(Fleet(1, 2).write(tmp_path))
    with pytest.raises(cs.CollsimError, match="files of 1 node;"):
        compare_nodes({"n1/a.txt": "x"})


@pytest.mark.slow
def test_a_hundred_nodes_take_less_than_ten_seconds(tmp_path):
    fleet = Fleet(5, 100, "slow_card")
    fleet.write(tmp_path)
    start = time.process_time()
    found = compare_nodes(tmp_path)
    assert time.process_time() - start < 10
    assert found.odd_nodes == (fleet.odd,)
