"""What is synthesized, on the pages that show a bound: one click, a bar that can be stopped, and the sentences."""

import contextlib
import io
import json
import pickle
import re
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import address, compare, explore, fine, messages, opened, players, unfolded
from test_whatif import sent, whatif

import collsim as cs
from collsim.app.jobs.computation import Computation, build_job_key
from collsim.app.jobs.job_spec import hear_progress
from collsim.app.pages.whatif import run_edits
from collsim.app.pages.whatif.cards import list_questions
from collsim.app.pages.whatif.run_edits import Edit
from collsim.app.scenario import snippets
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.outcome import estimate_compare
from collsim.app.shell import results
from collsim.app.synthesis import synthesis_result
from collsim.app.texts import say
from collsim.locale import LANGUAGES
from collsim.sweep.synthesized_algorithm import SYNTHESIZED, can_synthesize
from collsim.synthesis.pairs.search_phases import PHASES
from collsim.synthesis.personalized import SEARCHED_AS

MESH = {"network": "fully_connected", "ranks": "4", "bandwidth": "25GB/s", "alpha": "0us", "nbytes": "4MB"}
RUN = {"collective": "allgather", "algorithm": "allgather_ring", **MESH}
BOX = {"machine": "dgx-1v", "nodes": "1", "nbytes": "16MiB", "collective": "allgather", "algorithm": "allgather_ring"}
CUT = {"cable": "node0/gpu0~node0/gpu3", "do": "cut"}
ONE_BOX = Choice(machine="dgx-1v", nodes=1, nbytes="16MiB", collective="allgather", algorithm="allgather_ring")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """What a worker would do is done here, so that a test sees what came of it."""

    def compute(function, *arguments):
        try:
            return pickle.loads(pickle.dumps(function(*arguments)))
        except cs.CollsimError as error:
            results.draw_mistake(results.explain(error))
            return None

    monkeypatch.setattr("collsim.app.synthesis.box.get_exact", compute)
    monkeypatch.setattr("collsim.app.pages.compare.get_exact", compute)


def read_texts(at):
    return re.sub("<.*?>", " ", " ".join(e.proto.body for e in at.get("html"))).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_click_shows_the_schedule_that_gets_to_the_bound_next_to_ring_and_tree(language):
    """Three steps of 40 us on one cable of three, against one step on all of them."""
    at = fine(opened(explore, lang=language, **RUN))
    assert players(at)
    fine(at.button(key="synthesis_show").click().run())
    assert address(at)["synthesize"] == "1"
    words = read_texts(at)
    assert "120 µs" in words
    assert "40 µs" in words
    assert "→" not in words, "the reasons are folded, so that the picture is in view"
    reasons = read_texts(fine(unfolded(at, "synthesis_parts")))
    assert {"en": "uses 1 of the 3 links of the narrowest cut, not 3", "zh": "3 条链路中只用了 1 条，而不是 3 条"}[
        language
    ] in reasons
    assert "rank 3 → rank 0" in reasons or "rank 0 → rank 1" in reasons, "links as the pictures call them"
    runners = sent(at)["runners"]
    assert [one["name"] for one in runners][1:] == [{"en": "Ring", "zh": "环形"}[language], "PAT"]
    assert [round(one["time"] * 1e6) for one in runners] == [40, 120, 120]
    assert [one["position"] for one in runners] == [1, 2, 2]
    again = fine(opened(explore, **address(at)))
    assert sent(again)["runners"][0]["time"] == runners[0]["time"]
    fine(at.button(key="synthesis_close").click().run())
    assert players(at)
    assert "synthesize" not in address(at)


