"""A step as a file."""

import json
from itertools import pairwise

import pandas as pd
import pytest

import collsim as cs


@pytest.fixture(scope="module")
def trace():
    return cs.training_step("resnet18", "dgx-a100", parallel=cs.data_parallel(), batch=64)


def test_perfetto_gets_a_slice_for_every_task_on_each_of_its_lanes(trace, tmp_path):
    path = trace.save(tmp_path / "step.trace.json")
    events = json.loads(path.read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    lasting = [(t, b, e) for t, b, e in zip(trace.step.tasks, trace.begin, trace.end, strict=True) if e > b]
    assert len(slices) == sum(len(t.lanes) for t, _, _ in lasting)
    assert max(s["ts"] + s["dur"] for s in slices) == pytest.approx(trace.time * 1e6, rel=1e-6)
    for where in {(s["pid"], s["tid"]) for s in slices}:  # slices of a thread never cut each other
        own = sorted((s["ts"], s["ts"] + s["dur"]) for s in slices if (s["pid"], s["tid"]) == where)
        assert all(a[1] <= b[0] + 1e-5 for a, b in pairwise(own)), where
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"GPU 0", "GPUs 1 to 7 (7 alike)"}


def test_a_layer_that_a_spreadsheet_would_run_is_written_as_a_text(tmp_path):
    model = cs.train.Model(
        "own", (cs.train.Layer("=1+1", (4096,), flops=1e9), cs.train.Layer("-x", (4096,), flops=1e9))
    )
    trace = cs.training_step(model, cs.topology.switch(2), parallel=cs.ddp(), batch=2, compute="1ms", optimizer="none")
    names = set(pd.read_csv(trace.save(tmp_path / "step.csv"))["name"])
    assert {"'=1+1", "'-x"} <= names
    assert not [name for name in names if name.startswith(("=", "+", "-", "@"))]


def test_json_and_csv_hold_figures_and_tasks(trace, tmp_path):
    found = json.loads(trace.save(tmp_path / "step.json").read_text())
    assert found["time"] == trace.time
    assert found["tokens_per_second"] is None  # images have no tokens
    assert len(found["tasks"]) == len(trace.step.tasks)
    table = pd.read_csv(trace.save(tmp_path / "step.csv"))
    assert table["end"].max() == pytest.approx(trace.time)


def test_a_picture_is_drawn_and_other_suffixes_are_refused(trace, tmp_path):
    assert trace.save(tmp_path / "step.png").stat().st_size > 5000
    with pytest.raises(cs.CollsimError, match="Perfetto"):
        trace.save(tmp_path / "step.docx")


def test_the_plot_hatches_exactly_the_exposed_time(trace):
    drawn = trace.plot()
    hatched = [p for p in drawn.patches if p.get_hatch()]
    lane0 = sum(p.get_width() for p in hatched if abs(p.get_y() + p.get_height() / 2) < 0.1)
    lane1 = sum(p.get_width() for p in hatched if abs(p.get_y() + p.get_height() / 2 - 2) < 0.1)
    assert (lane0 + 7 * lane1) / 8 == pytest.approx(1e3 * trace.exposed, rel=1e-9)
