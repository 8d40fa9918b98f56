"""NCCL's older tuners: against a table that one of them printed, formulas worked by hand, and what came when."""

import pytest
from typer.testing import CliRunner

from collsim.cli import app
from collsim.errors import CollsimError
from collsim.nccl import parse_facts, predict
from collsim.nccl.model.releases import CURRENT, NEWEST, OLDEST, RELEASES, find_release
from collsim.nccl.model.tuner import Communicator, Graph, compute_cost_table, is_available
from collsim.nccl.search import constants as c

A100 = parse_facts("A100-SXM4-80GB", 8, 1, "nvlink3-nvswitch", "none")
H100 = parse_facts("H100-SXM5", 8, 1, "nvlink4-nvswitch", "none")
TWO_H100 = parse_facts("H100-SXM5", 16, 2, "nvlink4-nvswitch", "8xNDR400 IB")
SINGLES = parse_facts("H100-SXM5", 8, 8, "none", "1xNDR400 IB")
B200 = parse_facts("B200", 16, 2, "nvlink5-nvswitch", "8xNDR400 IB")


def chosen(machine, version, collective="allreduce"):
    """What each size from 8 B to 1 GiB runs with."""
    return [
        (p.algorithm, p.protocol) for p in (predict(collective, machine, 2**k, version=version) for k in range(3, 31))
    ]


def table(collective, comm):
    return {
        (e.algorithm, e.protocol): (round(e.latency, 1), round(e.bandwidth, 1))
        for e in compute_cost_table(collective, comm)
    }


def test_the_table_that_an_older_nccl_printed_for_four_nodes_of_pcie_cards():
    """NVIDIA/nccl issue 754 (December 2022), one ring of 3 GB/s; 12 steps inside nodes and 3 between say 16 ranks on 4
    nodes: 3.6 + 12 x 1.0 x 1.8 + 3 x 2.7 = 33.3, and 3.0 / 4 x 16/15 = 0.8 GB/s."""
    graph = Graph(1, 3.0, 3.0, "PHB", "PHB")
    comm = Communicator(16, 4, 86, graph, graph, release=find_release(12))
    assert table("broadcast", comm) == {("Ring", "LL"): (6.3, 0.8), ("Ring", "Simple"): (18.0, 3.0)}
    assert table("allgather", comm) == {("Ring", "LL"): (33.3, 0.8), ("Ring", "Simple"): (105.6, 3.2)}
    forced = {e.protocol: e.latency for e in compute_cost_table("allgather", comm, "", "LL128")}
    assert forced["LL128"] == pytest.approx(52.0)


def test_eight_a100_by_the_formulas_of_two_versions():
    """12 channels of 20 GB/s. Before 2.17: 3.6 + 14 x 0.47 us and, of 235 GB/s, a quarter for LL; LL128 20 GB/s a
    channel, but 0.92 x 235. 2.18: 6.6 + 14 x 0.6, a quarter of 240."""
    graph = Graph(12, 20, 20)
    old, new = (Communicator(8, 1, 80, graph, graph, release=find_release(minor)) for minor in (14, 20))
    assert table("allreduce", old)["Ring", "LL"] == (round(3.6 + 14 * 0.47, 1), round(235 / 4 * 8 / 14, 1))
    assert table("allreduce", old)["Ring", "LL128"] == (round(10 + 14 * 1.9, 1), round(0.92 * 235 * 8 / 14, 1))
    assert table("allreduce", new)["Ring", "LL"] == (15.0, round(240 / 4 * 8 / 14, 1))
    assert table("allreduce", new)["Tree", "Simple"] == (2 * 7 * 28.0, round(0.92 * 240 / 2, 1))


def test_nvls_of_2_17_was_told_the_rings_speed():
    """0.75 x min(12 x 30, 370) GB/s and 40 us, against 8 heads of 40 and 5/6 in 2.20."""
    ring, heads = Graph(12, 30, 30), Graph(8, 40, 60, pattern=c.NVLS)
    first, then = (Communicator(8, 1, 90, ring, ring, heads, release=find_release(minor)) for minor in (17, 20))
    assert table("allreduce", first)["NVLS", "Simple"] == (40.0, 0.75 * 360)
    assert table("allreduce", then)["NVLS", "Simple"] == (23.0, round(8 * 40 * 5 / 6, 1))


@pytest.mark.parametrize(
    ("machine", "collective", "what", "came"),
    [
        (A100, "allreduce", ("Ring", "LL128"), 8),
        (H100, "allreduce", ("Ring", "LL128"), 17),
        (H100, "allreduce", ("NVLS", "Simple"), 17),
        (TWO_H100, "allreduce", ("NVLSTree", "Simple"), 18),
        (SINGLES, "allgather", ("PAT", "Simple"), 23),
    ],
)
def test_what_came_with_a_version_is_not_chosen_before(machine, collective, what, came):
    forced = {"NCCL_ALGO": what[0], "NCCL_PROTO": what[1]}
    for minor in range(OLDEST, NEWEST + 1):
        if minor < came:
            assert what not in chosen(machine, f"2.{minor}", collective)
        elif what[1] != "LL128":
            assert predict(collective, machine, 2**20, version=f"2.{minor}", **forced).algorithm == what[0]
    assert any(what in chosen(machine, f"2.{minor}", collective) for minor in range(came, NEWEST + 1))


