"""Prices in a sweep: the words of `upgrades`, the same digits, and empty cells where nothing is known."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.sweep import read_plan

BOX = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", nics=1, pcie=3)
PRICES = {"nic=roce-100": 2400, "nic": 9000, "pcie": 4000}
STEP = {"model": "resnet50", "batch": 128, "dtype": "bfloat16"}


def test_rows_cost_and_save_what_upgrades_says():
    machines = [BOX, BOX.with_(nic="roce-100"), BOX.with_(nic="roce-200"), BOX.with_(nic="roce-100", pcie=4)]
    frame = cs.sweep(topology=machines, prices=PRICES, **STEP)
    step = cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=128, dtype="bfloat16")
    rows = {str(row): row for row in cs.upgrades(step, parts=["nic", "pcie"], prices=PRICES).rows}
    assert list(frame.change) == ["", "nic=roce-100", "nic=roce-200", "nic=roce-100 + pcie=4"]
    assert list(frame.price) == [0, 2400, 9000, 6400]
    assert frame.saved[0] == 0
    for at in (1, 2):
        row = rows[frame.change[at]]
        found = (frame.saved[at], frame.share[at], frame.price[at], frame.per_thousand[at])
        assert found == pytest.approx((row.saved, row.share, row.price, row.per_thousand), rel=1e-12)
    assert frame.saved[3] == frame.time[0] - frame.time[3]
    assert frame.per_thousand[3] == pytest.approx(1000 * frame.saved[3] / 6400)


def test_a_machine_is_compared_with_the_first_at_the_same_work():
    entry = {"machine": "pcie-8gpu", "nodes": 2, "nic": ["roce-25", "roce-100"]}
    frame = cs.sweep("allreduce", ["nccl", "allreduce_ring"], entry, ["1KiB", "16MiB"], prices={"nic": 2400})
    for row in frame.itertuples():
        [first] = frame[(frame.algorithm == row.algorithm) & (frame.nbytes == row.nbytes)].time[:1]
        assert row.saved == first - row.time
    assert set(frame[frame.change != ""].price) == {2400.0}


def test_nothing_is_said_where_nothing_is_known():
    """An unpriced part, another machine, an edited link, another number of samples."""
    others = [BOX.with_(pcie=4), cs.machine("dgx-a100"), BOX.with_link("node0/gpu0", "node0/pcie0", bandwidth="half")]
    frame = cs.sweep(topology=[BOX, *others], prices={"nic": 1}, **STEP)
    assert list(frame.price.isna()) == [False, True, True, True]
    assert frame.per_thousand.isna().all()
    assert frame.saved.notna().all()  # the work is the same
    more = cs.sweep(topology=[BOX, BOX.with_(nodes=4)], model="resnet50", micro_batch=16, prices={"nodes": 5})
    assert more.price[1] == 5
    assert more.saved.isna()[1]
    settings = cs.sweep(topology=[BOX.with_(gdr=False), BOX], prices={"nic": 1}, **STEP)
    assert list(settings.price) == [0, 0]


@pytest.mark.parametrize("prices", [{"nick": 3}, {"nic": 0}, {"nic": "dear"}, [("nic", 3)], {"nic": float("nan")}])
def test_prices_are_refused_before_anything_runs(prices):
    with pytest.raises(cs.CollsimError):
        cs.sweep(topology=BOX, prices=prices, progress=lambda *_: pytest.fail("it ran"), **STEP)


def test_other_prices_compute_nothing_again(tmp_path):
    options = {"topology": [BOX, BOX.with_(nic="roce-100")], "out": tmp_path / "a.sqlite", **STEP}
    cs.sweep(**options)
    done = []
    frame = cs.sweep(**options, prices={"nic": 1000}, progress=lambda so_far, count, _: done.append((so_far, count)))
    assert done == [(2, 2)]
    assert frame.per_thousand[1] == pytest.approx(frame.saved[1])


def test_a_plan_and_the_command_have_prices(tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "model: resnet50\ntopology: {machine: pcie-8gpu, nodes: 2, nic: [roce-25, roce-100]}\nbatch: 128\n"
        "prices: {nic: 2400}\n"
    )
    frame = cs.sweep(**read_plan(plan))
    assert list(frame.price) == [0, 2400]
    result = CliRunner().invoke(app, ["sweep", str(plan), "--price", "nic=roce-100=4800", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["price"] for row in rows] == [0, 4800]
    assert rows[1]["per_thousand"] == pytest.approx(frame.per_thousand[1] / 2)
    plan.write_text("topology: dgx-a100\nprices: {nick: 3}\n")
    with pytest.raises(cs.CollsimError, match="line 2"):
        read_plan(plan)
