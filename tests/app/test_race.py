"""The Race page: two to four runs, their address, and a sentence for every one that cannot start."""

import json
from dataclasses import replace

import pytest
from catalogs import pair_page_texts
from streamlit.testing.v1 import AppTest
from test_pages import address, fine, messages

from collsim.app.classroom import question_card
from collsim.app.classroom.class_sessions import ClassSessions
from collsim.app.pages.race import lineup
from collsim.app.scenario.choice import Choice
from collsim.errors import CollsimError
from collsim.locale import LANGUAGES

RACE = pair_page_texts("race")


def race() -> None:
    from collsim.app.main import main

    main(first="race")


def opened(**query):
    at = AppTest.from_function(race, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def sent(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_race")]
    return json.loads(one.proto.json)


def test_what_each_rank_sends_to_each_stays_in_an_address():
    """Rows of numbers have the separator of a runner's words between them."""
    run = replace(lineup.READY["experts"][0], machine="switch", ranks=2, options=(("amounts", "1,3;4,2"),))
    runners, complaints = lineup.ADDRESS.read(lineup.ADDRESS.write((run, run)))
    assert (runners, complaints) == ((run, run), [])
    assert lineup.find_difference((run, replace(run, options=()))) == "load"  # Zipf's, by default
    pinned, complaints = lineup.build_pinned_race(lineup.write_runner(run, without=()), run)
    assert (pinned[0].options, complaints) == (run.options, [])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", lineup.READY)
def test_every_ready_race_starts_in_both_languages(name, language):
    at = fine(opened(race=name, lang=language, nbytes="1MiB"))
    runners = sent(at)["runners"]
    assert len(runners) == len(lineup.READY[name])
    assert len({r["name"] for r in runners}) == len(runners)
    assert min(r["position"] for r in runners) == 1


def test_the_first_race_is_ring_tree_and_server_and_has_a_bare_address():
    at = fine(opened())
    assert [(r["name"], r["position"]) for r in sent(at)["runners"]] == [
        ("Ring", 1),
        ("Double binary tree", 2),
        ("Parameter server", 3),
    ]
    assert sent(at)["runners"][2]["note"].endswith(", separate server")
    assert at.query_params == {}


def test_picking_a_race_changes_runners_and_address_and_the_address_opens_it_again():
    at = fine(opened())
    fine(at.selectbox(key="w_race_algorithms").set_value("p2p").run())
    assert address(at) == {"race": "p2p"}
    assert [r["name"] for r in sent(at)["runners"]] == ["GPUDirect P2P on", "GPUDirect P2P off"]
    assert sent(fine(opened(**address(at))))["id"] == sent(at)["id"]


def test_the_list_of_races_is_sent_what_is_chosen_when_that_comes_back():
    """A browser that is sent no value shows the first option, and would send it back with the next click."""
    at = fine(opened())
    fine(at.selectbox(key="w_race_algorithms").set_value("p2p").run())
    fine(at.selectbox(key="w_race_p2p").set_value("algorithms").run())
    fine(at.selectbox(key="w_race_algorithms").set_value("p2p").run())
    box = at.selectbox(key="w_race_p2p")
    assert box.value == "p2p"
    assert box.proto.set_value
    assert box.proto.raw_value.startswith("GPUDirect P2P")


def test_a_race_of_ones_own_is_in_the_address():
    at = fine(opened())
    fine(at.selectbox(key="w_r_algorithm2").set_value("allreduce_halving_doubling").run())
    fine(at.number_input(key="w_r_ranks1").set_value(4).run())
    fine(at.segmented_control(key="w_r_count").set_value(4).run())
    assert at.selectbox(key="w_race_own").value == "own"
    assert "algorithm:allreduce_halving_doubling" in address(at)["runner2"]
    again = fine(opened(**address(at)))
    assert sent(again)["id"] == sent(at)["id"]
    assert len(sent(again)["runners"]) == 4


def test_a_change_of_a_runner_who_is_just_going_changes_nothing():
    at = fine(opened())
    at.selectbox(key="w_r_place3").select_index(4)
    del at.session_state["w_r_place3"]  # as a run does that began before the change came
    assert address(fine(at.run())) == {}


def test_another_collective_gives_each_runner_a_way_of_its_own():
    at = fine(opened())
    fine(at.selectbox(key="w_r_collective").set_value("broadcast").run())
    assert len({r["name"] for r in sent(at)["runners"]}) == 3
    assert address(at)["collective"] == "broadcast"


MIXED = (Choice(nodes=1), Choice(nodes=1, machine="torus", shape="2x2", options=(("channels", 2),)))


@pytest.mark.parametrize("runners", [*lineup.READY.values(), MIXED], ids=str)
def test_what_is_written_is_read_back(runners):
    assert lineup.ADDRESS.read(lineup.ADDRESS.write(runners)) == (runners, [])


HOSTILE = [
    {"race": "<script>alert(1)</script>"},
    {"nbytes": "64M"},
    {"race": "p2p", "engine": "magic"},
    {"runner1": "algorithm:allreduce_rin", "runner2": "network:switch"},
    {"runner1": "ranks:-3;network:switch", "runner2": "network:switch;ranks:4"},
    {"runner1": "x" * 9000, "runner2": "network:switch"},
    {"lang": "tlh"},
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda q: str(q)[:60])
def test_a_hostile_address_gets_one_sentence_and_a_race(query):
    at = opened(**query)
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert len(sent(at)["runners"]) >= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_cannot_start_is_named_and_the_others_race(language):
    at = opened(runner1="network:hypercube;ranks:6", runner2="network:switch;ranks:4", lang=language)
    assert not at.exception
    assert len(messages(at)) == 1
    assert len(sent(at)["runners"]) == 1


def test_who_has_too_many_transfers_is_named():
    at = opened(runner1="network:switch;ranks:256;channels:8", runner2="network:switch;ranks:4")
    assert not at.exception
    assert "too many to race" in messages(at)[0]


def test_a_race_is_kept_among_the_results_and_its_runners_nowhere_else():
    """Results are counted in bytes, for all sessions together."""
    first, again = (lineup.simulate_runner(lineup.READY["algorithms"][0]) for _ in range(2))
    assert first == again
    assert first.timeline is not again.timeline


def test_every_word_of_the_page_is_used():
    from pathlib import Path

    source = "".join((Path(lineup.__file__).parent / name).read_text() for name in ("race.py", "lineup.py"))
    families = ("page.", "race.server.", *(f"race.{name}" for name in (*lineup.READY, "own")))
    assert not [key for key in RACE if f'"{key}"' not in source and not key.startswith(families)]


def test_a_machine_that_is_taken_along_gets_no_more_chunks_than_can_be_raced():
    for place, nodes in (("dgx-a100", 2), ("dgx-h100", 4), ("dgx-h100", 8)):
        runners = lineup.build_race(Choice(machine=place, nodes=nodes))
        found = lineup.run_field(runners)
        assert not [one for one in found.runners if isinstance(one, CollsimError)], place
    assert 64 in [dict(one.options).get("chunks") for one in lineup.build_race(Choice(machine="dgx-a100", nodes=2))]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_ends_first_is_put_to_a_class_and_hidden_until_it_is_revealed(language, monkeypatch):
    # A server has only so many classes, and other tests leave theirs open.
    monkeypatch.setattr(question_card, "_SESSIONS", ClassSessions())
    at = fine(opened(lang=language))
    shown = sent(at)
    assert shown["hides"] is False
    fine(at.button(key="ask_class").click().run())
    assert sent(at)["hides"] is True
    # A run that plays would go on in the browser, and tell: another one, at its start, stands there.
    assert (sent(at)["id"] != shown["id"], sent(at)["t"]) == (True, 0)
    said = "".join(e.proto.body for e in at.get("html"))
    assert "4.73" not in said, "the answer"
    fine(at.button(key="class_reveal").click().run())
    assert (sent(at)["hides"], sent(at)["id"]) == (False, shown["id"])
    said = "".join(e.proto.body for e in at.get("html"))
    assert "4.73" in said
    assert all(runner["reason"][:20] in said for runner in sent(at)["runners"])
    fine(at.button(key="ask_end").click().run())


def test_a_race_without_a_winner_is_no_question():
    runs = lineup.run_field(lineup.READY["algorithms"]).runners
    named = [lineup.RacingRun(run, f"run {number}", "") for number, run in enumerate(runs)]
    question = lineup.ask_who_ends_first(named)
    assert question.answer == 0
    assert lineup.ask_who_ends_first([named[0], named[0]]) is None


def test_the_race_of_a_popular_expert_names_its_loads_and_shows_the_hot_rank():
    """Rank 0 of eight receives 4/11 of what the other seven send, where 1/8 would be even; its runner ends later."""
    at = fine(opened(race="experts"))
    runners = {r["name"]: r for r in sent(at)["runners"]}
    assert list(runners) == ["Even", "One hot rank", "Zipf"]
    assert runners["Even"]["position"] == 1
    share = {name: r["busiest"] / 2**30 for name, r in runners.items()}
    assert share["Even"] == pytest.approx(7 / 64, rel=1e-3)
    assert share["One hot rank"] == pytest.approx(7 / 8 * 4 / 11, rel=1e-3)
