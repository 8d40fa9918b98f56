"""The page on flows that collide: its figures are those of Python, and the slowest seed opens in Explore."""

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import fine, messages

import collsim as cs
from collsim.app.pages.routing import routing, routing_runs
from collsim.app.shell import charts
from collsim.units import format_time

SMALL = {"nodes": "4", "algorithm": "allreduce_halving_doubling", "seeds": "20"}


def run_page(**query):
    at = AppTest.from_string("from collsim.app.main import main\nmain(first='routing')", default_timeout=90)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_what_python_says(language):
    at = fine(run_page(lang=language, **SMALL))
    network = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine")
    schedule = cs.schedule("allreduce_halving_doubling", topology=network)
    compared = cs.analysis.compare_routing(schedule, network, "256MiB", seeds=20)
    text = " ".join(element.value for element in at.markdown)
    for time in (compared["ecmp"].median, compared["ecmp"].p99, compared["spray"].median):
        assert format_time(time) in text
    table = at.dataframe[0].value
    assert table.iloc[:, 3].tolist() == [format_time(entry.median) for entry in compared.values()]


def test_its_pictures_hold_every_run_and_every_cable(monkeypatch):
    seen = {}
    monkeypatch.setattr(charts, "draw_chart", lambda key, make, *frames: seen.update({key: (make(*frames), *frames)}))
    fine(run_page(**SMALL))
    for picture, *_ in seen.values():
        picture.to_dict()  # valid Vega-Lite
    study = routing_runs.study_collisions(routing_runs.ADDRESS.read(SMALL)[0].compared)
    assert len(seen["routing_times"][1]) == 2 * 20 + 3
    cables = seen["routing_cables"][1]
    assert len(cables) == 2 * 2 * 16  # two leaves with 16 spines, both ways
    assert cables["flows"].max() == study.loads["worst"].cables["flows"].max() > 1
    ecmp = study.times[study.times["routing"] == "ecmp"]
    assert study.loads["worst"].time == ecmp["time"].max()
    assert study.loads["best"].time == ecmp["time"].min()


def test_the_slowest_seed_opens_in_explore():
    at = fine(run_page(**SMALL))
    study = routing_runs.study_collisions(routing_runs.ADDRESS.read(SMALL)[0].compared)
    seed = study.loads["worst"].seed
    at.button(key="routing_explore").click().run()
    assert dict(at.session_state["session"].choice.parts) == {"routing": "ecmp", "hash_seed": seed}


def test_rails_are_shown_with_and_without_pxn():
    choice = routing_runs.ADDRESS.read(
        {"fabric": "rail", "nodes": "4", "algorithm": "alltoall_pairwise", "seeds": "20"}
    )[0]
    study = routing_runs.study_collisions(choice.compared)
    rows = {row["routing"]: row for row in study.rows}
    assert rows["ecmp"]["flows"] == 0
    assert rows[routing_runs.NO_PXN]["flows"] > 2
    assert rows[routing_runs.NO_PXN]["median"] > rows["ecmp"]["worst"]


def test_script_and_command_give_the_figures_of_the_page(capsys):
    choice = routing_runs.ADDRESS.read(SMALL)[0]
    exec(compile(routing.build_script(choice), "page", "exec"), {})
    network = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine")
    schedule = cs.schedule("allreduce_halving_doubling", topology=network)
    assert capsys.readouterr().out.strip() == repr(cs.analysis.compare_routing(schedule, network, "256MiB", seeds=20))
    assert routing.build_command(choice).startswith("collsim routing allreduce_halving_doubling --machine dgx-h100")


def test_what_cannot_be_compared_is_said(monkeypatch):
    monkeypatch.setattr(routing, "PLAIN", routing_runs.ADDRESS.read(SMALL)[0])  # what stands there in its place
    at = run_page(fabric="switch")
    assert not at.exception
    assert any("several equal routes" in text for text in messages(at))
    assert routing_runs.ADDRESS.read({"seeds": "7"})[1]
