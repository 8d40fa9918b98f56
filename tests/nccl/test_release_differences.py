"""Two versions of NCCL on one machine: the choices of `predict`, and nothing where the tables are the same."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.nccl.model.releases import ASSUMED, NEWEST, find_release
from collsim.nccl.release_differences import find_changed_machines


def test_a_row_is_what_predict_says_of_each_version():
    table = cs.nccl.compare_releases("2.18", "2.30", "dgx-h100", "allgather", ["1MiB", "256MiB"]).table
    for row in table.to_dict("records"):
        for name, version in (("old", "2.18"), ("new", "2.30")):
            p = cs.nccl.predict("allgather", "dgx-h100", row["nbytes"], version=version)
            assert (row[name], row[f"{name}_time"]) == (f"{p.algorithm} {p.protocol}", p.time)


def test_the_tables_of_2_31_are_those_of_2_30_and_2_32_changed_two_rows_of_blackwell():
    assert find_release(31) is find_release(30)
    old, new = find_release(30), find_release(32)
    for generation in ("Volta", "Ampere", "Hopper"):
        assert new.ll_max[generation] == old.ll_max[generation]
        assert new.tree_ll128[generation] == old.tree_ll128[generation]
    assert new.ll_max["Blackwell"] == (282.4, 90.0, 70.0)
    assert new.tree_ll128["Blackwell"] == (55.6, 36.7, 20.0)


def test_a_tree_with_ll128_is_faster_on_two_nodes_of_blackwell_since_2_32_and_nothing_else_changed():
    blackwell = cs.machine("hgx-b200", nodes=2)
    table = cs.nccl.compare_releases("2.31", "2.32", blackwell).table
    assert set(table.loc[table["differs"], "new"]) == {"Tree LL128"}
    assert (table["new_time"] <= table["old_time"]).all()
    assert not cs.nccl.compare_releases("2.30", "2.31", blackwell).table["differs"].any()
    assert not cs.nccl.compare_releases("2.30", "2.32", cs.machine("dgx-h100", nodes=2)).table["differs"].any()


def test_new_calls_are_those_between_the_versions():
    assert cs.nccl.compare_releases("2.30", "2.30", "dgx-a100", nbytes=[1024]).new_calls == ()
    calls = cs.nccl.compare_releases("2.27", "2.28", "dgx-a100", nbytes=[1024]).new_calls
    assert len(calls) == 1
    assert "ncclAlltoAll" in calls[0]


@pytest.mark.parametrize("version", ["2.33", "", None, "3.0", "1.18"])
def test_an_unknown_version_is_refused(version):
    with pytest.raises(cs.CollsimError):
        cs.nccl.compare_releases("2.30", version, "dgx-a100", nbytes=[1024])
    assert ASSUMED <= NEWEST


@pytest.mark.parametrize(
    ("collective", "version", "named"),
    [
        ("allreduce", "2.26", []),
        ("allreduce", "2.27", ["2.27"]),
        ("allgather", "2.27", ["2.27"]),
        ("allgather", "2.28", ["2.27", "2.28"]),
        ("alltoall", "2.28", ["2.28"]),
        ("alltoall", "2.32", ["2.28", "2.29"]),
        ("sendrecv", "2.29", ["2.29"]),
        ("broadcast", "2.32", []),
        ("allreduce", None, ["2.27"]),
    ],
)
def test_what_registered_buffers_would_change_is_named_where_a_version_has_it(collective, version, named):
    p = cs.nccl.predict(collective, "dgx-h100", "64MiB", version=version)
    assert [sentence.values["version"] for sentence in p.registered_buffers] == named
    for sentence in p.registered_buffers:
        assert sentence.text("zh") != sentence.text("en")


@pytest.mark.parametrize(
    "machine", [cs.machine("dgx-h100", nodes=2), cs.machine("pcie-8gpu"), cs.machine("mi300x-8gpu")]
)
def test_without_one_nvlink_domain_registered_buffers_are_not_named(machine):
    assert cs.nccl.predict("allreduce", machine, "64MiB").registered_buffers == ()


def test_without_a_machine_the_command_names_the_machines_that_differ():
    done = CliRunner().invoke(app, ["nccl-diff", "2.30", "2.32", "--nbytes", "1MiB", "--json"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert [row["machine"] for row in document["machines"] if row["one_node"] or row["two_nodes"]] == ["hgx-b200"]
    assert not {"mi300x-8gpu", "tpu-v4-64", "cpu-2socket"} & {row["machine"] for row in document["machines"]}
    assert "ncclSetEncryption" in document["new_calls"]


def test_an_unknown_version_or_collective_is_refused_for_all_machines_too():
    for version, collective in (("2.99", "allreduce"), ("2.32", "scatter-reduce")):
        with pytest.raises(cs.CollsimError):
            find_changed_machines("2.30", version, collective, ["1MiB"])
