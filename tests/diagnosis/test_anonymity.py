"""Nothing that is said of evidence has a name, an address or a path of it, and the answer stays the same."""

import csv
import re
from pathlib import Path

import pytest
from stated_causes import STATED

import collsim as cs
from collsim.diagnosis import compare_nodes, list_studied_cases
from collsim.diagnosis.anonymity import Anonymizer

HOSTILE = """[2026-01-02 10:11:12] gpu-node-01.cluster.acme.com:4100:4160 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>
gpu-node-01:4100:4160 [0] NCCL INFO Bootstrap : Using eth0:fe80::42:acff:fe11:2%eth0<0>
gpu-node-01:4100:4160 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC
gpu-node-01:4100:4160 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /home/alice/secret-project/topo.xml
gpu-node-01:4100:4160 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB eth0:10.1.2.3<0>
gpu-node-01:4100:4160 [0] NCCL WARN Error: failed to extend /dev/shm/nccl-9sFt2d to 9637892 bytes
gpu-node-01:4100:4160 [0] NCCL WARN NET/IB : Got completion from peer 2001:db8:85a3::8a2e:370:7334<45122> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::a288:c203:0a1b:2c3d remoteGidsfe80::a288:c203:0a1b:99ff hca mlx5_0
gpu-node-01:4100:4160 [0] NCCL WARN Call to connect to storage-host-7.acme.com<4242> failed : Connection refused, peer login-1
gpu-node-01:4100:4160 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
bob@gpu-node-02:~$ lsmod | grep nvidia
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c1f7a52-0000-4c1b-9a59-1f6f1c2d3e4f)
	node GUID: 0x1070fd0300abcdef
	Node GUID: 1070:fd03:00ab:cdef
CA 'mlx5_0'
	Port 1:
		State: Active
		Rate: 400
		Port GUID: 0x1070fd0300abcdef
		Link layer: InfiniBand
# Rank  0 Group  0 Pid 4100 on gpu-node-03 device  0 [0x07] NVIDIA A100-SXM4-80GB
/home/alice/run.sh: line 3
Welcome alice to login-1.acme.com; mac aa:bb:cc:dd:ee:ff
root@login-1:/scratch/users/carol# df -h /dev/shm
Filesystem      Size  Used Avail Use% Mounted on
shm              64M   64M     0 100% /dev/shm
C:\\\\Users\\\\dave\\\\logs\\\\x.txt
gpu-node-02: [ 12.3] NVRM: Xid (PCI:0000:07:00): 79, pid=4100, name=python, GPU has fallen off the bus. user=erin
"""
NAMES = (
    "gpu-node",
    "acme",
    "alice",
    "10.1.2.3",
    "fe80",
    "2001:db8",
    "1070fd",
    "1070:fd03",
    "bob",
    "carol",
    "dave",
    "erin",
    "frank",
    "login-1",
    "storage-host",
    "5c1f7a52",
    "aa:bb",
    "192.168",
    "secret-project",
)


def write_everything(diagnosis):
    return "".join((diagnosis.report(), diagnosis.report("zh", "html"), diagnosis.to_json(), repr(diagnosis)))


def test_no_name_address_or_path_is_left_wherever_it_stands():
    texts = {
        "/home/alice/gpu-node-01/nccl.log": HOSTILE,
        "gpu-node-04.txt": "unrecognized by gpu-node-04 of frank@acme.com 192.168.7.9",
    }
    assert all(name in "".join(texts.values()) for name in NAMES)
    written = write_everything(cs.diagnose(texts, anonymize=True))
    assert [name for name in NAMES if name in written] == []
    assert "host2:4100:4160 [0] NCCL WARN" in written  # what a line says is still there
    assert "/dev/shm" in written


@pytest.mark.parametrize("key", [*STATED, *list_studied_cases()])
def test_the_answer_is_that_of_the_names(key):
    if key in STATED:
        texts = {f"text{number}": text for number, text in enumerate(STATED[key])}
    else:
        texts = dict(list_studied_cases()[key].texts)
    plain, anonymous = cs.diagnose(texts), cs.diagnose(texts, anonymize=True)
    assert [cause.key for cause in anonymous.causes] == [cause.key for cause in plain.causes]
    assert (anonymous.verdict, anonymous.cost) == (plain.verdict, plain.cost)
    lines = [[fact.line for cause in found.causes for fact in cause.evidence] for found in (plain, anonymous)]
    assert lines[0] == lines[1]


def test_a_name_has_one_stand_in_and_two_names_have_two():
    anonymizer = Anonymizer(["a-7.lab.example.com:1:2 [0] NCCL INFO x\nb-9:1:2 [0] NCCL INFO y"])
    masked = anonymizer.mask(
        "a-7 b-9 a-7.lab.example.com a-7x GUID 0x1070fd0300abcdef 0x1070fd0300abcdee 0x1070fd0300abcdef"
    )
    a, b, whole, other, _, first, second, third = masked.split()
    assert a == whole != b
    assert other == "a-7x"
    assert first == third != second


def test_what_looks_like_a_name_and_is_none_stays():
    line = "n1:4100:4160 [0] NCCL INFO Channel 00/0 : 0[17000] -> 1[2a000] via NET/IB/0/GDRDMA libnccl.so.2 10:11:12 0000:07:00.0"
    assert Anonymizer([line]).mask(line) == line.replace("n1", "host1")


def test_a_fleet_has_stand_ins_for_its_nodes_and_the_same_odd_one(tmp_path):
    for number in range(4):
        rate = 200 if number == 2 else 400
        (tmp_path / f"acme-{number}").mkdir()
        text = f"acme-{number}: CA\nCA 'mlx5_0'\n\tState: Active\n\tRate: {rate}\n\tLink layer: InfiniBand\n"
        (tmp_path / f"acme-{number}" / "ibstat.txt").write_text(text)
    fleet = compare_nodes(tmp_path, anonymize=True)
    assert fleet.odd_nodes == ("host3",)
    assert "acme" not in fleet.report() + fleet.to_json() + repr(fleet)
    assert re.search(r"host3.*ibstat", fleet.report())


GIVEN = Path(__file__).parents[3] / "shared" / "data" / "evidence"


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the bundles of evidence are not there")
@pytest.mark.slow
def test_bundles_of_public_cases_get_the_same_answer():
    with (GIVEN / "cases.csv").open(encoding="utf-8") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    for name in names:
        plain, anonymous = (cs.diagnose(GIVEN / name, anonymize=hide) for hide in (False, True))
        assert [cause.key for cause in plain.causes] == [cause.key for cause in anonymous.causes], name
        assert plain.verdict == anonymous.verdict, name
