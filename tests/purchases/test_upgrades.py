"""What to buy first: every saving is the run with that part changed."""

from __future__ import annotations

import json
import random
import time

import pytest
from sampling import sample

import collsim as cs
from collsim.locale import LANGUAGES, translate
from collsim.purchases.part_changes import MachineParts

BOX = {"nodes": 2, "gpus": 4, "nic": "roce-25", "nics": 1, "pcie": 3}


@pytest.fixture(scope="module")
def step():
    return cs.training_step(
        "resnet50", cs.machine("pcie-8gpu", **BOX), parallel=cs.ddp(), micro_batch=16, dtype="bfloat16"
    )


@pytest.fixture(scope="module")
def timed_table(step):
    """The table, and the processor time that it took."""
    step.what_if(machine=step.topology.with_(nic="roce-50"))  # what is loaded once
    before = time.process_time()
    table = cs.upgrades(step)
    return table, time.process_time() - before


@pytest.fixture(scope="module")
def table(timed_table):
    return timed_table[0]


def build_again(step, words):
    """The step from `training_step`, as somebody would write it who has these parts."""
    machine_words = {name: value for name, value in words.items() if name != "bucket"}
    parallel = cs.ddp(**{name: value for name, value in words.items() if name == "bucket"})
    return cs.training_step(
        "resnet50",
        cs.machine("pcie-8gpu", **BOX | machine_words),
        parallel=parallel,
        batch=step.request.batch,
        dtype="bfloat16",
    )


def test_every_saving_of_a_step_is_the_step_with_that_part_changed(step, table):
    assert {row.is_pair for row in table.rows} == {False, True}
    for row in table.rows:
        changed = build_again(step, row.words)
        assert row.time == pytest.approx(changed.time, rel=1e-12), str(row)
        assert row.saved == pytest.approx(step.time - changed.time, abs=1e-12), str(row)
        ends = [step.interval.low - changed.interval.low, step.interval.high - changed.interval.high, row.saved]
        assert (row.low, row.high) == pytest.approx((min(ends), max(ends)), abs=1e-12), str(row)


def test_every_saving_of_a_prediction_is_the_prediction_for_the_other_machine():
    box = cs.machine("pcie-8gpu", nodes=2, nic="tcp-25", gdr=False, oversubscription=4, fabric="leaf-spine")
    run = cs.nccl.predict("allreduce", box, "64MiB", NCCL_ALGO="Ring")
    rows = cs.upgrades(run).rows
    assert {change.part for row in rows for change in row.changes} >= {"nic", "nics", "nvlink", "oversubscription"}
    for row in rows:
        changed = cs.nccl.predict("allreduce", box.with_(**row.words), "64MiB", NCCL_ALGO="Ring")
        assert row.saved == run.time - changed.time
        assert row.low <= row.saved <= row.high


def test_every_saving_of_a_simulation_is_the_run_on_the_other_machine():
    box = cs.machine("pcie-8gpu", nodes=2, nic="roce-25")
    run = cs.simulate(cs.schedule("allreduce_ring", 16), box, "16MiB", engine="event", launch="10us")
    rows = cs.upgrades(run, parts=["nic", "nics", "algorithm"]).rows
    assert any(row.words.get("algorithm") for row in rows)
    for row in rows:
        if "algorithm" in row.words:
            continue
        changed = cs.simulate(run.schedule, box.with_(**row.words), "16MiB", engine="event", launch="10us")
        assert row.saved == run.time - changed.time
        assert row.low == row.saved == row.high


@pytest.mark.slow
def test_settings_come_first_and_cost_nothing():
    box = cs.machine("dgx-a100", nodes=2, gdr=False, p2p=False)
    rows = cs.upgrades(cs.nccl.predict("allreduce", box, "256MiB")).rows
    assert rows[0].is_free
    assert {row.changes[0].part for row in rows if row.is_free} >= {"p2p"}


def test_a_pair_that_does_no_more_than_its_better_half_has_no_row(table):
    singles = {row.changes[0]: row.saved for row in table.rows if not row.is_pair}
    pairs = [row for row in table.rows if row.is_pair]
    assert pairs
    for row in pairs:
        assert row.more_than_alone == pytest.approx(row.saved - max(singles[change] for change in row.changes))
        assert row.more_than_alone > 0.01 * table.time


def test_a_larger_step_that_saves_no_more_is_not_worth_buying(table):
    larger = [row for row in table.rows if row.enough is not None]
    assert {str(row) for row in larger} >= {"nic=roce-200", "nic=roce-400"}
    assert not set(larger) & set(table.worth_buying)
    for row in larger:
        smaller = next(other for other in table.rows if other.changes == (row.enough,))
        assert row.saved <= smaller.saved * 1.01 + 1e-12


