"""The What-if page: every change, on machines and networks, and a sentence for what cannot be."""

import contextlib
import io
import json
import pickle
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from catalogs import pair_page_texts
from sampling import cross
from streamlit.testing.v1 import AppTest
from test_machines import SMI
from test_pages import address, explore, fine, messages, players, unfolded
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.whatif import run_edits
from collsim.app.pages.whatif.run_edits import Edit
from collsim.app.scenario import companions, snippets
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.custom_machine import pack_text
from collsim.app.shell import results
from collsim.cli import app
from collsim.locale import LANGUAGES
from collsim.viz.timeline.timeline_document import decode

WHATIF = pair_page_texts("whatif")

SMALL = {"network": "switch", "ranks": "4", "nbytes": "1MiB"}
ONE = Choice(machine="switch", ranks=4, nbytes="1MiB")
EDIT_WORDS = {word.name for word in run_edits.ADDRESS.words}


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


def list_run_ids(at):
    """What the picture of before and after and the player of several call their runs."""
    (several,) = players(at)
    return sent(at)["id"], json.loads(several.proto.json)["id"]


def words(at):
    return " ".join(e.proto.body for e in at.get("html"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_page_switches_rdma_off_on_two_dgx_a100(language):
    at = fine(opened(lang=language))
    before, after = sent(at)["runners"]
    assert before["position"] < after["position"]
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
    assert {k: v for k, v in kept.items() if k in EDIT_WORDS}.items() <= address(at).items()


def test_choosing_a_change_runs_it_and_writes_it_down():
    at = fine(opened(**SMALL))
    assert "Nothing is changed yet" in words(at)
    fine(at.selectbox(key="w_x_link_kind").set_value("cable").run())
    assert "times as fast" in words(at)
    assert address(at)["scale"] == "cable"
    assert sent(fine(opened(**address(at))))["id"] == sent(at)["id"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cut_that_parts_the_ranks_is_a_sentence_and_the_last_good_picture_stays(language):
    at = opened(cable="gpu0~switch0", do="cut", lang=language, **SMALL)
    assert not at.exception
    assert len(messages(at)) == 1
    assert len(sent(at)["runners"]) == 2


def test_under_a_bar_the_last_pictures_keep_the_name_of_their_own_run(slow, monkeypatch):
    """A picture that is there under a name is not drawn again when the run of that name comes."""
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    at = fine(opened(beside="again", **SMALL))
    last = list_run_ids(at)
    monkeypatch.setattr(results, "ON_THE_SPOT", -1.0)
    at.selectbox(key="w_x_link_kind").set_value("cable").run()
    (job,) = slow._jobs.values()
    assert list_run_ids(at) == last
    slow.cache.put(job.key, pickle.dumps(run_edits.run_change(*job.key[1])))
    fine(at.run())
    assert not set(list_run_ids(at)) & set(last)


def test_a_moment_in_the_address_is_where_both_pictures_begin_until_something_is_changed():
    at = fine(opened(t="0.0001", view="logical", beside="again", **SMALL))
    several = json.loads(players(at)[0].proto.json)
    assert (sent(at)["t"], several["t"], several["view"]) == (1e-4, 1e-4, "logical")
    assert {"t": "0.0001", "view": "logical"}.items() <= address(at).items()
    fine(at.selectbox(key="w_x_link_kind").set_value("cable").run())
    several = json.loads(players(at)[0].proto.json)
    assert ("t" in sent(at), several["t"], several["view"], "t" in address(at)) == (False, None, "logical", False)
    assert "t" in messages(opened(t="soon", **SMALL))[0]


def test_the_moment_of_an_address_belongs_to_its_page():
    """Explore opens again at the moment of its address; a run that What-if compares with does not know of it."""
    at = AppTest.from_function(explore, default_timeout=60)
    at.query_params["t"], at.query_params["mode"] = "1us", "full"
    at.run()
    assert json.loads(players(at)[0].proto.json)["t"] == 1e-6
    at = opened(beside="again", **SMALL)
    at.session_state["session"].moments["explore"] = {"t": 1e-6}
    at.run()
    assert json.loads(players(at)[0].proto.json)["t"] is None
    assert at.session_state["session"].moments == {"explore": {"t": 1e-6}, "whatif": {}}


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_that_a_place_does_not_have_are_told_of(language):
    at = opened(beside="tensor", lang=language, **SMALL)
    (said,) = messages(at)
    assert "tensor" in said
    assert "beside" not in address(at)
    assert len(messages(opened(beside="tensor", lang=language, network="hypercube", ranks="6"))) == 1  # of the place


def test_twice_the_bandwidth_of_every_cable_nearly_halves_a_large_ring():
    found = run_edits.run_change(Choice(machine="switch", ranks=4, nbytes="256MiB"), Edit(link_kind="cable"))
    assert found.speedup == pytest.approx(2, rel=1e-3)
    assert found.tornado.iloc[0]["doubled"] == pytest.approx(0.5, abs=0.01)
    assert set(found.links["bytes"]) <= {0}


def test_where_nothing_is_changed_no_link_stands_in_the_table():
    assert run_edits.run_change(ONE, Edit()).links.empty


def test_a_broken_nvlink_of_a_dgx1_moves_its_bytes_to_other_links():
    choice = Choice(machine="dgx-1v", nodes=1, nbytes="16MiB", options=(("channels", 1),))
    assert "node0/gpu0~node0/gpu3" in run_edits.list_cables(choice)
    found = run_edits.run_change(choice, Edit(cable="node0/gpu0~node0/gpu3", cable_change="cut"))
    assert found.speedup < 1
    assert (found.links["bytes"] < 0).any()
    assert (found.links["bytes"] > 0).any()


def test_round_robin_crosses_the_fabric_at_every_step_of_the_ring():
    found = run_edits.run_change(Choice(nbytes="1MiB"), Edit(gdr="same", placement="round-robin"))
    assert found.crossings == (2, 16, 16)
    assert found.speedup < 1


#: Trouble whose time is known, on a switch of 4 with cables of 25 GB/s and 1 us and a ring of 2 (n - 1) = 6 steps.
#: Bytes of a step: a quarter of 25 MB = 250 us; healthy: 6 * (250 + 2) us.
RING = Choice(machine="switch", ranks=4, nbytes="25MB", bandwidth="25GB/s", alpha="1us")
HEALTHY = 6 * 252e-6


def test_a_straggler_slows_every_step_of_a_ring():
    found = run_edits.run_change(RING, Edit(gdr="same", straggler=2, straggler_fault="slow2"))
    network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
    slowed = cs.simulate(cs.schedule("allreduce_ring", topology=network), network, "25MB", engine="event", slow={2: 2})
    assert found.before.time == pytest.approx(HEALTHY, rel=1e-6)
    assert found.after.time == pytest.approx(
        6 * 502e-6, rel=1e-6
    )  # every chunk crosses the slow cables at half the speed
    assert found.after.time == pytest.approx(slowed.time, rel=1e-9)
    assert "rank 2" in found.verdict[0]
    assert "busy 99.6" in found.verdict[0]  # 6 * 500 of 6 * 502 us, at the rate that it has
    late = run_edits.run_change(RING, Edit(gdr="same", straggler=2, straggler_fault="late1ms"))
    assert late.after.time == pytest.approx(HEALTHY + 1e-3, rel=0.02)


def test_other_traffic_shares_the_cables_it_crosses():
    found = run_edits.run_change(RING, Edit(gdr="same", traffic="all"))
    # every rank sends 25 MB to the one across beside the run's 37.5 MB: 62.5 MB leave by each cable of 25 GB/s
    assert found.after.time == pytest.approx(2.5e-3, rel=0.02)
    one = run_edits.run_change(RING, Edit(gdr="same", traffic="one"))
    assert HEALTHY < one.after.time < found.after.time * 1.001
    assert "(with 23.8 MiB of other traffic)" in found.verdict[0]  # all 25 MB of it


def test_jitter_makes_a_distribution_that_is_the_same_every_time():
    edit = Edit(gdr="same", jitter="10us")
    first, again = (run_edits.run_change(RING, edit) for _ in range(2))
    assert len(first.times) == run_edits.RUNS == len(set(first.times))
    assert first.times == again.times
    assert first.after.time == first.times[0]
    assert min(first.times) > HEALTHY


def test_the_verdict_says_what_doubling_one_cable_and_what_doubling_all_would_save():
    en, zh = run_edits.run_change(RING, run_edits.PLAIN).verdict
    assert (
        "all links between the sockets"
        in run_edits.run_change(Choice(machine="pcie-8gpu", nodes=1, nbytes="1MiB"), run_edits.PLAIN).verdict[0]
    )
    # 4 * 2 directed cables are equally busy: one alone saves nothing, all of them 125 of 252 us
    assert "doubling this cable alone saves nothing; all the cables, 50" in en
    assert "毫无收益" in zh
    found = run_edits.run_change(Choice(nbytes="64MiB"), run_edits.PLAIN).verdict[0]
    assert "node" in found
    assert "NVLink" in found.split(", nothing")[0]
    staged = run_edits.run_change(Choice(nbytes="64MiB"), Edit()).verdict[0]
    assert staged.startswith("PCIe ")
    assert not staged.startswith("PCIe PCIe")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "query",
    [
        {"straggler": "1", "how": "slow10", "jitter": "1us", "traffic": "one", **SMALL},
        {"machine": "dgx-a100", "nodes": "2", "nbytes": "1MiB", "straggler": "9", "how": "late100us"},
        {"own": pack_text(SMI), "traffic": "all", "nbytes": "1MiB"},
    ],
    ids=["switch", "machine", "pasted"],
)
def test_conditions_have_an_address_a_verdict_and_code(query, language):
    at = fine(opened(lang=language, **query))
    assert {k: v for k, v in query.items() if k in EDIT_WORDS}.items() <= address(at).items()
    assert ("event" if language == "en" else "事件") in words(at)
    assert ("busy" if language == "en" else "在忙") in words(at)
    assert ("runs, seeds 0 to 99" in " ".join(m.value for m in at.markdown)) == ("jitter" in query and language == "en")
    code = " ".join(c.value for c in unfolded(at, "code").code)
    for word in ("slow={1: 10}", "--slow 1=10", "--jitter 1us", "runs=100") if "jitter" in query else ():
        assert word in code


@pytest.mark.parametrize(
    "edit",
    [
        Edit(gdr="same", straggler=2, straggler_fault="late1ms", traffic="all"),
        Edit(gdr="same", jitter="1us", straggler=1),
    ],
)
def test_the_script_of_conditions_gives_the_times_of_the_page(edit):
    found = run_edits.run_change(RING, edit)
    before = run_edits.choose_engine(RING, edit)
    _, changed = run_edits.build_code(before, edit)
    conditions = run_edits.build_conditions(RING, edit, 4)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(snippets.write_change_python(before, changed, {}, conditions, run_edits.RUNS if edit.jitter else 0), names)
    assert (names["before"].time, names["after"].time) == pytest.approx((found.before.time, found.after.time), rel=1e-9)
    if edit.jitter:
        assert tuple(names["times"]) == pytest.approx(found.times, rel=1e-9)
    line = shlex.split(snippets.write_command(before, {}, {k: v for k, v in conditions.items() if k != "background"}))
    done = CliRunner().invoke(app, [*line[1:], "--json"])
    assert done.exit_code == 0, done.output
    if "background" not in conditions:
        assert json.loads(done.stdout)["time"] == pytest.approx(found.after.time, rel=1e-12)


def test_an_edit_in_an_address_is_not_joined_by_the_one_of_the_first_page():
    edit, _ = run_edits.ADDRESS.read({"cable": "a~b", "do": "cut"})
    assert edit == Edit(gdr="same", cable="a~b", cable_change="cut")
    assert run_edits.ADDRESS.read({"nodes": "4"}) == (Edit(), [])


@pytest.mark.parametrize(
    "edit",
    [
        Edit(),
        run_edits.PLAIN,
        Edit("on", "off", "pcie", "four", "a~b", "cut", "round-robin", 4, 3, "slow10", "1us", "one", "data"),
    ],
    ids=str,
)
def test_what_is_written_is_read_back(edit):
    assert run_edits.ADDRESS.read(run_edits.ADDRESS.write(edit)) == (edit, [])


HOSTILE = [
    {"scale": "<script>alert(1)</script>"},
    {"scale": "infiniband", **SMALL},
    {"cable": "nobody~nowhere"},
    {"cable": "x" * 900},
    {"do": "eat"},
    {"then_gdr": "maybe"},
    {"oversubscription": "-1"},
    {"straggler": "-1"},
    {"straggler": "99", **SMALL},
    {"jitter": "1e9s"},
    {"traffic": "all", "network": "switch", "ranks": "1"},
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
    source = "".join(
        (Path(run_edits.__file__).parents[2] / name).read_text()
        for name in ("pages/whatif/whatif.py", "pages/whatif/run_edits.py", "shell/codebox.py")
    ).replace("'", '"')
    known = {*run_edits.SWITCH_POSITIONS, *run_edits.FACTORS, *run_edits.CABLE_CHANGES, *run_edits.STRAGGLERS}
    families = (
        "page.",
        "whatif.ask.",  # `cards`: one for each question
        "whatif.links",
        "whatif.mib.",
        "whatif.busy.",
        "whatif.several.other",
        *(f"whatif.{field.name}" for field in fields(Edit)),
        "whatif.placement.",
        "whatif.traffic.",
        "whatif.companion.",
        *(f"whatif.{name}" for name in known),
    )
    assert not [key for key in WHATIF if f'"{key}"' not in source and not key.startswith(families)]


def test_the_same_once_more_on_one_set_of_cables_takes_as_long_as_both():
    """A ring on a switch, both times the same chunks on the same cables: half the rate of each, so 6 steps of 500 and 2
    us."""
    found = run_edits.run_change(RING, Edit(gdr="same", companion="again"))
    assert found.before.time == pytest.approx(HEALTHY, rel=1e-6)
    assert found.after.time == pytest.approx(6 * 502e-6, rel=1e-6)
    assert [row[:2] for row in found.concurrent_runs.rows] == [("allreduce_ring", 4)] * 2
    assert [row[4] for row in found.concurrent_runs.rows] == pytest.approx([502 / 252] * 2)
    assert "(with 35.8 MiB of other traffic)" in found.verdict[0]  # 37.5 MB, as much as its own
    assert len(decode(found.concurrent_runs.timeline)["groups"]) == 2


def test_groups_of_ranks_are_those_of_tensor_and_data_parallelism():
    """Two boxes of 8 on PCIe: groups of 8 inside each, or 8 pairs across; a plain switch has neither."""
    place = cs.machine("pcie-8gpu", nodes=2)
    assert companions.list_groups("tensor", place) == [list(range(8)), list(range(8, 16))]
    assert companions.list_groups("data", place) == [[r, r + 8] for r in range(8)]
    assert companions.find_companions(place) == list(companions.COMPANIONS)
    assert companions.find_companions(cs.topology.switch(4)) == ["", "again"]
    choice = Choice(machine="pcie-8gpu", nodes=2, nbytes="1MiB")
    found = run_edits.run_change(choice, Edit(gdr="same", companion="data"))
    assert [row[1] for row in found.concurrent_runs.rows] == [16, *[2] * 8]
    assert found.speedup < 0.8
    assert found.after.time == found.concurrent_runs.rows[0][3]


@pytest.mark.parametrize(("what", "language"), cross(["again", "tensor", "data"], LANGUAGES))
def test_another_collective_beside_has_an_address_a_player_and_code(what, language):
    query = {"machine": "pcie-8gpu", "nodes": "2", "nbytes": "64KiB", "channels": "1", "beside": what}
    at = fine(opened(lang=language, **query))
    assert query.items() <= address(at).items()
    (player,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_player")]
    found = run_edits.run_change(
        Choice(machine="pcie-8gpu", nodes=2, nbytes="64KiB", options=(("channels", 1),)),
        Edit(gdr="same", companion=what),
    )
    assert len(decode(json.loads(player.proto.json)["timeline"])["groups"]) == len(found.concurrent_runs.rows) > 1
    assert f"{found.concurrent_runs.rows[0][4]:.3g}" in " ".join(m.value for m in at.markdown)
    assert "plans" in " ".join(c.value for c in unfolded(at, "code").code)
    fine(at.selectbox(key="w_x_companion").set_value("").run())
    assert "beside" not in address(at)
    assert not [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_player")]


def test_what_costs_nothing_next_to_a_run_takes_as_long_as_alone():
    at = fine(opened(machine="dgx-a100", nodes="6", beside="tensor"))
    said = " ".join(m.value for m in at.markdown)
    assert "7 collectives at once: this run (A) takes" in said
    assert "as long as alone" in said
    assert "1 times" not in said


@pytest.mark.parametrize(("what", "jitter"), cross(["again", "tensor", "data"], ["", "1us"]))
def test_the_script_and_the_command_of_several_at_once_give_the_times_of_the_page(what, jitter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    choice = Choice(machine="pcie-8gpu", nodes=2, nbytes="64KiB", options=(("channels", 1),))
    edit = Edit(gdr="same", companion=what, jitter=jitter)
    found = run_edits.run_change(choice, edit)
    before, place = run_edits.choose_engine(choice, edit), cs.machine("pcie-8gpu", nodes=2)
    conditions = run_edits.build_conditions(choice, edit, 16)
    lines = companions.write_python(what, place)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        runs = run_edits.RUNS if jitter else 0
        exec(
            snippets.write_change_python(
                before, run_edits.build_code(before, edit)[1], {"channels": 1}, conditions, runs, lines
            ),
            names,
        )
    assert names["after"].time == pytest.approx(found.after.time, rel=1e-9)
    assert [*names["both"].slowdown] == pytest.approx([row[4] for row in found.concurrent_runs.rows], rel=1e-9)
    assert Path("together.html").exists()
    if jitter:
        assert [*names["times"]] == pytest.approx(found.times, rel=1e-9)
        return
    line = shlex.split(
        snippets.write_command(
            before, {"channels": 1}, conditions, companions.write_command(what, place, choice.algorithm)
        )
    )
    done = CliRunner().invoke(app, [*line[1:], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["collectives"][0]["time"] == pytest.approx(
        found.concurrent_runs.rows[0][3], rel=1e-9
    )
