"""Pictures of predictions show what their tables say, in both languages, and a wrong table is a sentence."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import collsim as cs
from collsim import nccl
from collsim.viz.pictures import nccl_plots as plots
from collsim.viz.pictures.machine_picture import choose_language

MACHINE = cs.machine("dgx-a100", nodes=2)


@pytest.fixture(scope="module")
def tables():
    run = nccl.compare_run(nccl.get_published_run("a100-2x8-ib"))
    crossing = nccl.compare_ring_and_tree(MACHINE, nodes=4)
    return {
        "run": run,
        "all": nccl.compare_published_runs(),
        "choices": nccl.predict_choices("allreduce", MACHINE, nodes=[1, 2, 4]),
        "crossing": crossing,
    }


DRAWN = {
    "curve": (lambda t, **k: plots.curve(t["run"], **k), "measured", "实测"),
    "busbw": (lambda t, **k: plots.curve(t["run"], "busbw", **k), "tuner believes", "tuner 的估计"),
    "residuals": (lambda t, **k: plots.residuals(t["all"], **k), "8 A100 on NVSwitch", "8 块 A100，NVSwitch"),
    "choices": (lambda t, **k: plots.choice_map(t["choices"], **k), "nodes", "节点数"),
    "crossing": (lambda t, **k: plots.crossover(t["crossing"], **k), "the ring is ahead from", "起环形算法更快"),
}


def words_of(ax):
    legend = ax.get_legend()
    parts = [
        *ax.texts,
        ax.xaxis.label,
        ax.yaxis.label,
        ax._left_title,
        *ax.get_yticklabels(),
        *(legend.get_texts() if legend else ()),
    ]
    return " ".join(t.get_text() for t in parts)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.filterwarnings("ignore:no Chinese font")
def test_every_picture_is_in_the_language_asked_for(name, tables):
    draw, english, chinese = DRAWN[name]
    assert english in words_of(draw(tables))
    assert (chinese if choose_language("zh") == "zh" else english) in words_of(draw(tables, language="zh"))


@pytest.mark.parametrize("name", DRAWN)
def test_every_picture_is_drawn_into_the_axes_given(name, tables):
    ax = Figure().add_subplot()
    assert DRAWN[name][0](tables, ax=ax) is ax


@pytest.mark.parametrize("what", ["time", "busbw"])
def test_dots_are_what_was_measured_and_the_line_what_was_predicted(what, tables):
    ax = plots.curve(tables["run"], what)
    lines = {line.get_label(): line for line in ax.lines}
    scale = 1e-9 if what == "busbw" else 1
    assert np.allclose(lines["measured"].get_ydata(), tables["run"][what] * scale)
    assert np.allclose(
        lines["predicted"].get_ydata(), tables["run"]["predicted" if what == "time" else "predicted_busbw"] * scale
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_collective_that_the_tuner_does_not_know_has_no_line_of_its():
    ax = plots.curve(nccl.compare_run(nccl.get_published_run("h100-8-alltoall")))
    assert "tuner" not in words_of(ax)


def test_residuals_have_a_row_per_run_and_a_dot_per_size(tables):
    ax = plots.residuals(tables["all"])
    assert len(ax.get_yticks()) == tables["all"]["run"].nunique()
    assert sum(len(c.get_offsets()) for c in ax.collections) == len(tables["all"])


def test_every_cell_of_the_map_names_what_is_chosen_there(tables):
    ax = plots.choice_map(tables["choices"])
    said = [text.get_text().split("\n") for text in ax.texts]
    assert said == tables["choices"][["algorithm", "protocol"]].to_numpy().tolist()


def test_where_ring_and_tree_do_not_cross_that_is_said():
    large = nccl.compare_ring_and_tree(cs.machine("dgx-a100"), ["4MiB", "64MiB", "1GiB"])
    assert "predicted: the ring is ahead at every size" in words_of(plots.crossover(large))
    small = nccl.compare_ring_and_tree(cs.machine("dgx-a100", nodes=2), ["1KiB", "64KiB"], nodes=32)
    assert "predicted: the ring never overtakes the tree" in words_of(plots.crossover(small))


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda t: plots.curve(t["all"][["nbytes"]]), r"no column .*nccl\.compare_run"),
        (lambda t: plots.curve(t["run"], "speed"), "must be 'time' or 'busbw'"),
        (lambda t: plots.residuals(t["run"]), r"no column run, title.*nccl\.compare_published_runs"),
        (lambda t: plots.residuals(t["all"][:0]), "no row"),
        (lambda t: plots.choice_map(t["run"]), r"no column nodes.*nccl\.predict_choices"),
        (lambda t: plots.residuals(t["all"].assign(run=range(len(t["all"])))), "do not fit"),
    ],
)
def test_a_wrong_table_is_a_sentence(draw, words, tables):
    with pytest.raises(cs.CollsimError, match=words):
        draw(tables)
