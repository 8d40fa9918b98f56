"""Plots of studies: what they show is what the table says; both languages."""

import inspect

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import collsim as cs
from collsim.analysis import best, compare_runs, sensitivity
from collsim.viz.pictures import colours, plots
from collsim.viz.pictures.lines import PlotLine, draw_lines, name_ends
from collsim.viz.pictures.machine_picture import draw_machine_figure

NETWORK = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")


@pytest.fixture(scope="module")
def table():
    names = ["allreduce_ring", "allreduce_recursive_doubling"]
    return cs.sweep("allreduce", names, [cs.topology.switch(n) for n in (4, 8)], ["1KiB", "1MiB", "64MiB"])


@pytest.fixture(scope="module")
def trace():
    return cs.simulate(cs.schedule("allreduce_ring", ranks=8), NETWORK, "64MiB")


def words_of(ax):
    legend = ax.get_legend()
    texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax._left_title, *(legend.get_texts() if legend else ())]
    return " ".join(t.get_text() for t in texts)


def test_the_winner_of_every_cell_is_the_fastest_row(table):
    ax = plots.winner_map(table)
    numbers = [t.get_text() for t in ax.texts]
    winners = table.sort_values("time").groupby(["ranks", "nbytes"]).first().algorithm
    names = sorted(winners.unique())
    assert sorted(numbers) == sorted(str(names.index(w) + 1) for w in winners)
    assert len(ax.patches) == 6


def test_the_tornado_has_the_largest_saving_on_top(trace):
    frame = sensitivity(trace)
    ax = plots.tornado(frame)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(100 * frame.doubled.max())
    assert ax.yaxis_inverted()


def test_the_best_number_of_chunks_is_marked():
    found = best("broadcast", NETWORK, "64MiB", algorithm=["broadcast_chain"])
    ax = plots.time_over_chunks(found.tried)
    assert f"broadcast_chain, {found.options['chunks']}: " in words_of(ax)


def test_a_comparison_draws_both_runs(trace):
    other = cs.simulate(cs.schedule("allreduce_parameter_server", ranks=8), NETWORK, "64MiB")
    ax = plots.differences(compare_runs(trace, other))
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(
        (trace.link_bytes.sum() + other.link_bytes.sum()) / 2**20
    )


@pytest.mark.parametrize(
    ("draw", "english", "chinese"),
    [
        (lambda t, f, language: plots.winner_map(f, language=language), "ranks", "rank 数"),
        (lambda t, f, language: plots.tornado(sensitivity(t), language=language), "time saved", "节省"),
        (lambda t, f, language: plots.time_over_size(f, language=language), "size", "数据量"),
        (lambda t, f, language: plots.gantt(t, language=language), "who sends when", "谁在何时发送"),
        (lambda t, f, language: plots.link_utilisation(t, language=language), "busy", "忙碌"),
        (lambda t, f, language: plots.volume_over_time(t, language=language), "bytes so far", "已传字节"),
    ],
)
@pytest.mark.filterwarnings("ignore:no Chinese font")
def test_labels_are_in_the_language_asked_for(trace, table, draw, english, chinese):
    from collsim.viz.pictures.machine_picture import choose_language

    assert english in words_of(draw(trace, table, "en"))
    expected = chinese if choose_language("zh") == "zh" else english
    assert expected in words_of(draw(trace, table, "zh"))


def test_a_wrong_table_is_a_sentence(table):
    with pytest.raises(cs.CollsimError, match=r"no column ranks.*sweep"):
        plots.winner_map(table.drop(columns="ranks"))
    with pytest.raises(cs.CollsimError, match="sensitivity"):
        plots.tornado(table)


# ---- many lines ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thirty():
    """Thirty algorithms over four sizes; number k is the fastest at size k for the first four, others are slower."""
    rows = []
    for k in range(30):
        for place, size in enumerate((1024, 2**15, 2**20, 2**25)):
            fast = 0.5 if k == 29 - place else 1.0
            rows.append({"algorithm": f"allreduce_number_{k:02d}", "nbytes": size, "time": fast * 1e-6 * (size + k)})
    return pd.DataFrame(rows)


def boxes_of(texts):
    texts[0].figure.canvas.draw()
    return [Text.get_window_extent(text) for text in texts]  # without the line to it


