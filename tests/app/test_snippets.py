"""Code to copy is true: the script gives the same time, the command line gives the same figures."""

import contextlib
import io
import json
import shlex

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.scenario import snippets
from collsim.app.scenario.choice import Choice, list_own_options
from collsim.app.scenario.outcome import build_topology, compare, list_compared, list_used_options, simulate
from collsim.cli import app
from collsim.collective import get_collective

CHOICES = [
    Choice(),
    Choice(options=(("channels", 1),), p2p=False, gdr=False, nbytes="1000003"),
    Choice(machine="switch", ranks=5, bandwidth="100Gbit/s", alpha="500ns", dtype="bfloat16", nbytes="3 MB"),
    Choice(machine="torus", shape="2x4"),
    Choice(
        collective="broadcast",
        algorithm="broadcast_chain",
        options=(("root", 3), ("chunks", 16)),
        nodes=1,
        machine="dgx-h100",
    ),
    Choice(algorithm="allreduce_parameter_server", options=(("server", "helper"),), machine="switch", ranks=6),
]


def used(choice):
    return list_used_options(choice, build_topology(choice))


@pytest.mark.parametrize("choice", CHOICES)
def test_the_python_script_gives_the_same_time(choice):
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(snippets.write_python(choice, used(choice)), names)
    assert names["t"].time == simulate(choice).time
    assert names["t"].dtype == choice.dtype


@pytest.mark.parametrize("choice", CHOICES)
def test_the_command_line_gives_the_same_time(choice):
    words = shlex.split(snippets.write_command(choice, used(choice)))
    assert words[0] == "collsim"
    done = CliRunner().invoke(app, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["time"] == pytest.approx(simulate(choice).time, rel=1e-12)


@pytest.mark.parametrize(
    "choice", [Choice(sizes="1KiB:64MiB:64"), Choice(machine="switch", ranks=6, sizes="1KiB:1MiB:32", engine="event")]
)
def test_the_script_of_a_comparison_gives_the_same_times(choice):
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(snippets.write_sweep_python(choice, list_compared(choice, build_topology(choice))), names)
    shown = compare(choice).pivot_table(index="nbytes", columns="algorithm", values="time")
    assert (names["times"] == shown).all(axis=None)


@pytest.mark.parametrize(
    "choice", [Choice(sizes="1KiB:64MiB:64"), Choice(machine="dgx-h100", nodes=1, sizes="1MiB:64MiB:64")]
)
def test_the_command_line_of_a_comparison_gives_the_figures_of_the_page(choice):
    names = tuple(dict.fromkeys(name for name, _ in list_compared(choice, build_topology(choice))))
    words = shlex.split(snippets.write_sweep_command(choice, names))
    rows = json.loads(CliRunner().invoke(app, [*words[1:], "--json"]).stdout)
    key, figures = ("nbytes", "algorithm"), ("time", "channels", "chunks")
    printed = {tuple(row[k] for k in key): tuple(row[k] for k in figures) for row in rows}
    page = compare(choice).to_dict("records")
    assert printed == {tuple(row[k] for k in key): tuple(row[k] for k in figures) for row in page}


def test_the_command_line_names_the_fabric():
    assert "--fabric rail" in snippets.write_command(Choice(fabric="rail"), {})


def test_nccl_tests_only_where_nccl_has_the_algorithm():
    line = snippets.write_nccl_tests(Choice(gdr=False, dtype="float16"), {"channels": 8}, 16)
    assert "-np 16 --map-by ppr:8:node" in line
    assert "all_reduce_perf -b 268435456 -e 268435456 -d half -g 1" in line
    assert "NCCL_ALGO=Ring" in line
    assert "NCCL_NET_GDR_LEVEL=LOC" in line
    assert "NCCL_P2P_DISABLE" not in line
    assert snippets.write_nccl_tests(Choice(algorithm="allreduce_parameter_server"), {}, 16) is None
    assert snippets.write_nccl_tests(Choice(machine="ring"), {}, 8) is None


def test_algorithms_and_programs_that_are_named_exist():
    assert set(snippets.NCCL_ALGORITHMS) <= set(cs.algorithms())
    assert {cs.algorithms()[name].collective for name in snippets.NCCL_ALGORITHMS} <= set(snippets._PROGRAMS)


def test_the_busbw_factor_reads_as_in_nccl_tests():
    assert [
        snippets.write_factor(get_collective(c).busbw(16), 16) for c in ("allreduce", "allgather", "broadcast")
    ] == [
        "30/16",
        "15/16",
        "1",
    ]
    assert list_own_options("allreduce_ring").keys() == {"channels"}
