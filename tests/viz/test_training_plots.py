"""Plots of training steps say what their tables say."""

import math

import pytest

import collsim as cs
from collsim.viz import training_plots

ASKED = {"parallel": cs.ddp(), "nodes": (1, 2), "batch": 64, "dtype": "bfloat16"}


def test_scaling_has_a_curve_for_each_kind_and_each_efficiency():
    tables = {kind: cs.train.measure_scaling("resnet18", "dgx-a100", kind=kind, **ASKED) for kind in ("weak", "strong")}
    ax = training_plots.scaling(tables)
    lines = [(line.get_linestyle(), line.get_xdata().tolist(), line.get_ydata().tolist()) for line in ax.lines]
    assert lines == [
        (style, [8, 16], pytest.approx((100 * table[column]).tolist()))
        for table in tables.values()
        for column, style in (("efficiency_node", "-"), ("efficiency_gpu", "--"))
    ]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(names) == len(set(names)) == 4
    assert any("one GPU" in name for name in names)
    assert any("nodes" in name for name in names)
    with pytest.raises(cs.CollsimError, match="kind of scaling"):
        training_plots.scaling({"wide": tables["weak"]})
    with pytest.raises(cs.CollsimError, match=r"train\.measure_scaling"):
        training_plots.scaling({"weak": tables["weak"][["gpus"]]})


def test_losses_have_a_bar_for_all_gpus_and_one_for_the_slow_one_and_a_word_where_the_job_stops():
    net = cs.topology.switch(4, bandwidth="10GB/s", alpha="1us")
    t = cs.training_step("resnet18", net, parallel=cs.ddp(), micro_batch=8, compute="50ms")
    table = cs.train.time_faults(t, slow=(1.5,))
    ax = training_plots.losses(table)
    widths = [bar.get_width() for bar in ax.patches if bar.get_width()]
    assert widths == pytest.approx([table.lost[0], table.own[0]])
    assert math.isnan(table.lost[1])
    assert [text.get_text().strip() for text in ax.texts] == ["the job stops"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "rank 0 computes 1.5 times as long",
        f"without {table.name[1]}",
    ]
