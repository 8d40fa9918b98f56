"""The What-if page: every change, on machines and networks, and a sentence for what cannot be."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import address, fine, messages

from collsim.app import edits
from collsim.app.choice import Choice
from collsim.app.edits import Edit
from collsim.app.texts import LANGUAGES
from collsim.app.whatif_texts import WHATIF

SMALL = {"network": "switch", "ranks": "4", "nbytes": "1MiB"}
ONE = Choice(place="switch", ranks=4, nbytes="1MiB")


def whatif() -> None:
    from collsim.app.main import main

    main(first="whatif")


def opened(**query):
    at = AppTest.from_function(whatif, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def sent(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_race")]
    return json.loads(one.proto.json)


def words(at):
    return " ".join(e.proto.body for e in at.get("html"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_page_switches_rdma_off_on_two_dgx_a100(language):
    at = fine(opened(lang=language))
    before, after = sent(at)["runners"]
    assert before["place"] < after["place"]
    assert "3.12" in words(at)
    assert len(at.get("arrow_vega_lite_chart")) + len(at.get("vega_lite_chart")) == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "query",
    [
        {"scale": "cable", "factor": "four", **SMALL},
        {"cable": "gpu0~switch0", "do": "tenth", **SMALL},
        {"machine": "dgx-a100", "nodes": "2", "placement": "round-robin"},
        {"machine": "dgx-h100", "nodes": "4", "fabric": "leaf-spine", "oversubscription": "4"},
        {"machine": "pcie-8gpu", "nodes": "1", "then_p2p": "off", "engine": "event", "nbytes": "1MiB"},
        {"machine": "dgx-a100", "nodes": "2", "cable": "node0/gpu0~node0/pcie0", "do": "double"},
    ],
    ids=str,
)
def test_every_change_has_two_pictures_and_an_address(query, language):
    at = fine(opened(lang=language, **query))
    assert len(sent(at)["runners"]) == 2
    kept = {k: v for k, v in query.items() if k not in SMALL}
    assert {k: v for k, v in kept.items() if k in edits.WORDS}.items() <= address(at).items()


def test_choosing_a_change_runs_it_and_writes_it_down():
    at = fine(opened(**SMALL))
    assert "Nothing is changed yet" in words(at)
    fine(at.selectbox(key="w_x_kind").set_value("cable").run())
    assert "times faster" in words(at)
    assert address(at)["scale"] == "cable"
    assert sent(fine(opened(**address(at))))["id"] == sent(at)["id"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cut_that_parts_the_ranks_is_a_sentence_and_the_last_good_picture_stays(language):
    at = opened(cable="gpu0~switch0", do="cut", lang=language, **SMALL)
    assert not at.exception
    assert len(messages(at)) == 1
    assert len(sent(at)["runners"]) == 2


def test_twice_the_bandwidth_of_every_cable_nearly_halves_a_large_ring():
    found = edits.change(Choice(place="switch", ranks=4, nbytes="256MiB"), Edit(kind="cable"))
    assert found.speedup == pytest.approx(2, rel=1e-3)
    assert found.tornado.iloc[0]["doubled"] == pytest.approx(0.5, abs=0.01)
    assert set(found.links["bytes"]) <= {0}


def test_a_broken_nvlink_of_a_dgx1_moves_its_bytes_elsewhere():
    choice = Choice(place="dgx-1v", nodes=1, nbytes="16MiB", options=(("channels", 1),))
    assert "node0/gpu0~node0/gpu3" in edits.cables(choice)
    found = edits.change(choice, Edit(cable="node0/gpu0~node0/gpu3", do="cut"))
    assert found.speedup < 1
    assert (found.links["bytes"] < 0).any()
    assert (found.links["bytes"] > 0).any()


def test_round_robin_crosses_the_fabric_at_every_step_of_the_ring():
    found = edits.change(Choice(nbytes="1MiB"), Edit(gdr="same", placement="round-robin"))
    assert found.crossings == (2, 16, 16)
    assert found.speedup < 1


def test_an_edit_in_an_address_is_not_joined_by_the_one_of_the_first_page():
    edit, _ = edits.read({"cable": "a~b", "do": "cut"})
    assert edit == Edit(gdr="same", cable="a~b", do="cut")
    assert edits.read({"nodes": "4"}) == (Edit(), [])


@pytest.mark.parametrize("edit", [Edit(), edits.PLAIN, Edit("on", "off", "pcie", "four", "a~b", "cut", "round-robin", 4)], ids=str)
def test_what_is_written_is_read_back(edit):
    assert edits.read(edits.write(edit)) == (edit, [])


HOSTILE = [
    {"scale": "<script>alert(1)</script>"},
    {"scale": "infiniband", **SMALL},
    {"cable": "nobody~nowhere"},
    {"cable": "x" * 900},
    {"do": "eat"},
    {"then_gdr": "maybe"},
    {"oversubscription": "-1"},
    {"nbytes": "64M"},
    {"lang": "tlh"},
    {"algorithm": "alltoall_direct", "nodes": "32", "machine": "dgx-a100"},
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: str(q)[:60])
def test_a_hostile_address_gets_at_most_one_sentence_and_a_picture(query):
    at = opened(**query)
    assert not at.exception
    assert len(messages(at)) <= 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert len(sent(at)["runners"]) == 2


def test_every_word_of_the_page_is_used():
    source = "".join((Path(edits.__file__).parent / name).read_text() for name in ("whatif.py", "edits.py"))
    known = {*edits.SWITCHED, *edits.FACTORS, *edits.CABLE}
    families = ("page.", "whatif.links", "whatif.placement.", *(f"whatif.{name}" for name in known))
    assert not [key for key in WHATIF if f'"{key}"' not in source and not key.startswith(families)]
