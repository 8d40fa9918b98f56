"""A machine of one's own is used on every page, lives in the address, and cannot harm the server."""

import base64
import contextlib
import io
import json
import shlex
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import address, compare, explore, fine, messages, opened, players
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages import inference, sharding
from collsim.app.pages.machines import pair
from collsim.app.pages.machines.pair import Pair
from collsim.app.pages.race import lineup
from collsim.app.pages.routing import routing_runs
from collsim.app.pages.train import training_choice
from collsim.app.scenario import custom_machine, snippets
from collsim.app.scenario.choice import Choice, from_query, read_file_fields, to_query
from collsim.app.scenario.outcome import build_topology, list_used_options, simulate
from collsim.app.texts import say
from collsim.cli import app

SMI = """\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity
GPU0\t X \tNV2\tSYS\tSYS\tPIX\t0-13
GPU1\tNV2\t X \tSYS\tSYS\tPIX\t0-13
GPU2\tSYS\tSYS\t X \tNV2\tSYS\t14-27
GPU3\tSYS\tSYS\tNV2\t X \tSYS\t14-27
NIC0\tPIX\tPIX\tSYS\tSYS\t X
"""
TEXTS = {
    "topo -m": SMI,
    "our YAML": "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 2, p2p: false}\n",
    "network": "collsim: 1\nnetwork: ring(6, bandwidth=25GB/s, alpha=1us)\n",
    "ASTRA-sim": "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
}


def whatif() -> None:
    from collsim.app.main import main

    main(first="whatif")


def race() -> None:
    from collsim.app.main import main

    main(first="race")


def open_on_machine(text, **values):
    return Choice(**{"nbytes": "1MiB", **read_file_fields(text), **values})


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_the_file_says_is_what_is_run(text, tmp_path):
    path = tmp_path / custom_machine.choose_file_name(text)
    path.write_text(text)
    with pytest.warns() if custom_machine.read_facts(text).notes else contextlib.nullcontext():
        plain = cs.load_topology(path)
    assert build_topology(open_on_machine(text)).name == plain.name


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("values", [{}, {"p2p": True, "gdr": False, "nodes": 2, "fabric": "rail"}])
def test_a_machine_of_ones_own_survives_its_address(text, values):
    choice = open_on_machine(
        text, **{name: value for name, value in values.items() if name in custom_machine.read_facts(text).takes}
    )
    assert from_query(to_query(choice)) == (choice, [])


def test_two_nodes_without_p2p_are_slower_than_one_with_it():
    assert build_topology(open_on_machine(SMI, nodes=2)).ranks == 8
    assert simulate(open_on_machine(SMI, p2p=False)).time > simulate(open_on_machine(SMI)).time


@pytest.mark.parametrize("page", [explore, compare, whatif])
def test_pages_with_a_sidebar_run_on_it(page):
    at = fine(opened(page, **to_query(open_on_machine(SMI, sizes="1KiB:1MiB:32"))))
    assert at.selectbox(key="w_place").value == "own"
    assert address(at)["own"] == custom_machine.pack_text(SMI)


def test_a_text_pasted_on_explore_is_run_and_stays_through_the_language_and_is_dropped():
    at = fine(opened(nbytes="1MiB"))
    at.text_area(key="w_own_text_side").set_value(SMI)
    fine(at.button(key="own_use_side").click().run())
    assert address(at)["machine"] == "own"
    assert address(at)["nodes"] == "1"
    fine(at.segmented_control(key="w_nodes").set_value(2).run())
    fine(at.segmented_control(key="w_language").set_value("zh").run())
    assert players(at)
    again = fine(opened(**address(at)))
    assert json.loads(players(again)[0].proto.json)["id"] == json.loads(players(at)[0].proto.json)["id"]
    fine(at.button(key="own_drop_side").click().run())
    assert "own" not in at.query_params


def test_a_text_that_is_no_topology_gets_one_sentence_and_the_run_stays():
    at = fine(opened(nbytes="1MiB"))
    at.text_area(key="w_own_text_side").set_value("hello")
    at.button(key="own_use_side").click().run()
    assert not at.exception
    (message,) = messages(at)
    assert say("en", "own.pasted") in message.lower()
    assert "hello" in message
    assert "topo.yaml" not in message
    assert "machine" not in at.query_params or address(at)["machine"] != "own"
    assert players(at)


def test_a_race_on_it_has_the_text_once_in_its_address():
    runners = lineup.build_race(open_on_machine(SMI))
    query = lineup.ADDRESS.write(runners)
    assert sum("own" in name for name in query) == 1
    assert lineup.ADDRESS.read(query) == (runners, [])
    at = fine(AppTest.from_function(race, default_timeout=60).run())
    at.text_area(key="w_own_text_race").set_value(SMI)
    fine(at.button(key="own_use_race").click().run())
    assert all("machine:own" in address(at)[f"runner{n}"] for n in (1, 2, 3))


