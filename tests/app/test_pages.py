"""Every page, both languages, every registered algorithm: no exception anywhere, and a sentence for every mistake."""

import json
import re
import time
import warnings

import pytest
from sampling import cross, sample
from streamlit.testing.v1 import AppTest

import collsim as cs
from collsim.app.pages import compare as compare_page
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.mistakes import remove_chinese_spaces
from collsim.app.scenario.outcome import NearMiss
from collsim.app.texts import say
from collsim.locale import LANGUAGES

MACHINE, NETWORK = {"machine": "dgx-h100", "nodes": "2", "nbytes": "1MiB"}, {"network": "switch", "ranks": "4"}


def explore() -> None:
    from collsim.app.main import main

    main()


def compare() -> None:
    from collsim.app.main import main

    main(first="compare")


def typing() -> None:
    """AppTest can only choose what is on a list; here something is typed into it."""
    import streamlit as st

    from collsim.app.main import main

    if typed := st.session_state.pop("typed", None):
        st.session_state["w_nbytes"] = typed
    main()


def opened(page=explore, **query):
    """A page at an address; a bare one opens Explore in its full form (`test_simple.py` opens the simple one)."""
    query = query or ({"mode": "full"} if page is explore else {})
    at = AppTest.from_function(page, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def messages(at):
    """Sentences that tell of a mistake, in the page and in the sidebar."""
    found = [e.proto.body for e in at.get("html") if 'role="alert"' in e.proto.body]
    return [re.sub("<.*?>", "", body) for body in found]


def players(at):
    return [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_player")]


def address(at):
    return {name: value if isinstance(value, str) else value[0] for name, value in at.query_params.items()}


def unfolded(at, name, tab=""):
    """The page with a folded part open, or with this tab of a row; what is closed is not drawn."""
    at.session_state[f"w_{name}"] = say(at.session_state["language"], tab) if tab else True
    return at.run()


def fine(at):
    assert not at.exception
    assert messages(at) == []
    return at


@pytest.mark.parametrize("name", sample(cs.algorithms(), 8))
def test_every_algorithm_runs_on_a_machine_and_in_the_other_language_on_a_network(name):
    place = {**MACHINE, "nodes": "1"} if name.endswith("_nvls") else MACHINE  # an NVSwitch serves one node
    helped_by = cs.algorithms()[name].helpers_on
    at = fine(opened(algorithm=name, **place))
    assert players(at)
    assert set(address(at)) <= {"collective", "algorithm", *MACHINE}, "an option at its default is not part of the run"
    at.segmented_control(key="w_language").set_value("zh")
    at.selectbox(key="w_place").set_value("switch").run()
    if helped_by == "host":
        fine(at)
    else:
        assert "reduces=True" in messages(at)[0], "an ordinary switch reduces nothing"
        fine(at.toggle(key="w_reduces").set_value(True).run())
    assert players(at)


@pytest.mark.parametrize(
    ("collective", "language"), cross(sorted({a.collective for a in cs.algorithms().values()}), LANGUAGES)
)
def test_every_collective_is_compared_in_both_languages(collective, language):
    at = fine(opened(compare, collective=collective, lang=language, sizes="1KiB:1MiB:32", **NETWORK))
    assert len(at.get("arrow_vega_lite_chart")) + len(at.get("vega_lite_chart")) == 2
    assert say(language, "compare.title") in "".join(e.proto.body for e in at.get("html"))


def test_an_algorithm_that_cannot_run_is_said_once_and_leaves_no_warning_in_the_servers_log():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        names = "allreduce_ring,allreduce_swing"
        at = opened(compare, algorithms=names, network="switch", ranks="6", sizes="1KiB:1MiB:32")
    assert not at.exception
    assert len(messages(at)) == 1
    assert [str(one.message) for one in found if "attrs" in str(one.message)] == []


@pytest.mark.parametrize("place", sample([*cs.machines(), *cs.topology.NETWORKS], 6))
def test_every_machine_and_network_opens(place):
    kind = "machine" if place in cs.machines() else "network"
    fine(opened(nbytes="1MiB", nodes="1", **{kind: place}))


def test_the_full_page_opens_on_two_dgx_a100_and_all_their_channels():
    at = fine(opened())
    text = " ".join(e.proto.body for e in at.get("html"))
    assert "16 ranks, 30 steps" in text
    assert "256\N{NO-BREAK SPACE}MiB" in text
    assert "8 channels; one alone would take 20.2\N{NO-BREAK SPACE}ms" in text
    assert address(at) == {"mode": "full"}
    sent = json.loads(players(at)[0].proto.json)
    assert {"id", "timeline", "language", "theme"} <= set(sent)
    assert sent["timeline"]["schema"] == "collsim.timeline/1"


def test_the_choice_is_in_the_address():
    at = opened(network="ring", ranks="5", nbytes="1MiB")
    at.number_input(key="w_ranks").set_value(6)
    at.selectbox(key="w_nbytes").set_value("16MiB")
    fine(at.run())
    assert {"ranks": "6", "nbytes": "16MiB", "network": "ring"}.items() <= address(at).items()
    again = fine(opened(**address(at)))
    assert json.loads(players(again)[0].proto.json)["id"] == json.loads(players(at)[0].proto.json)["id"]


def test_all_channels_are_the_default_on_a_machine_and_one_can_be_chosen():
    at = opened()
    assert at.segmented_control(key="w_channels").value == 8
    fine(at.segmented_control(key="w_channels").set_value(1).run())
    assert address(at)["channels"] == "1"
    fine(at.segmented_control(key="w_channels").set_value(8).run())
    assert "channels" not in at.query_params


HOSTILE = [
    {"nbytes": "64M"},
    {"nodes": "0"},
    {"ranks": "-3", "network": "ring"},
    {"algorithm": "allreduce_rin"},
    {"machine": "<script>alert(1)</script>"},
    {"network": "ring(8)", "machine": "dgx-a100"},
    {"collective": "broadcast", "algorithm": "allreduce_ring"},
    {"bandwidth": "fast", "network": "switch"},
    {"channels": "many"},
    {"server": "nobody", "algorithm": "allreduce_parameter_server"},
    {"dtype": "**bold** `x` $y$"},
    {"lang": "tlh"},
    {"nbytes": "{used}{reason}"},
]


def test_the_first_table_of_a_comparison_takes_less_than_two_seconds_of_the_processor():
    """The comparison that the page opens with is whole at once: no bar, no shorter one in its place."""
    for machine in ("dgx-h100", "dgx-a100", "hgx-b200"):  # the first pays for imports; what else runs slows a processor
        begin = time.process_time()
        at = fine(opened(compare, machine=machine, nodes="4", collective="allreduce"))
        took = time.process_time() - begin
        if took < 2.0:
            break
    assert took < 2.0
    (table,) = at.dataframe
    assert len(table.value) == len(cs.size_range(Choice().sizes))
    assert not [button for button in at.button if str(button.key).startswith("stop_")]


def name_case(value):
    """Both workers of a run must give a case the same name, so a function's address cannot be in it."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("query", "page"), cross(HOSTILE, [explore, compare]), ids=name_case)
def test_a_hostile_address_gets_one_sentence_and_a_picture(query, page):
    at = opened(page, **({"sizes": "1KiB:1MiB:32"} | query))
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert page is compare or players(at)


IMPOSSIBLE = [
    {"algorithm": "broadcast_flat", "network": "switch", "ranks": "4", "root": "9"},
    {"network": "hypercube", "ranks": "6"},
    {"network": "switch", "ranks": "256", "channels": "1024"},
    {"network": "fat_tree", "shape": "16"},
    {"network": "torus", "shape": "999999999x999999999"},
    {"nodes": "32", "machine": "dgx-2"},
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("query", IMPOSSIBLE, ids=str)
def test_what_cannot_run_is_told_in_a_sentence_and_the_last_good_picture_stays(query, language):
    at = opened(lang=language, **query)
    assert not at.exception
    assert len(messages(at)) <= 1
    assert players(at)


def test_typing_a_bad_size_leaves_a_sentence_below_and_the_picture_as_it_was():
    at = fine(opened(typing, **NETWORK))
    before = json.loads(players(at)[0].proto.json)["id"]
    at.session_state["typed"] = "64M"
    at.run()
    assert not at.exception
    assert "ambiguous" in messages(at)[0]
    assert json.loads(players(at)[0].proto.json)["id"] == before
    at.session_state["typed"] = "2MiB"
    fine(at.run())
    assert json.loads(players(at)[0].proto.json)["id"] != before


@pytest.mark.parametrize(
    "query", [{"nbytes": "8"}, {"nbytes": "0"}, {"nbytes": "1000003", "ranks": "7"}, {"ranks": "1"}], ids=str
)
def test_tiny_and_odd_runs_are_not_mistakes(query):
    fine(opened(**({"network": "switch"} | query)))


def test_what_is_sent_to_the_player_is_strict_json():
    sent = players(opened(**NETWORK))[0].proto.json
    assert "NaN" not in sent
    assert "Infinity" not in sent
    json.loads(sent, parse_constant=lambda word: pytest.fail(word))


def test_a_comparison_of_one_rank_has_a_sentence_where_there_is_no_busbw():
    at = opened(compare, network="switch", ranks="1", sizes="1KiB:1MiB:32")
    assert not at.exception
    assert not any("collsim itself" in m for m in messages(at))
    assert say("en", "compare.nothing") in "".join(e.proto.body for e in at.get("html"))


def test_a_comparison_of_which_nothing_can_run_says_why():
    at = opened(compare, machine="dgx-a100", nodes="1", algorithms="allreduce_nvls", sizes="1KiB:1MiB:32")
    assert not at.exception
    assert len(messages(at)) == 1
    assert "NVLink SHARP" in messages(at)[0]
    assert players(at) == []


@pytest.mark.parametrize("query", [{}, NETWORK, {"algorithm": "allreduce_parameter_server"}])
def test_every_control_and_figure_of_the_first_page_explains_itself(query):
    at = opened(**query)
    controls = [*at.sidebar.selectbox, *at.sidebar.number_input, *at.sidebar.toggle, *at.sidebar.segmented_control]
    assert len(controls) >= 8
    assert [w.label for w in controls if not w.help] == []
    head = next(e.proto.body for e in at.get("html") if "cs-head" in e.proto.body)
    assert len(re.findall(r"<small title=.[^\"]+.>", head)) == head.count("<small") == 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_takes_as_long_as_the_first_is_not_said_to_take_one_time_as_long(monkeypatch, language):
    miss = NearMiss("allreduce_ring", "allreduce_tree", 2**20, 1.0004)
    monkeypatch.setattr(compare_page, "find_near_misses", lambda table: [miss])
    at = fine(opened(compare, lang=language, sizes="1KiB:1MiB:32", **NETWORK))
    names = [say(language, f"algorithm.name.{name}") for name in ("ring", "tree")]
    sentence = say(language, "compare.beside", name=names[0], first=names[1], nbytes="1 MiB")
    shown = "".join(e.proto.body for e in at.get("html")).replace("\xa0", " ")
    assert remove_chinese_spaces(sentence[:1].upper() + sentence[1:]) in shown