def test_two_prices_order_by_what_money_saves(step):
    prices = {"nic": 2400, "nic=roce-50": 100, "pcie": 9000}
    table = cs.upgrades(step, prices=prices)
    priced = [row for row in table.rows if row.price is not None and not row.is_free]
    assert [row.per_thousand for row in priced] == sorted((row.per_thousand for row in priced), reverse=True)
    assert priced[0].price == 100
    pair = next(row for row in priced if row.is_pair)
    assert pair.price == 11400
    paid = [row for row in table.rows if not row.is_free]
    assert [row.price is None for row in paid] == sorted(row.price is None for row in paid)
    assert table.to_frame()["per_thousand"].notna().sum() == sum(row.price is not None for row in table.rows)


@pytest.mark.slow
def test_one_price_does_not_change_the_order(step, table):
    assert [str(row) for row in cs.upgrades(step, prices={"pcie": 1}).rows] == [str(row) for row in table.rows]


def test_where_it_computes_nothing_is_worth_buying():
    box = cs.machine("pcie-8gpu", nodes=2)
    step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=32, dtype="bfloat16", compute="5s")
    table = cs.upgrades(step)
    assert len(table.rows) > 3
    assert not table.worth_buying
    assert table.explanation("en") == "Nothing you can buy helps more than 2 %: it computes for 99.9 % of its time."
    assert "2 % 以上：99.9 %" in table.explanation("zh")


def test_where_it_computes_only_gpus_are_worth_buying():
    step = cs.training_step("resnet50", cs.machine("dgx-h100", nodes=2), parallel=cs.ddp(), micro_batch=64)
    table = cs.upgrades(step)
    assert {change.part for row in table.worth_buying for change in row.changes} <= {"gpus", "nodes", "gpu"}
    assert table.explanation("en").startswith("No card, cable or switch helps more than 2 %: it computes for ")
    assert "Buy first: " in table.explanation("en")


def test_more_gpus_share_the_same_samples(step, table):
    row = next(row for row in table.rows if row.words == {"nodes": 4})
    assert row.run.step.samples == step.step.samples
    assert row.run.step.ranks == 2 * step.step.ranks


def test_a_faster_gpu_computes_also_where_the_step_names_its_gpu():
    arguments = {"parallel": cs.ddp(), "batch": 128, "dtype": "bfloat16"}
    named = cs.training_step("resnet50", "dgx-a100", compute="A100", **arguments)
    row = next(row for row in cs.upgrades(named, parts=["gpu"]).rows if row.words == {"gpu": "H100"})
    assert row.time == cs.training_step("resnet50", cs.machine("dgx-a100", gpu="H100"), **arguments).time
    measured = cs.training_step("resnet50", "dgx-a100", compute="50ms", **arguments)
    assert not cs.upgrades(measured, parts=["gpu"]).rows


def test_pcie_is_offered_up_to_what_the_gpu_speaks():
    values = [change.value for change in MachineParts(cs.machine("pcie-8gpu", pcie=3)).list_changes()
              if change.part == "pcie"]  # fmt: skip
    assert values == [4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "wants a run"),
        (("predicted words",), "wants a run"),
    ],
)
def test_what_is_no_run_is_refused(arguments, message):
    with pytest.raises(cs.CollsimError, match=message):
        cs.upgrades(*arguments)


def test_unknown_parts_prices_and_networks_without_machines_are_refused(step):
    with pytest.raises(cs.CollsimError, match="nvlink"):
        cs.upgrades(step, parts=["nvlinks"])
    for prices in ({"nic": -1}, {"nic": "dear"}, {"card": 1}, {"nic": float("nan")}):
        with pytest.raises(cs.CollsimError):
            cs.upgrades(step, prices=prices)
    ring = cs.simulate(cs.schedule("allreduce_ring", 4), cs.topology.ring(4), "1MiB")
    with pytest.raises(cs.CollsimError, match="sensitivity"):
        cs.upgrades(ring, parts=["nic"])


def test_it_is_shown_as_text_html_and_json(table):
    record = json.loads(table.to_json())
    assert [row["saved"] for row in record["rows"]] == [row.saved for row in table.rows]
    assert set(record["explanation"]) == set(LANGUAGES)
    for language in LANGUAGES:
        cells = table.list_cells(language)
        assert len(cells) == len(table.rows)
        assert all(row.text(language) in cell.values() for row, cell in zip(table.rows, cells, strict=True))
    assert table._repr_html_().count("<tr>") == len(table.rows) + 1
    assert table.explanation() in str(table)