def test_the_machine_that_is_looked_at_is_the_machine_that_is_run():
    shown = Pair(**read_file_fields(SMI) | {"nodes": 2, "fabric": "rail"})
    assert build_topology(pair.build_choice(Choice(), shown)).name == pair.build(shown).name
    assert (
        build_topology(pair.build_choice(open_on_machine(SMI), Pair("dgx-h100", 2))).name
        == pair.build(Pair("dgx-h100", 2)).name
    )


@pytest.mark.parametrize(
    "choice",
    [
        open_on_machine(SMI, nodes=2, p2p=False),
        open_on_machine(TEXTS["our YAML"], p2p=True),
        open_on_machine(TEXTS["network"]),
    ],
)
def test_code_to_copy_reads_the_file_and_gives_the_same_time(choice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(custom_machine.choose_file_name(choice.machine_text)).write_text(choice.machine_text)
    used = list_used_options(choice, build_topology(choice))
    names = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(UserWarning):
        exec(snippets.write_python(choice, used), names)
    assert names["t"].time == simulate(choice).time
    done = CliRunner().invoke(app, [*shlex.split(snippets.write_command(choice, used))[1:], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["time"] == pytest.approx(simulate(choice).time, rel=1e-12)


@pytest.mark.parametrize("page", [inference, sharding, routing_runs, training_choice])
@pytest.mark.parametrize(
    "where",
    [read_file_fields(SMI), {"machine": "switch", "ranks": 6, "reduces": True}, {"machine": "torus", "shape": "2x4"}],
)
def test_pages_with_a_machine_of_their_own_have_it_in_their_address(page, where):
    choice = replace(page.PLAIN, **where)
    assert page.ADDRESS.read(page.ADDRESS.write(choice)) == (choice, [])


# ---- hostile
# ---------------------------------------------------------------------------------------------------------------------


def packed(text):
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


NETWORKS = [
    "ring(100000000)",
    "ring(ranks=1e7)",
    "ring('99999999')",
    "torus(4096, 4096)",
    "fat_tree(k=400)",
    "dragonfly(99, 99, 99)",
]
NETWORKS += ["ring(1_000_000_000)", "switch(8, helpers=30000)", "ring(" + "9" * 400 + ")"]
HOSTILE = {
    **{text[:24]: f"collsim: 1\nnetwork: {text}\n" for text in NETWORKS},
    "flow style": "{collsim: 1, network: ring(99999999)}",
    "quoted key": '"collsim": 1\n"network": ring(99999999)\n',
    "ASTRA-sim": "topology: [ Ring ]\nnpus_count: [ 4000000 ]\nbandwidth: [ 50 ]\nlatency: [ 1 ]\n",
    "nodes": "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 1.0e+8}\n",
    "hexadecimal": "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 0xfffffff}\n",
    "entities": "<!DOCTYPE a [<!ENTITY b 'x'>]><system>&b;</system>",
    "depth": "a: " + "[" * 100_000,
    "many GPUs": "<system version='1'>" + "<gpu dev='1'/>" * 1200 + "</system>",
    "long": "# " + "x" * 300_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_topology_in_an_address_is_refused_at_once(text):
    started = time.process_time()
    choice, complaints = from_query({"machine": "own", "own": packed(text)})
    assert time.process_time() - started < 2
    assert [c.name for c in complaints] == ["own"]
    assert choice.machine == Choice().machine
    assert len(str(complaints[0].reason)) < 300
    assert "topo." not in str(complaints[0].reason)


@pytest.mark.parametrize("letters", ["", "%%%", "x" * 9000, "=" * 50, packed("a" * 900_000), packed(SMI)[:-9]])
def test_letters_that_hold_no_topology_get_one_sentence(letters):
    choice, complaints = from_query({"machine": "own", "own": letters})
    assert choice.machine == Choice().machine
    assert len(complaints) == 1


def test_a_link_without_its_machine_says_so():
    at = opened(machine="own", nbytes="1MiB")
    assert len(messages(at)) == 1
    assert players(at)


def test_places_stand_under_maker_and_year_and_a_heading_cannot_be_chosen():
    at = fine(opened(explore, mode="full"))
    box = at.selectbox(key="w_place")
    under = {}
    for option in box.options:
        if option.startswith("── "):
            assert option not in under, "a heading stands once"
            under[option] = []
        else:
            under[list(under)[-1]].append(option)
    assert {"GB200 NVL72", "HGX B200"} == set(under["── NVIDIA, 2024 ──"])
    assert "DGX A100" in under["── NVIDIA, 2020 ──"]
    assert under["── AMD, 2023 ──"] == ["MI300X, 8 GPUs"]
    assert len(under["── Networks ──"]) == len(cs.topology.NETWORKS)
    assert all(under.values())
    before = address(at)
    fine(box.select("── NVIDIA, 2022 ──").run())
    assert at.selectbox(key="w_place").value == "dgx-a100"
    assert address(at) == before
    fine(at.selectbox(key="w_place").select_index(box.options.index("DGX H100")).run())
    assert address(at)["machine"] == "dgx-h100"
