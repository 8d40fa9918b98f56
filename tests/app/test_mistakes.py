"""Every mistake that a person can reach from the app is told in Chinese on a Chinese page."""

import re
import warnings

import pytest

import collsim as cs
from collsim.app.pages.whatif import run_edits
from collsim.app.scenario import custom_machine, run_files
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.mistakes import write_sentence
from collsim.app.scenario.outcome import build_topology, read_choice, simulate
from collsim.errors import CollsimError, describe_unknown
from collsim.topology.fabrics import FABRICS

HAN = re.compile("[\u4e00-\u9fff]")
OPTIONS = {
    "dims": "3x5",
    "arity": 1,
    "radix": 1,
    "base": 1,
    "chunks": 1024,
    "servers": 99,
    "server": "helper",
    "channels": 99,
    "root": 7,
}
TEXTS = [
    "",
    "hello",
    "collsim: 2",
    "collsim: 1\n",
    "collsim: 1\nmachine: dgx-h10\n",
    "collsim: 1\nnetwork: ring(x)\n",
    "collsim: 1\nlinks: []",
]
TEXTS += [
    "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 0}\n",
    "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 99999}\n",
    "a: [",
    "*a",
]
TEXTS += [
    "<system>",
    "<x/>",
    "<system version='1'><cpu/></system>",
    "<!DOCTYPE a [<!ENTITY b 'x'>]><system>&b;</system>",
    "a: " + "[" * 99,
]
TEXTS += [
    "GPU0 GPU1\nGPU0 X PIX\n",
    "GPU0 GPU1\nGPU0 X FOO\nGPU1 PIX X\n",
    "npus_count: [2]\n",
    "x" * 300_000,
    "collsim: 1\nnetwork: ring(9999)",
]
TEXTS += [
    "npus_count: [2]\ntopology: [Foo]\nbandwidth: [1]\nlatency: [1]\n",
    "collsim: 1\nfoo: 1\n",
    "collsim: 1\nmachine: dgx-1v\nlinks: []\n",
]
FILES = {
    "a.json": b"{}",
    "b.json": b"[1,2",
    "c.csv": b"step,src\n1,2",
    "d.xml": b"<algo/>",
    "e.log": b"NCCL",
    "f.csv": b"\xff",
    "g.xml": b"<algo",
}
FILES |= {
    "h.xml": b"<!DOCTYPE a [<!ENTITY b 'x'>]><algo>&b;</algo>",
    "i.txt": b"hello",
    "large.csv": b"0" * (run_files.MAX_BYTES + 1),
}
WORDS = {
    "collective": ["allreduse"],
    "nodes": ["0", "2.5", "999"],
    "nbytes": ["64M", "-1", "1.5B", "many", "1e400"],
    "p2p": ["maybe"],
}
WORDS |= {
    "bandwidth": ["0", "25GB", "fast/s"],
    "alpha": ["-1us", "1 year", "nan"],
    "shape": ["axb", "0x4"],
    "machine": ["own", "dgx"],
}
WORDS |= {"sizes": ["1:2:0", "64M:1G", "1KiB:1GiB:1.0000001", "::::"], "sharing": ["x"], "own": ["zz"], "root": ["99"]}


def attempts():
    """Calls that a click, an address or a file can lead to."""
    for name, entry in cs.algorithms().items():
        plain = Choice(algorithm=name, collective=entry.collective, machine="switch", nbytes="1KiB")
        for ranks in (1, 3, 6):
            yield simulate, Choice(**{**plain.__dict__, "ranks": ranks})
        yield simulate, Choice(**{**plain.__dict__, "machine": "pcie-8gpu", "nodes": 1})
        for option in OPTIONS.items():
            if option[0] in entry.options:
                yield simulate, Choice(**{**plain.__dict__, "options": (option,)})
    for machine in cs.machines():
        for fabric in FABRICS:
            yield build_topology, Choice(machine=machine, nodes=2, fabric=fabric)
    for network in cs.topology.NETWORKS:
        for ranks, shape in ((1, "3"), (3, "1"), (7, "2x2"), (2, "3x3x3"), (2, "99x99")):
            yield build_topology, Choice(machine=network, ranks=ranks, shape=shape)
    yield from ((custom_machine.read_facts, text) for text in TEXTS)
    yield from ((run_files.read_schedule, run_files.Upload(name, data)) for name, data in FILES.items())
    for cable in ("a~b", "node0/gpu0~node0/gpu1"):
        yield (
            lambda cable: run_edits.build_changed_topology(Choice(nodes=1), run_edits.Edit(gdr="same", cable=cable)),
            cable,
        )
    yield (
        lambda kind: run_edits.build_changed_topology(Choice(nodes=1), run_edits.Edit(gdr="same", link_kind=kind)),
        "string",
    )
    helper = Choice(algorithm="allreduce_parameter_server", options=(("server", "helper"),), machine="switch", ranks=4)
    yield from ((lambda name: run_files.build_file(helper, name, "zh"), name) for name in ("msccl", "chakra", "goal"))
    yield lambda name: run_files.build_file(Choice(), name, "zh"), "astra-sim"


@pytest.fixture(scope="module")
def reached():
    found: dict[str, CollsimError | str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call, given in attempts():
            try:
                call(given)
            except CollsimError as error:
                found.setdefault(str(error), error)
    for name, values in WORDS.items():
        query = {"algorithm": "broadcast_chain"} if name == "root" else {}
        found |= {c.reason: c.reason for value in values for c in read_choice({**query, name: value})[1]}
    return list(found.values())


def test_many_kinds_of_mistakes_are_reached(reached):
    assert len(reached) > 70
    assert {type(error).__name__ for error in reached} >= {"CollsimError", "TopologyError", "FormatError", "Sentence"}


def test_every_mistake_is_told_in_chinese(reached):
    english = [
        str(error)
        for error in reached
        if not HAN.search(write_sentence(error, "zh")) or "英文原文" in write_sentence(error, "zh")
    ]
    assert not english


def test_what_the_table_does_not_know_keeps_its_words_under_a_chinese_beginning():
    assert write_sentence(CollsimError("no such thing"), "zh") == "出错（英文原文）：no such thing。"
    assert write_sentence(CollsimError("no such thing"), "en") == "No such thing."


def test_a_place_in_a_file_is_read_before_what_is_wrong_there():
    with pytest.raises(CollsimError) as caught:
        custom_machine.read_facts("collsim: 1\nmachine: dgx-a100\noptions: {nodes: 0}\n")
    assert write_sentence(caught.value, "en").startswith(
        "topo.yaml, line 2: machine: nodes=0 is too small; nodes is at"
    )
    assert write_sentence(caught.value, "zh") == "topo.yaml 第 2 行：machine：nodes=0 太小；nodes 至少为 1。"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_list_of_known_names_is_left_out_wherever_it_stands(language):
    unknown = describe_unknown("machine", "zzqqx", cs.machines())
    inside = CollsimError("{path}, line {line}: {why}", path="topo.yaml", line=2, why=unknown)
    for error in (unknown, inside):
        text = write_sentence(error, language)
        assert "zzqqx" in text
        assert "workstation-4gpu" not in text
    assert "dgx-h100" in write_sentence(describe_unknown("machine", "zzqqx", ["dgx-h100"]), language)
