"""The Machines page: every machine, any two ranks, one's own text, and a sentence for every mistake."""

import json
from itertools import product
from pathlib import Path

import pytest
from catalogs import pair_page_texts
from sampling import keep_fast
from streamlit.testing.v1 import AppTest
from test_pages import address, fine, messages, unfolded

import collsim as cs
from collsim.app.pages.machines import pair
from collsim.app.pages.machines.pair import Pair
from collsim.app.scenario import custom_machine
from collsim.app.scenario.choice import read_file_fields
from collsim.app.scenario.machine_edits import MachineEdit
from collsim.locale import LANGUAGES

MACHINES = pair_page_texts("machines")

SMI = """\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity
GPU0\t X \tPIX\tSYS\tSYS\t0-13
GPU1\tPIX\t X \tSYS\tSYS\t0-13
GPU2\tSYS\tSYS\t X \tPIX\t14-27
GPU3\tSYS\tSYS\tPIX\t X \t14-27
"""


def machines() -> None:
    from collsim.app.main import main

    main(first="machines")


def opened(**query):
    at = AppTest.from_function(machines, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def sent(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_route")]
    return json.loads(one.proto.json)


#: Every third machine, in one language and the other in turn.
DRAWN = [(name, LANGUAGES[k % 2]) for k, name in enumerate(cs.machines()) if k % 3 == 0]


@pytest.mark.parametrize(("name", "language"), keep_fast(product(cs.machines(), LANGUAGES), DRAWN))
def test_every_machine_is_drawn_in_both_languages(name, language):
    at = opened(machine=name, lang=language)
    assert not at.exception
    assert len(messages(at)) <= 1  # where P2P is off and there is no other way, one sentence says so
    assert sent(at)["cards"][0]["rows"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_machine_is_stands_there_in_the_language_of_the_page(language):
    at = fine(unfolded(opened(machine="polaris", lang=language), "about"))
    plan = cs.machines()["polaris"]
    shown = " ".join(e.proto.body for e in at.get("html"))
    assert [plan.describe(other) in shown for other in LANGUAGES] == [other == language for other in LANGUAGES]
    assert plan.describe_source(language) in shown


def test_the_first_page_shows_p2p_on_and_off_side_by_side():
    at = fine(opened())
    on, off = sent(at)["cards"]
    assert (on["title"], off["title"]) == ("GPUDirect P2P on", "GPUDirect P2P off")
    assert (len(on["rows"]), len(off["rows"])) == (2, 6)
    assert at.query_params == {}


def test_two_other_ranks_and_another_switch_are_in_the_address():
    at = fine(opened(machine="dgx-a100", nodes="2"))
    at.selectbox(key="w_m_b").set_value(9)
    at.segmented_control(key="w_m_by").set_value("gdr")
    fine(at.run())
    assert address(at) == {"machine": "dgx-a100", "nodes": "2", "b": "9", "by": "gdr"}
    again = fine(opened(**address(at)))
    assert sent(again)["id"] == sent(at)["id"]
    assert len(sent(again)["cards"][1]["rows"]) == 14


def test_where_the_switch_changes_nothing_there_is_one_card_and_it_is_said():
    at = fine(opened(machine="rtx4090-8gpu"))
    assert len(sent(at)["cards"]) == 1
    assert any("same route" in e.proto.body for e in at.get("html"))


def test_a_rank_and_itself_need_no_link():
    at = opened(a="3", b="3")
    assert not at.exception
    assert "without any link" in messages(at)[0]


def test_a_text_of_ones_own_is_drawn_stays_in_the_address_and_is_dropped_again():
    at = fine(opened())
    at.text_area(key="w_own_text_machines").set_value(SMI)
    next(b for b in at.button if b.label == "Use it").click()
    fine(at.run())
    assert len(sent(at)["cards"]) == 2
    assert custom_machine.unpack_text(address(at)["own"]) == SMI
    again = fine(opened(**address(at)))
    assert sent(again)["id"] == sent(at)["id"]
    next(b for b in again.button if b.label == "Back to the catalogue").click()
    fine(again.run())
    assert "own" not in address(again)


def test_a_text_that_is_no_topology_gets_a_sentence_and_the_picture_stays():
    at = fine(opened())
    at.text_area(key="w_own_text_machines").set_value("hello")
    next(b for b in at.button if b.label == "Use it").click()
    at.run()
    assert not at.exception
    assert len(messages(at)) == 1
    assert sent(at)["cards"]


@pytest.mark.parametrize(
    "shown",
    [
        Pair(),
        Pair("dgx-h100", 4, "rail", a=3, b=17, by="gdr", nbytes="1MiB"),
        Pair(**read_file_fields(SMI), a=1, b=3),
        Pair("dgx-a100", 2, parts=(("nic", "roce-100"),), edits=(MachineEdit("off", "node0/nic1"),), gdr=False),
    ],
    ids=str,
)
def test_what_is_written_is_read_back(shown):
    assert pair.ADDRESS.read(pair.ADDRESS.write(shown)) == (shown, [])


def test_a_text_too_long_for_an_address_is_left_out_of_it():
    import random

    noise = "".join(random.Random(1).choices("abcdefghij0123456789", k=20_000))
    assert custom_machine.pack_text(noise) == ""


def test_an_address_cannot_unpack_to_more_than_a_topology():
    bomb = custom_machine.pack_text("a" * 900_000)
    assert 0 < len(bomb) < custom_machine.LONGEST_IN_ADDRESS
    _, complaints = pair.ADDRESS.read({"own": bomb})
    assert "too long" in str(complaints[0].reason)


HOSTILE = [
    {"machine": "<script>alert(1)</script>"},
    {"nodes": "0"},
    {"a": "-1"},
    {"b": "1e9"},
    {"by": "magic"},
    {"own": "%%%"},
    {"own": "x" * 9000},
    {"nbytes": "64M"},
    {"lang": "tlh"},
    {"machine": "gb200-nvl72", "nodes": "32"},
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: str(q)[:60])
def test_a_hostile_address_gets_one_sentence_and_a_picture(query):
    at = opened(**query)
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert sent(at)["cards"]


def test_every_word_of_the_page_is_used():
    source = "".join((Path(pair.__file__).parent / name).read_text() for name in ("machines.py", "pair.py"))
    families = ("page.", "machines.p2p", "machines.gdr", "machines.notes")
    heads = {f"machines.{name}" for name in ("hop", "cable", "rate", "latency", "used", "play", "pause")}
    assert not [
        key for key in MACHINES if f'"{key}"' not in source and not key.startswith(families) and key not in heads
    ]