def test_of_thirty_lines_the_foremost_are_named_at_their_ends_and_the_rest_are_grey(thirty):
    ax = plots.time_over_size(thirty)
    grey = [line for line in ax.lines if line.get_color() == colours.IDLE]
    assert len(ax.lines) == 30
    assert len(grey) == 24
    named = {text.get_text(): text for text in ax.texts}
    winners = {f"allreduce_number_{k}" for k in (29, 28, 27, 26)}
    assert winners < set(named)  # each is the fastest at one size
    assert set(named) - winners == {"allreduce_number_00", "allreduce_number_01"}  # then the fastest at the largest
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["24 more"]
    line_colours = [text.get_color() for text in named.values()]
    assert len(set(line_colours)) == 6
    for line in set(ax.lines) - set(grey):
        assert named[line.get_label()].get_color() == line.get_color()


def test_names_do_not_cover_one_another_and_stand_in_the_figure(thirty):
    ax = plots.time_over_size(thirty)
    boxes, figure = boxes_of(ax.texts), ax.figure.bbox
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    inside = ax.get_window_extent()
    assert all(box.x0 >= inside.x1 and box.x1 <= figure.x1 and figure.y0 <= box.y0 for box in boxes)
    ends = sorted(ax.texts, key=lambda text: text.xy[1])
    assert ends == sorted(ax.texts, key=lambda text: text.xyann[1]), "in the order of the lines"


def test_more_bus_bandwidth_is_better(thirty):
    ax = plots.busbw_over_size(thirty.assign(busbw=thirty["nbytes"] / thirty["time"]))
    assert {"allreduce_number_29", "allreduce_number_00"} < {text.get_text() for text in ax.texts}


def test_a_few_lines_are_all_named_and_there_is_no_legend(table):
    ax = plots.time_over_size(table)
    assert {text.get_text() for text in ax.texts} == {
        f"{a}, {t}" for a, t in zip(table.algorithm, table.topology, strict=True)
    }
    assert ax.get_legend() is None


def test_axes_of_somebody_are_drawn_into_and_given_back_with_a_legend(thirty):
    ax = Figure().add_subplot()
    assert plots.time_over_size(thirty, ax=ax) is ax
    assert len(ax.get_legend().get_texts()) == 7
    assert list(ax.texts) == []


def test_every_plot_takes_axes_and_returns_them(trace, table):
    found = best("broadcast", NETWORK, "64MiB", algorithm=["broadcast_chain"])
    given = {
        "time_over_size": table,
        "busbw_over_size": table,
        "link_utilisation": trace,
        "volume_over_time": trace,
        "gantt": trace,
        "winner_map": table,
        "tornado": sensitivity(trace),
        "time_over_chunks": found.tried,
        "differences": compare_runs(trace, trace),
    }
    public = {name for name, f in vars(plots).items() if inspect.isfunction(f) and f.__module__ == plots.__name__}
    assert {name for name in public if name[0] != "_"} == set(given)
    for name, what in given.items():
        ax = Figure().add_subplot()
        assert getattr(plots, name)(what, ax=ax) is ax, name
    for draw in (NETWORK.draw, cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=64).plot):
        ax = Figure().add_subplot()
        assert draw(ax=ax) is ax


def test_a_line_without_a_number_at_its_end_is_named_at_its_last_one():
    lines = [
        PlotLine("broken", np.array([1.0, 2.0]), np.array([np.nan, np.nan])),
        PlotLine("short", np.array([1.0, 2.0]), np.array([3.0, np.nan])),
    ]
    figure, ax = plt.subplots(layout="constrained")
    name_ends(ax, lines, draw_lines(ax, lines, True, "{count} more"))
    assert [(note.get_text(), note.xy) for note in ax.texts] == [("short", (1.0, 3.0))]
    figure.canvas.draw()
    plt.close(figure)


def test_long_names_of_runs_leave_room_for_the_bars():
    machine = cs.machine("dgx-a100", nodes=2).without_link("node0/nic3", "fabric/switch0")
    schedules = (cs.schedule("allgather_ring", topology=machine), cs.synthesize("allgather", machine, "1GiB"))
    ax = plots.differences(compare_runs(*(cs.simulate(schedule, machine, "1GiB") for schedule in schedules)))
    ax.figure.canvas.draw()
    legend, figure = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert legend.x1 <= figure.x1
    assert ax.get_window_extent().width > figure.width / 2


def test_the_line_under_the_title_of_a_narrow_machine_ends_within_the_picture():
    torus = cs.topology.torus(3, 5)
    run = cs.simulate(cs.synthesize("allgather", torus, "64MiB"), torus, "64MiB")
    figure = draw_machine_figure(run, "zh")
    figure.canvas.draw()
    (line,) = (text for text in figure.axes[0].texts if "busbw" in text.get_text())
    assert line.get_window_extent().x1 <= figure.bbox.x1
