"""Topology files that nobody wrote in good faith: a sentence with the line, at once, and nothing built."""

import time

import pytest

import collsim as cs
from collsim.topology.files import parse_topology_text

HEAD = "collsim: 1\nmachine: dgx-a100\noptions: "


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("collsim: !!bool x", "line 1: collsim: a value that does not fit its tag"),
        ("collsim: !!int ''", "line 1: collsim: a value that does not fit its tag"),
        ("collsim: !!float ''", "line 1: collsim: a value that does not fit its tag"),
        ("collsim: !!timestamp x", "line 1: collsim: a value that does not fit its tag"),
        (HEAD + "{p2p: !!bool x}", "line 3: p2p: a value that does not fit its tag"),
        (HEAD + "{nodes: " + "9" * 900_000 + "}", "line 3: nodes: .* of 900,000 characters is too long for a number"),
        (HEAD + "{nodes: 1" + ":59" * 300_000 + "}", "is too long for a number"),
        (HEAD + "{nodes: '" + "9" * 900_000 + "'}", "is not a whole number"),
        (HEAD + "{dims: {<<: [{a: 1}, {b: 2}]}}", "merge keys"),
        (HEAD + "{nodes: '2097152'}", "14.4 GiB of memory .* 512 MiB is the most here"),
        (HEAD + "{nodes: 2, fabric: dragonfly, switches: 4000, cables: 4000}", "512 MiB is the most here"),
        ("collsim: 1\nnetwork: ring(50000000)", "512 MiB is the most here"),
        ("npus_count: [ !!bool x ]", "line 1: a value that does not fit its tag"),
        ("<!--" + "x" * 9_000_000, "more than 4 MiB without an element"),
        ('<system version="' + "x" * 9_000_000, "more than 4 MiB without an element"),
    ],
    ids=lambda text: text[:40],
)
def test_it_is_refused_with_the_place(text, says):
    with pytest.raises(cs.FormatError, match=says) as caught:
        parse_topology_text(text)
    assert len(str(caught.value)) <= 1000


def test_who_asks_for_it_gets_a_large_network_from_a_file():
    text = "collsim: 1\nnetwork: ring(4000000)"
    with pytest.raises(cs.FormatError, match="so use fewer ranks"):
        parse_topology_text(text)
    with cs.limits.within("1GiB"):
        assert parse_topology_text(text).ranks == 4_000_000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "line",
    ["NIC0: mlx5_0 " + '{"a":' * 100_000, "a:" * 200_000 + " b c", "GPU0 a" + "1" * 400_000 + "!"],
    ids=lambda line: line[:12],
)
def test_a_line_of_half_a_megabyte_in_what_nvidia_smi_prints_is_read_once(line):
    matrix = "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV1\t X \n\nNIC Legend:\n\n"
    begin = time.process_time()
    assert parse_topology_text(f"{matrix}  {line}\n").ranks == 2
    with pytest.raises(cs.CollsimError):
        parse_topology_text(f"{line}\n{matrix.splitlines()[1]}\n")
    assert time.process_time() - begin < 5
