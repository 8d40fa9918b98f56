"""Other parts of a machine in the app: the shelf, the address that holds them, and what to buy first."""

from __future__ import annotations

import pytest
from test_walk import opened

import collsim as cs
from collsim.app.jobs.job_spec import hear_progress
from collsim.app.pages.train import step_costs
from collsim.app.pages.train.step_costs import CostOptions, list_costs
from collsim.app.pages.train.training_choice import ADDRESS
from collsim.app.scenario import run_upgrades, snippets
from collsim.app.scenario.choice import from_query, to_query
from collsim.app.scenario.machine_parts import PARTS, list_part_values
from collsim.app.scenario.outcome import build_topology
from collsim.app.scenario.run_upgrades import list_run_upgrades, read_prices
from collsim.locale import LANGUAGES

QUESTION = {"machine": "pcie-8gpu", "nodes": "2", "parts": "gpus:4,pcie:3,nics:1,nic:roce-25"}
BOX = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", nics=1, pcie=3)


def test_an_address_holds_the_whole_machine():
    choice, complaints = from_query(QUESTION)
    assert not complaints
    assert build_topology(choice).name == BOX.name
    assert from_query(to_query(choice))[0] == choice
    train, complaints = ADDRESS.read(QUESTION)
    assert not complaints
    assert build_topology(train).name == BOX.name
    assert ADDRESS.read(ADDRESS.write(train))[0] == train


def test_code_to_copy_builds_the_same_machine():
    choice = from_query(QUESTION)[0]
    assert eval(snippets.write_machine(choice), {"cs": cs}).name == BOX.name
    assert snippets.write_machine_words(choice)[4:] == ["--gpus", "4", "--pcie", "3", "--nics", "1", "--nic", "roce-25"]


@pytest.mark.parametrize(
    "text", ["card:4", "nic", "nic:", "gpus:4,gpus:8", "gpus:0", "nics:9999", "nic:<b>", "💥", "pcie:" + "5" * 300]
)
def test_what_is_no_part_is_complained_about(text):
    choice, complaints = from_query({"machine": "pcie-8gpu", "parts": text})
    assert [complaint.name for complaint in complaints] == ["parts"]
    assert choice.parts == ()


def test_every_value_on_the_shelf_builds_a_machine():
    values = list_part_values(BOX)
    assert set(values) == set(PARTS) - {"oversubscription", "routing", "hash_seed"}
    hashed = BOX.with_(fabric="leaf-spine", routing="ecmp")
    assert set(list_part_values(hashed)) == set(PARTS)
    assert "hash_seed" not in list_part_values(BOX.with_(fabric="rail"))
    for seed in list_part_values(hashed)["hash_seed"]:
        assert hashed.with_(hash_seed=seed) != hashed
    for name, each in values.items():
        for value in each:
            assert BOX.with_(**{name: value}).ranks
    assert "MI300X" not in values["gpu"]
    assert list_part_values(cs.topology.ring(4)) == {}


