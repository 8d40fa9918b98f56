"""The first minute in the app: the bare address is the simple page, and its choices are in the address."""

import base64
import json
import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from collsim.app.classroom.question_card import get_class_sessions
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.simple_run import run_simple, use_all_channels, use_single_channel
from collsim.app.server.clients import LOCAL
from collsim.app.shell import results
from collsim.locale import LANGUAGES


def explore() -> None:
    from collsim.app.main import main

    main()


def opened(**query):
    at = AppTest.from_function(explore, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    at.run()
    assert not at.exception
    return at


def sent(at, name="collsim_simple"):
    found = [e for e in at.get("bidi_component") if e.proto.component_name.endswith(name)]
    return json.loads(found[0].proto.json) if found else None


def address(at):
    return {name: value if isinstance(value, str) else value[0] for name, value in at.query_params.items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bare_address_is_one_ring_and_a_button_for_all_cards(language):
    data = sent(opened(lang=language))
    one, all_ = data["runs"]
    assert one["time"] == pytest.approx(30 * (2**24 / 25e9 + 3.2e-6))  # 20.2 ms
    assert all_["time"] == pytest.approx(30 * (2**21 / 25e9 + 3.2e-6))  # 2.61 ms
    assert (one["cards"], all_["cards"]) == (1, 8)
    assert one["factors"] == [2, 15, 16, 2**28]
    assert [q["step"] for q in data["questions"]] == [0, 15, 29]
    assert not data["all"]
    assert "256 MiB" in data["title"]


def test_the_offline_page_has_the_picture_of_the_first_page(monkeypatch):
    monkeypatch.setattr(results, "GLANCE", 60.0)
    at = opened(cards="all", lang="zh")
    at.session_state["export_asked"] = ("simple_page", "html", 0.0004, "one")
    data = sent(at.run())
    assert not at.exception
    file = data["exports"]["file"]
    page = base64.b64decode(file["content"]).decode()
    assert file["name"] == "collsim.html"
    assert "built from viz/simple/simplepage.js" in page
    assert f"<title>{data['title']}</title>" in page
    stored = json.loads(re.search(r'id="timeline">(.*?)</script>', page)[1])
    assert stored["all"]
    assert stored["names"] == data["names"]
    assert json.loads(re.search(r'id="options">(.*?)</script>', page)[1])["t"] == 0.0004


def test_simple_has_no_sidebar_and_full_has_one():
    assert not opened().sidebar.selectbox
    assert opened(mode="full").sidebar.selectbox


def test_an_address_with_a_run_asks_for_the_full_page_unless_it_says_simple():
    at = opened(algorithm="allreduce_tree", nbytes="1MiB")
    assert sent(at) is None
    assert "mode" not in address(at)
    at = opened(algorithm="allreduce_tree", nbytes="1MiB", mode="simple")
    assert sent(at)["runs"][0]["sent"] is None
    assert address(at)["mode"] == "simple"


def test_the_switch_keeps_the_run():
    at = opened()
    at.segmented_control(key="w_mode").set_value("full").run()
    assert address(at) == {"collective": "allreduce", "algorithm": "allreduce_ring", **ONE, "channels": "1"}
    assert sent(at, "collsim_player")["id"].endswith("channels=1")
    at.segmented_control(key="w_mode").set_value("simple").run()
    assert address(at) == {}
    assert sent(at) is not None


ONE = {"machine": "dgx-a100", "nodes": "2", "nbytes": "256MiB"}


def test_the_button_and_the_questions_are_in_the_address():
    data = sent(opened(cards="all"))
    assert data["all"]
    assert sent(opened(predict="1"))["predict"]
    at = opened(mode="simple", cards="all")
    at.segmented_control(key="w_mode").set_value("full").run()
    assert address(at) == {"mode": "full"}, "all channels are what the full page takes by itself"


@pytest.mark.parametrize("query", [{}, {"mode": "simple", "cards": "all"}])
def test_simple_and_full_page_name_the_run_alike_so_that_it_plays_on(query):
    at = opened(**query)
    data = sent(at)
    name = data["names"][data["all"]]
    at.segmented_control(key="w_mode").set_value("full").run()
    assert sent(at, "collsim_player")["id"] == name
    at.segmented_control(key="w_mode").set_value("simple").run()
    data = sent(at)
    assert data["names"][data["all"]] == name


@pytest.mark.parametrize(("name", "word"), [("cards", {"cards": "all"}), ("predict", {"predict": "1"})])
def test_what_a_reader_switches_in_the_picture_is_in_the_address_and_in_its_data(monkeypatch, name, word):
    """The component calls what Streamlit would call, with its value in the session's state."""
    shown = []

    def component(component_name, **_):
        def mount(key, data, **callbacks):
            if component_name != "collsim_simple":
                return
            shown.append(data)
            if len(shown) == 1:
                st.session_state[key] = {name: True}
                callbacks[f"on_{name}_change"]()

        return mount

    monkeypatch.setattr("streamlit.components.v2.component", component)
    at = opened()
    at.run()
    assert address(at) == word
    assert shown[-1]["all" if name == "cards" else "predict"] is True


def test_one_channel_is_put_in_only_where_there_are_more():
    first = Choice()
    assert dict(use_single_channel(first).options) == {"channels": 1}
    assert use_all_channels(use_single_channel(first)) == first
    network = Choice(machine="switch")
    assert use_single_channel(network) == network
    assert run_simple(network).runs[1] is None


@pytest.mark.parametrize("query", [{"mode": "both"}, {"cards": "some"}, {"predict": "perhaps"}])
def test_a_word_that_cannot_be_used_gets_a_sentence_and_a_picture(query):
    at = opened(**query)
    assert sum('role="alert"' in e.proto.body for e in at.get("html")) == 1
    assert sent(at) or sent(at, "collsim_player")


def test_the_story_opens_in_both_languages():
    for language in LANGUAGES:
        at = AppTest.from_string("from collsim.app.main import main\nmain(first='story')", default_timeout=120)
        at.query_params["lang"] = language
        at.run()
        assert not at.exception
        data = sent(at, "collsim_story")
        assert data["language"] == language
        assert len(data["story"]["training"]["steps"]) == 5


def test_a_question_of_the_first_page_is_put_to_a_class_and_the_picture_waits_for_the_votes(sit_at):
    key = get_class_sessions().open(LOCAL)
    at = opened(**{"mode": "simple", "predict": "1", "class": key})
    assert not at.exception
    assert sent(at)["classroom"] == {"number": 0, "revealed": False}
    at.button(key="ask_next").click().run()
    posed = get_class_sessions().get_board(key[:4], "anna").posed
    assert posed.question.record()["text"] == {name: sent(at)["questions"][1]["text"][name] for name in LANGUAGES}
    at.button(key="class_reveal").click().run()
    assert sent(at)["classroom"] == {"number": 1, "revealed": True}
    at.button(key="ask_end").click().run()
    assert "classroom" not in sent(at)