def test_the_parts_of_each_gap_are_in_a_table_and_the_code_says_the_same(tmp_path, monkeypatch):
    at = fine(unfolded(opened(explore, synthesize="1", **RUN), "synthesis_parts"))
    shown = next(frame.value for frame in at.dataframe if "cut" in frame.value)
    assert list(shown["cut"]) == pytest.approx([0, 80, 40], abs=1e-6)
    at.session_state["w_synthesis_code"] = True
    fine(at.run())
    script = next(code.value for code in at.code if "close_gap" in code.value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        monkeypatch.chdir(tmp_path)
        exec(script, {})
    assert (tmp_path / "synthesized.xml").exists()
    assert "uses 1 of the 3 links" in printed.getvalue()
    assert any("--synthesize" in code.value for code in at.code)


def test_what_cannot_be_synthesized_is_a_sentence():
    at = opened(explore, synthesize="1", **{**RUN, "collective": "sendrecv", "algorithm": "sendrecv_direct"})
    assert not at.exception
    (message,) = messages(at)
    assert "endrecv cannot be synthesized" in message


def test_the_search_is_a_job_that_can_be_stopped_and_closing_it_stops_it_too(slow, monkeypatch):
    monkeypatch.setattr("collsim.app.synthesis.box.get_exact", results.get_exact)
    monkeypatch.setattr(results, "ON_THE_SPOT", 1.0)
    at = opened(explore, synthesize="1", **RUN)
    (job,) = slow._jobs.values()
    assert job.key[0].endswith("synthesis_result.synthesize_for_run")
    next(b for b in at.button if b.key.startswith("stop_")).click().run()
    assert job.is_stopped
    assert messages(at) == ["Stopped before it was done."]
    next(b for b in at.button if b.key.startswith("again_")).click().run()
    (job,) = slow._jobs.values()
    at.button(key="synthesis_close").click().run()
    assert job.is_stopped
    assert not slow._jobs


def test_the_bar_goes_forward_while_it_is_looked_for():
    at = []
    choice = Choice(machine="torus", shape="3x3", collective="allgather", algorithm="allgather_ring", nbytes="1MiB")
    with hear_progress(lambda stage, share, partial: at.append(share)):
        synthesis_result.synthesize_for_run(choice, True)
    assert len(at) > 3
    assert at == sorted(at)
    assert 0 <= at[0] <= at[-1] <= 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bar_has_a_word_for_each_phase_of_a_search(language):
    assert set(synthesis_result.STAGES) == set(PHASES)
    usual = say(language, "work.run")
    assert all(say(language, f"work.{stage}") != usual for stage, _, _ in synthesis_result.STAGES.values())
    ends = [begin + width for _, begin, width in synthesis_result.STAGES.values()]
    assert max(ends) < 0.85, "what comes after the search has its share"


def test_what_is_told_of_a_search_is_said_under_the_bar(monkeypatch):
    monkeypatch.setattr(results, "t", lambda key, **values: say("en", key, **values))
    job = Computation(
        build_job_key(synthesis_result.synthesize_for_run, (ONE_BOX, True)), synthesis_result.synthesize_for_run, 60.0
    )
    job.began = time.monotonic() - 10
    with hear_progress(job.note_progress):
        synthesis_result._create_reporter()(1, 2, "timing trees")
    assert results._describe_job(job).startswith("Timing the trees, whole and in pieces: about 60")


def test_switches_that_reduce_can_be_left_out_and_the_address_and_the_code_say_so():
    box = {"machine": "dgx-h100", "nodes": "1", "nbytes": "64MiB", "algorithm": "allreduce_ring", "synthesize": "1"}
    at = fine(opened(explore, **box))
    with_them = sent(at)["runners"][0]["time"]
    fine(at.toggle(key="w_synthesis_switches").set_value(False).run())
    assert address(at)["switches"] == "0"
    without = sent(at)["runners"][0]["time"]
    assert without > 1.2 * with_them
    at.session_state["w_synthesis_code"] = True
    fine(at.run())
    assert any("close_gap(switches=False)" in code.value for code in at.code)
    assert any("--synthesize --no-switches" in code.value for code in at.code)
    again = fine(opened(explore, **address(at)))
    assert sent(again)["runners"][0]["time"] == without
    assert not again.toggle(key="w_synthesis_switches").value


def test_switches_that_reduce_can_be_left_out_after_a_change_too():
    box = {"machine": "dgx-h100", "nodes": "1", "nbytes": "64MiB", "algorithm": "allreduce_ring"}
    at = AppTest.from_function(whatif, default_timeout=60)
    for name, text in {**box, "scale": "nvlink", "factor": "half", "synthesize": "1", "switches": "0"}.items():
        at.query_params[name] = text
    fine(at.run())
    assert not at.toggle(key="w_synthesis_switches").value
    assert address(at)["switches"] == "0"
    fine(at.toggle(key="w_synthesis_switches").set_value(True).run())
    assert "switches" not in address(at)


def test_a_place_without_such_switches_has_nothing_to_leave_out():
    at = fine(opened(explore, synthesize="1", **RUN))
    assert "w_synthesis_switches" not in [toggle.key for toggle in at.toggle]


def test_an_alltoall_is_synthesized_next_to_those_that_it_has():
    query = {**RUN, "network": "ring", "collective": "alltoall", "algorithm": "alltoall_pairwise"}
    at = fine(opened(explore, synthesize="1", **query))
    assert [one["name"] for one in sent(at)["runners"]][1:] == ["Pairwise", "Bruck"]


def test_a_schedule_of_many_transfers_is_played_with_fewer_pieces_and_says_so(monkeypatch):
    monkeypatch.setattr(synthesis_result, "MAX_PLAYED", 2_000)
    shown = synthesis_result.synthesize_for_run(
        replace(ONE_BOX, nbytes="256MiB", collective="broadcast", algorithm="broadcast_chain"), True
    )
    few, all_, time = shown.thinned
    assert few < all_
    assert shown.runners[SYNTHESIZED].time == time
    assert time > min(row["time"] for row in shown.rows if row["run"] == SYNTHESIZED)


# ---- compare


def test_compare_adds_it_as_a_line_and_says_why_at_the_largest_size():
    at = fine(opened(compare, sizes="4KB:4MB:1000", **RUN))
    assert "synthesized" not in read_texts(at)
    fine(at.button(key="synthesis_add").click().run())
    assert address(at)["algorithms"].endswith(",synthesized")
    assert "uses 1 of the 3 links of the narrowest cut" in read_texts(fine(unfolded(at, "synthesis_parts")))
    shown = next(frame.value for frame in at.dataframe if "synthesized" in frame.value)
    assert list(shown["synthesized"])[-1] == "40 µs"
    again = fine(opened(compare, **address(at)))
    assert list(next(f.value for f in again.dataframe if "synthesized" in f.value)["synthesized"]) == list(
        shown["synthesized"]
    )


def test_compare_by_the_other_engine_says_that_the_sentences_are_timed_by_event():
    query = {"sizes": "4KB:4MB:1000", "algorithms": "allgather_ring,synthesized", **RUN}
    assert "curves and the table here are of the lockstep engine" in read_texts(fine(opened(compare, **query)))
    at = fine(opened(compare, **query, engine="event"))
    assert "All timed by the event engine." in read_texts(at)
    assert "curves and the table here" not in read_texts(at)


def test_a_sentence_of_chinese_names_has_no_spaces_between_them():
    query = {"sizes": "4KB:4MB:1000", "algorithms": "allgather_ring,synthesized", "lang": "zh", **RUN}
    assert "在所有数据量下合成的调度都最快。" in read_texts(fine(opened(compare, **query)))


def test_compare_without_anything_to_synthesize_keeps_the_others():
    query = {**MESH, "collective": "sendrecv", "sizes": "4KB:4MB:1000", "algorithms": "sendrecv_direct,synthesized"}
    at = fine(opened(compare, **query))
    assert any("direct" in frame.value for frame in at.dataframe)
    assert "synthesis_add" not in [button.key for button in at.button]
    assert set(SEARCHED_AS) == {name for name in cs.collectives() if can_synthesize(name)}


def test_a_comparison_with_it_takes_longer_and_is_known_to():
    plain = Choice(machine="switch", ranks=64, nbytes="1MiB", algorithms=("allreduce_ring",))
    with_it = Choice(machine="switch", ranks=64, nbytes="1MiB", algorithms=("allreduce_ring", SYNTHESIZED))
    assert estimate_compare(with_it) > estimate_compare(plain) + results.ON_THE_SPOT


# ---- a machine with a cable less


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_dgx1_that_loses_an_nvlink_gets_a_schedule_that_beats_the_fallback_of_the_ring(language):
    at = AppTest.from_function(whatif, default_timeout=60)
    for name, text in {**BOX, **CUT, "synthesize": "1", "lang": language}.items():
        at.query_params[name] = text
    fine(at.run())
    races = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_race")]
    first, *others = (json.loads(race.proto.json)["runners"] for race in races)
    ring = next(one for one in first if one["name"].lower().startswith(("ring", "环")))
    assert ring["time"] > 1.8 * first[0]["time"]
    assert ring["time"] == pytest.approx(others[0][1]["time"], rel=0.05), (
        "the run after the change, without its barriers"
    )
    assert {**CUT, "synthesize": "1"}.items() <= address(at).items()
    fine(at.button(key="synthesis_close").click().run())
    assert "synthesize" not in address(at)


def test_a_question_cuts_a_cable_that_the_machine_can_lose_and_asks_for_a_new_schedule():
    choice = ONE_BOX
    change = dict(list_questions(choice, run_edits.list_cables(choice)))["broken"]
    assert (change.cable_change, change.synthesize) == ("cut", True)
    run_edits.build_changed_topology(choice, change)
    star = Choice(machine="switch", ranks=4, nbytes="1MiB")
    assert "broken" not in dict(list_questions(star, run_edits.list_cables(star))), (
        "a switch with a cable less parts its ranks"
    )


def machines() -> None:
    from collsim.app.main import main

    main(first="machines")


def test_machines_breaks_a_cable_of_the_way_and_what_if_synthesizes_for_what_is_left():
    at = AppTest.from_function(machines, default_timeout=60)
    for name, text in {"machine": "dgx-1v", "a": "0", "b": "3", "nbytes": "1MiB"}.items():
        at.query_params[name] = text
    fine(at.run())
    assert "gpu0 – gpu3" in at.button(key="machines_break").label
    fine(at.button(key="machines_break").click().run())
    kept = at.session_state["session"].page_values["whatif"]
    assert (kept.cable, kept.cable_change, kept.synthesize) == ("node0/gpu0~node0/gpu3", "cut", True)
    assert at.session_state["session"].choice.machine == "dgx-1v"


def test_machines_offers_no_cable_without_which_a_rank_is_cut_off():
    at = AppTest.from_function(machines, default_timeout=60)
    at.query_params["machine"] = "pcie-8gpu"
    fine(at.run())
    assert "machines_break" not in [button.key for button in at.button]


def test_a_single_link_of_a_dgx_a100_is_a_twelfth_of_its_cable():
    choice, edit = Choice(nodes=1), Edit(gdr="same", cable="node0/gpu0~node0/nvswitch", cable_change="one")
    before, after = cs.machine("dgx-a100"), run_edits.build_changed_topology(choice, edit)
    link = next(i for i in range(len(before.links)) if before.link_name(i) == "node0/gpu0 → node0/nvswitch")
    assert after.links.bandwidth[link] == pytest.approx(before.links.bandwidth[link] * 11 / 12)
    built = eval(run_edits.build_code(choice, edit)[1], {"cs": cs})
    assert built.links.bandwidth[link] == pytest.approx(after.links.bandwidth[link], rel=1e-9)
    single = Edit(gdr="same", cable="node0/gpu0~node0/gpu1", cable_change="one")
    gone = run_edits.build_changed_topology(Choice(machine="dgx-1v", nodes=1), single)
    assert len(gone.links) == len(cs.machine("dgx-1v").links) - 2, "a cable of one link is broken with it"


def test_the_script_of_a_change_builds_the_changed_machine():
    text = snippets.write_synthesis_python(
        Choice(nodes=1), {}, 'cs.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")'
    )
    compile(text, "script", "exec")
    assert 'm = cs.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")' in text