@pytest.mark.slow
def test_the_panel_says_the_digits_of_python():
    choice = ADDRESS.read(QUESTION | {"model": "resnet50"})[0]
    shown = step_costs.list_upgrades(choice, (("nic", 2400.0),))
    step = cs.training_step("resnet50", BOX, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
    table = cs.upgrades(step, prices={"nic": 2400})
    assert shown.explanation == tuple(table.explanation(language) for language in LANGUAGES)
    assert [list(rows) for rows in shown.cells] == [table.list_cells(language) for language in LANGUAGES]


def test_rows_are_reported_as_they_are_priced_and_free_changes_first(monkeypatch):
    monkeypatch.setattr(run_upgrades, "_REPORT_EVERY", 0.0)
    choice, reports = ADDRESS.read(QUESTION)[0], []
    with hear_progress(lambda stage, share, cells: reports.append((share, cells[0]))):
        shown = step_costs.list_upgrades(choice, ())
    counts = [len(rows) for _, rows in reports]
    assert counts == sorted(counts)
    assert len(set(counts)) > 8
    assert 0 < reports[0][0] < 0.1
    assert reports[-1][0] == 1
    assert {row["part"] for row in reports[-1][1]} == {row["part"] for row in shown.cells[0]}
    notes = [row["note"] for row in reports[-1][1]]
    free = [number for number, note in enumerate(notes) if "free" in note]
    assert free == list(range(len(free)))


def test_the_costs_of_a_step_are_those_of_python():
    choice = ADDRESS.read(QUESTION | {"model": "resnet50"})[0]
    options = CostOptions(gpu_hour=2.0, kwh=0.3, epoch=1_281_167.0)
    shown = list_costs(choice, options)
    step = cs.training_step("resnet50", BOX, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")
    costs = cs.purchases.estimate_costs(step, gpu_hour=2, kwh=0.3, epoch=1_281_167)
    assert [list(rows) for rows in shown.cells] == [[cost.list_cells(lang) for cost in costs] for lang in LANGUAGES]
    assert shown.watts == 300
    epoch = shown.cells[0][1]
    assert epoch["money"] == f"{costs[1].money:,.4g}"
    assert "energy" in epoch


def test_a_gpu_without_known_power_has_no_energy():
    choice = ADDRESS.read(QUESTION | {"parts": "gpu:RTX 8000", "gpu": "A100"})[0]
    shown = list_costs(choice, CostOptions(gpu_hour=2.0))
    assert shown.watts is None
    assert "energy" not in shown.cells[0][0]
    typed = list_costs(choice, CostOptions(watts=150.0))
    assert typed.watts == 150
    assert set(typed.cells[0][0]) == {"of", "time", "GPU-hours", "energy"}


def test_the_published_days_come_from_the_fields_of_the_page():
    choice = ADDRESS.read(QUESTION | {"model": "gpt2"})[0]
    published = list_costs(choice, CostOptions(tokens=300.0, parameters=175.0, gpus=1024.0, tflops=140.0)).days
    assert "33.9 days" in published[0]
    assert "33.9 天" in published[1]
    larger = list_costs(choice, CostOptions(tokens=450.0, parameters=1008.0, gpus=3072.0, tflops=163.0)).days
    assert "83.9 days" in larger[0]
    assert list_costs(choice, CostOptions(gpu_hour=2.0)).days is None


def test_costs_are_typed_on_the_page_train():
    at = opened("train", QUESTION)
    at.session_state["w_costs"] = True
    at.run()
    at.number_input(key="w_cost_gpu_hour").set_value(2.0).run()
    assert not at.exception
    assert not at.error


def test_prices_are_read_or_refused():
    assert read_prices(" nic=2400, nic=roce-100=99 ") == (("nic", 2400.0), ("nic=roce-100", 99.0))
    assert read_prices("") == ()
    for text in ("nic", "nic=", "nic=dear", "=", "2400"):
        with pytest.raises(cs.CollsimError):
            read_prices(text)


@pytest.mark.parametrize("page", ["explore", "train", "compare", "whatif"])
@pytest.mark.parametrize("language", LANGUAGES[:2])
def test_pages_open_with_parts(page, language):
    at = opened(page, QUESTION | {"lang": language})
    assert not at.exception
    assert not at.error


def open_shelf(at):
    at.session_state["w_parts_shelf"] = True
    return at.run()


def test_parts_are_chosen_undone_redone_and_reset():
    at = open_shelf(opened("train", QUESTION))
    assert not at.exception
    at.selectbox(key="w_part_nic").select("roce-100").run()
    assert not at.exception
    history = at.session_state["machine_history_train"]
    assert history.present.parts == (("gpus", 4), ("pcie", 3), ("nics", 1), ("nic", "roce-100"))
    at.button(key="parts_undo").click().run()
    assert dict(history.present.parts)["nic"] == "roce-25"
    assert at.selectbox(key="w_part_nic").value == "roce-25"
    at.button(key="parts_redo").click().run()
    assert at.selectbox(key="w_part_nic").value == "roce-100"
    at.button(key="parts_reset").click().run()
    assert history.present.parts == ()
    assert not at.exception


def test_an_edited_machine_is_taken_from_explore_to_train_and_back():
    at = open_shelf(opened("explore", QUESTION | {"mode": "full"}))
    at.button(key="open_in_parts_train").click().run()
    assert not at.exception
    session = at.session_state["session"]
    assert session.page == "train"
    assert build_topology(session.page_values["train"]).name == BOX.name
    at = open_shelf(opened("train", QUESTION))
    assert "open_in_parts_train" not in {button.key for button in at.button}
    at.button(key="open_in_parts_explore").click().run()
    assert not at.exception
    session = at.session_state["session"]
    assert session.page == "explore"
    assert build_topology(session.choice).name == BOX.name


def test_the_panel_of_a_collective_says_the_digits_of_python():
    choice = from_query(QUESTION | {"nbytes": "64MiB"})[0]
    shown = list_run_upgrades(choice, ())
    run = cs.simulate(cs.schedule("allreduce_ring", topology=BOX), BOX, "64MiB")
    table, wires = cs.upgrades(run), cs.purchases.compare_wires(run)
    assert shown.explanation == tuple(table.explanation(language) for language in LANGUAGES)
    assert [list(rows) for rows in shown.cells] == [table.list_cells(language) for language in LANGUAGES]
    assert [list(rows) for rows in shown.wires] == [
        [variant.list_cells(language) for variant in wires] for language in LANGUAGES
    ]