def test_an_algorithm_that_was_not_there_cannot_be_forced():
    with pytest.raises(CollsimError, match="NCCL_ALGO='NVLS' and NCCL_PROTO='' leave nothing"):
        predict("allreduce", H100, "1GiB", version="2.16", NCCL_ALGO="NVLS")
    with pytest.raises(CollsimError, match="NCCL_PROTO='LL128' leave nothing"):
        predict("allreduce", A100, "1GiB", version="2.4", NCCL_PROTO="LL128")


def test_no_version_is_2_30_and_the_sentence_says_so():
    for machine in (A100, H100, TWO_H100, B200):
        for size in (8, 2**20, 2**30):
            usual, newest = predict("allreduce", machine, size), predict("allreduce", machine, size, version="2.30")
            assert (usual.time, usual.algorithm, usual.protocol) == (newest.time, newest.algorithm, newest.protocol)
            assert usual.notes == ()
    assert str(usual.release).startswith("No NCCL version given: 2.30 is assumed")
    assert usual.release.text("zh").startswith("没有给出 NCCL 版本")


def test_the_sentence_says_what_a_version_lacks():
    p = predict("allreduce", TWO_H100, "1GiB", version="2.18.5+cuda12.2")
    assert p.version == 18
    assert "v2.20.3-1" in str(p.release)
    assert "not there yet: PAT (2.23)" in str(p.release)
    assert str(p.release) in p.notes
    assert "当时还没有：PAT (2.23)" in p.release.text("zh")


def test_a_choice_takes_as_long_in_every_version():
    pinned = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    times = {predict("allreduce", A100, "1GiB", version=v, **pinned).time for v in (None, "2.4", "2.12", "2.30")}
    assert len(times) == 1


@pytest.mark.parametrize("version", ["2.4", "2.4.8", "v2.18.3-1", "2.28.x", "2.30.4+cuda13.2", None, ""])
def test_versions_as_people_write_them_are_understood(version):
    assert predict("allreduce", A100, 8, version=version).time > 0


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.3.7", r"known are NCCL 2.4 to 2.32; give one of them, or leave it out"),
        ("2.33", r"known are NCCL 2.4 to 2.32"),
        ("3.0", r"version='3.0' is no version of NCCL as text; write for example '2.18'"),
        (2.2, r"version=2.2 is no version of NCCL as text"),
        (True, r"version=True is no version"),
        ("new", r"version='new' is no version"),
    ],
)
def test_versions_that_are_not_known_are_refused_with_the_way_out(version, said):
    with pytest.raises(CollsimError, match=said):
        predict("alltoall", A100, 8, version=version)


def test_rccl_has_versions_of_its_own():
    amd = parse_facts("MI300X", 8, 1, "xgmi-mi300x", "none")
    assert str(predict("allreduce", amd, 8).release).startswith("RCCL runs here")
    with pytest.raises(CollsimError, match=r"version='2.20' is of NCCL, and MI300X runs RCCL.*leave the version out"):
        predict("allreduce", amd, 8, version="2.20")


def test_the_command_line_says_what_was_assumed_and_takes_a_version():
    place = ["predict", "allreduce", "--machine", "dgx-h100", "--nbytes", "1GiB"]
    usual, old = CliRunner().invoke(app, place), CliRunner().invoke(app, [*place, "--nccl", "2.16", "--json"])
    assert "2.30 is assumed" in usual.stderr
    assert (old.stderr, '"algorithm": "Ring"' in old.stdout) == ("", True)
    assert "NVLS (2.17)" in old.stdout  # a note of the row
    wrong = CliRunner().invoke(app, [*place, "--nccl", "2.3"])
    assert isinstance(wrong.exception, CollsimError) or wrong.exit_code == 2


def test_every_release_names_where_it_was_read_and_they_are_in_order():
    assert [r.since for r in RELEASES] == sorted({r.since for r in RELEASES})
    assert all(r.source for r in RELEASES)
    assert find_release(28) is find_release(30) is CURRENT


def test_mixed_gpus_had_no_ll128():
    graph = Graph(12, 20, 20)
    for release, oldest, newest, there in ((12, 80, 80, True), (12, 80, 90, False), (30, 90, 100, True)):
        comm = Communicator(8, 1, oldest, graph, graph, max_cc=newest, release=find_release(release))
        assert is_available("allreduce", "Ring", "LL128", comm) is there
