"""The page Lab: an address starts nothing, a click does, its limits hold, and only this computer may."""

import json
import shlex

import pytest
from catalogs import pair_page_texts
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.jobs.job_spec import hear_progress
from collsim.app.pages.lab import lab as page
from collsim.app.pages.lab import measurement, training_figures
from collsim.app.pages.lab.lab_choice import ADDRESS, LabChoice, list_algorithms
from collsim.cli import app as commands

TEXTS = pair_page_texts("lab")


def lab() -> None:
    from collsim.app.main import main

    main(first="lab")


def opened(**query):
    at = AppTest.from_function(lab, default_timeout=120)
    for name, text in query.items():
        at.query_params[name] = text
    at.run()
    assert not at.exception
    return at


def sent(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_lab")]
    return json.loads(one.proto.json)


def started_never(monkeypatch):
    monkeypatch.setattr(cs, "run_for_real", lambda *_, **__: pytest.fail("processes were started"), raising=False)


def test_an_address_shows_the_prediction_and_starts_nothing(monkeypatch):
    started_never(monkeypatch)
    at = opened(algorithm="allreduce_tree", ranks="4", nbytes="64KiB", bandwidth="5MB/s", late="2")
    document = sent(at)["document"]
    assert "measured" not in document
    plan = cs.schedule("allreduce_tree", ranks=4)
    place = cs.topology.switch(4, bandwidth="5MB/s", alpha="5ms")
    alone = cs.simulate(plan, place, "64KiB", engine="event", eager=True, late={2: 0.1})
    assert document["predicted"]["time"] == alone.time
    assert document["steps"] == plan.steps


def test_what_an_address_may_not_ask_for_is_said_and_the_usual_shown():
    at = opened(ranks="40", nbytes="1GiB", algorithm="nothing")
    said = " ".join(e.proto.body for e in at.get("html") if "cs-mistake" in e.proto.body)
    for word in ("ranks", "nbytes", "algorithm"):
        assert word in said
    assert sent(at)["document"]["ranks"] == LabChoice().ranks


def test_whoever_sits_at_another_computer_may_not_start_processes(monkeypatch):
    started_never(monkeypatch)
    monkeypatch.setattr(page, "is_local_session", lambda: False)
    at = opened(ranks="2")
    assert not [button for button in at.button if button.key == "lab_run"]
    assert any(TEXTS["lab.elsewhere"][0] in e.proto.body for e in at.get("html"))


def test_a_measurement_is_what_run_for_real_gives_next_to_its_prediction():
    choice = LabChoice(ranks=2, nbytes="4KiB", repeat=3, alpha="1ms", bandwidth="10MB/s")
    told = []
    with hear_progress(lambda stage, share, partial: told.append((stage, share))):
        shown = measurement.measure_choice(choice, 1)
    assert set(shown.document["measured"]) >= {"boxes", "late", "low", "high", "times", "expected"}
    assert len(shown.document["measured"]["times"]) == 3
    assert shown.figures["predicted"] == measurement.predict_choice(choice).figures["predicted"]
    assert shown.figures["best"] >= shown.figures["predicted"]
    assert [stage for stage, _ in told] == ["run"] * 5
    assert told[-1][1] == 1.0
    assert shown.checked == 3 * 2 * 1024


def test_what_is_too_much_is_refused_before_a_worker_has_it():
    with pytest.raises(cs.CollsimError, match="16 is the most"):
        measurement.estimate_measurement(LabChoice(ranks=20), 1)
    with pytest.raises(cs.CollsimError, match="no whole number"):
        measurement.estimate_measurement(LabChoice(nbytes="3"), 1)


def test_every_word_of_the_address_is_read_back():
    choice = LabChoice("allreduce_tree", "64KiB", 5, "5MB/s", "1ms", 3, 2, 25)
    read, complaints = ADDRESS.read(ADDRESS.write(choice))
    assert (read, complaints) == (choice, [])
    assert "allreduce_ring" in list_algorithms()


def test_python_and_shell_ask_for_the_same_run(monkeypatch):
    asked = []

    def remembered(plan, nbytes, **options):
        asked.append((plan.label, cs.units.parse_bytes(nbytes), {k: v for k, v in options.items() if v is not None}))
        raise cs.CollsimError("enough")

    monkeypatch.setattr(cs, "run_for_real", remembered, raising=False)
    choice = LabChoice("allreduce_ring", "64KiB", 4, "5MB/s", "1ms", 3, 2, 3)
    with pytest.raises(cs.CollsimError, match="enough"):
        exec(page.build_script(choice), {})
    CliRunner().invoke(commands, shlex.split(page.build_command(choice))[1:])
    (label, size, one), (other_label, other_size, other) = asked
    assert (label, size) == (other_label, other_size)
    assert one == {name: other[name] for name in one}


# ---- a step of training


def drawn_step(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_lab_step")]
    return json.loads(one.proto.json)["document"]


def test_the_sheet_of_a_step_predicts_every_bucket_size_and_starts_nothing(monkeypatch):
    monkeypatch.setattr(cs.lab, "training_step_for_real", lambda *_, **__: pytest.fail("started"), raising=False)
    document = drawn_step(opened(sheet="step", ranks="4", layers="4", backward="20ms"))
    assert "measured" not in document
    assert [one["nbytes"] for one in document["sizes"]] == [2**17, 2**18, 2**19, 2**20]
    assert document["chosen"] == 2**19
    times = {one["nbytes"]: one["predicted"] for one in document["sizes"]}
    # all in one: 8 x 10 ms, 8 x 20 ms, and 6 messages of 256 KiB at 10 MB/s and 10 ms
    assert times[2**20] == pytest.approx(0.24 + 6 * (2**18 / 10e6 + 0.01))
    # in two: the second allreduce begins when the first, begun after four layers, and the backward have ended
    one = 6 * (2**17 / 10e6 + 0.01)
    assert times[2**19] == pytest.approx(0.08 + max(0.08 + one, 0.16) + one)


def test_a_measured_step_stands_below_its_prediction_and_every_size_is_measured():
    choice = LabChoice(ranks=2, nbytes="4KiB", repeat=1, alpha="1ms", sheet="step", layers=4, backward="4ms", slow=1)
    told = []
    with hear_progress(lambda stage, share, partial: told.append(share)):
        shown = measurement.measure_choice(choice, 1)
    document = shown.document
    assert len(document["measured"]["ranks"]) == 2
    assert all(one["measured"] >= 8 * 0.012 for one in document["sizes"])  # rank 1 sleeps 4 and 8 ms a layer
    assert document["predicted"] == measurement.predict_choice(choice).document["predicted"]
    assert shown.checked == 4 * 2 * 1024
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize(
    ("split", "counted", "lanes", "sent"),
    # gathered twice and reduced; activations and gradients of two microbatches between two stages
    [("fsdp", "layer", 1, 8 * 3), ("gpipe", "microbatch", 2, 2 * 2), ("1f1b", "microbatch", 2, 2 * 2)],
)
def test_other_ways_to_split_a_step_are_measured_below_their_prediction(split, counted, lanes, sent):
    choice = LabChoice(ranks=2, nbytes="4KiB", repeat=1, alpha="1ms", sheet="step", backward="4ms", split=split)
    shown = measurement.measure_choice(choice, 1)
    document = shown.document
    assert document["number"] == counted
    assert document["sizes"] == []
    assert len(document["predicted"]["lanes"]) == lanes
    assert len(document["measured"]["ranks"]) == 2
    for rows in (document["predicted"]["lanes"], document["measured"]["ranks"]):
        assert [sum(box[0] for box in boxes) for boxes in rows] == [sent] * len(rows)
        assert all(box[1] >= 0 and box[3] > box[2] >= 0 for boxes in rows for box in boxes)
    json.dumps(document, allow_nan=False)
    assert shown.checked > 0


@pytest.mark.parametrize("split", ["ddp", "fsdp", "gpipe", "1f1b"])
def test_script_and_command_of_a_step_ask_for_the_same(split, monkeypatch):
    asked = []

    def remembered(model, ranks, **options):
        asked.append(([(one.tensors, one.outputs) for one in model.layers], ranks, options))
        raise cs.CollsimError("enough")

    monkeypatch.setattr(cs.lab, "training_step_for_real", remembered)
    choice = LabChoice(ranks=4, nbytes="64KiB", repeat=3, sheet="step", backward="4ms", slow=1, split=split)
    with pytest.raises(cs.CollsimError, match="enough"):
        exec(page.build_script(choice), {})
    CliRunner().invoke(commands, shlex.split(page.build_command(choice))[1:])
    (layers, ranks, one), (other_layers, other_ranks, other) = asked
    assert (layers, ranks) == (other_layers, other_ranks)
    assert cs.units.parse_time(other.pop("compute")) == pytest.approx(sum(map(sum, one.pop("compute"))))
    assert one == {name: other[name] for name in one}


def test_gradients_that_do_not_make_eight_layers_are_refused():
    with pytest.raises(cs.CollsimError, match="use a multiple of 32 bytes"):
        measurement.estimate_measurement(LabChoice(nbytes="36", sheet="step"), 1)


def test_the_script_of_a_step_asks_for_the_step_that_the_page_runs(monkeypatch):
    asked = []

    def remembered(model, ranks, **options):
        asked.append((model.layers, {"ranks": ranks} | options))

    monkeypatch.setattr(cs.lab, "training_step_for_real", remembered)
    choice = LabChoice(ranks=3, nbytes="64KiB", repeat=3, sheet="step", layers=4, backward="4ms", slow=1)
    with pytest.raises(AttributeError):  # of the table of what was not run
        exec(page.build_script(choice), {})
    ((layers, options),) = asked
    assert layers == training_figures.build_model(choice).layers
    assert options == training_figures.build_step_options(choice, 4) | {"repeat": 3}