def test_rows_come_one_by_one(step):
    seen = []
    cs.upgrades(step, parts=["nic", "pcie"], progress=lambda done, all_, row: seen.append((done, all_, row)))
    assert [done for done, *_ in seen] == list(range(1, len(seen) + 1))
    assert sum(row is not None and row.words == {"nic": "roce-100"} for *_, row in seen) == 1


def test_the_upgrades_of_a_step_take_less_than_three_seconds_of_processor_time(timed_table):
    assert timed_table[1] < 3


def test_a_part_that_makes_a_run_longer_says_that_nccl_chose_another_protocol(step):
    table = cs.upgrades(step, parts=["nvlink"])
    bridge, board = sorted(table.rows, key=lambda row: -row.saved)
    assert board.words == {"nvlink": "board"}
    assert board.saved < 0
    assert bridge.other_protocol is None
    assert board.other_protocol == ("LL128", "Simple")
    records = {record["change"]: record["other_protocol"] for record in table.list_records()}
    assert records == {"nvlink=board": ("LL128", "Simple"), "nvlink=bridge": None}
    rows = json.loads(table.to_json())["rows"]
    assert [row["other_protocol"] for row in rows if row["change"] == "nvlink=board"] == [["LL128", "Simple"]]
    for language, cells in zip(LANGUAGES, map(table.list_cells, LANGUAGES), strict=True):
        (note,) = [text for row in cells for text in row.values() if "LL128" in text]
        assert "Simple" in note, language
    # With the protocol that the box had before, the board costs nothing: the choice is the reason, not the wires.
    box, nbytes = step.topology, "25MiB"
    before = cs.nccl.predict("allreduce", box, nbytes)
    after = cs.nccl.predict("allreduce", box.with_(nvlink="board"), nbytes, NCCL_PROTO="Simple")
    assert before.protocol == "Simple"
    assert after.time == pytest.approx(before.time, rel=0.001)


def test_parts_of_a_pair_say_in_words_what_each_does_alone(step):
    table = cs.upgrades(step, parts=["nics", "nvlink"])
    (pair, *_) = [row for row in table.rows if row.is_pair and row.words.get("nvlink") == "board"]
    alone = [row for row in table.rows if not row.is_pair and row.words.items() <= pair.words.items()]
    assert {row.saved > 0 for row in alone} == {True, False}
    for language in LANGUAGES:
        sentence = table.explanation(language)
        for row in alone:
            key = {True: "alone.less", False: "alone.more"}[row.saved > 0]
            values = {"part": row.text(language), "time": cs.format_time(abs(row.saved))}
            assert translate(language, "purchases", key, **values) in sentence


#: Machines of the random test: cards, boards with NVSwitch, spines, one node, Ethernet without RDMA.
MACHINES = (
    ("pcie-8gpu", {"nodes": 2, "gpus": 4, "nic": "tcp-10", "nics": 1}),
    ("pcie-8gpu", {"nodes": 4, "nic": "roce-25", "gdr": False, "p2p": False}),
    ("dgx-a100", {"nodes": 2, "nics": 2}),
    ("dgx-a100", {"nodes": 4, "fabric": "leaf-spine", "oversubscription": 2}),
    ("dgx-h100", {"nodes": 2, "nic": "roce-100"}),
    ("pcie-8gpu", {"gpus": 4, "pcie": 3}),
)


@pytest.mark.parametrize("seed", sample(range(4), 1))
@pytest.mark.slow
def test_savings_of_random_machines_are_the_runs_with_that_part_changed(seed):
    draw = random.Random(seed)
    name, words = draw.choice(MACHINES)
    box = cs.machine(name, **words)
    model, samples = draw.choice([("resnet50", 16), ("vgg16", 8), ("gpt2", 4)])
    options = {"parallel": cs.ddp(bucket=draw.choice(["5MiB", "25MiB"])), "dtype": "bfloat16"}
    step = cs.training_step(model, box, micro_batch=samples, **options)
    rows = cs.upgrades(step).rows
    assert rows, words
    for row in draw.sample(rows, min(5, len(rows))):
        machine_words = {change.part: change.value for change in row.changes if change.is_of_machine}
        changed = options | {"batch": step.request.batch}
        if "bucket" in row.words:
            changed["parallel"] = cs.ddp(bucket=row.words["bucket"])
        if "overlap" in row.words:
            changed["overlap"] = row.words["overlap"]
        again = cs.training_step(model, box.with_(**machine_words), **changed)
        assert row.saved == pytest.approx(step.time - again.time, abs=1e-12), (seed, words, str(row))
        assert row.low <= row.saved <= row.high
