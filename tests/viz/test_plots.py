"""Plots of studies: what they show is what the table says; both languages."""

import pytest

import collsim as cs
from collsim.analysis import best, compare, sensitivity
from collsim.viz.pictures import plots

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
    ax = plots.differences(compare(trace, other))
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(
        (trace.link_bytes.sum() + other.link_bytes.sum()) / 2**20
    )


@pytest.mark.parametrize(
    ("draw", "english", "chinese"),
    [
        (lambda t, f, lang: plots.winner_map(f, lang=lang), "ranks", "rank 数"),
        (lambda t, f, lang: plots.tornado(sensitivity(t), lang=lang), "time saved", "节省"),
        (lambda t, f, lang: plots.time_over_size(f, lang=lang), "size", "数据量"),
        (lambda t, f, lang: plots.gantt(t, lang=lang), "who sends when", "谁在何时发送"),
        (lambda t, f, lang: plots.link_utilisation(t, lang=lang), "busy", "忙碌"),
        (lambda t, f, lang: plots.volume_over_time(t, lang=lang), "bytes so far", "已传字节"),
    ],
)
@pytest.mark.filterwarnings("ignore:no Chinese font")
def test_labels_are_in_the_language_asked_for(trace, table, draw, english, chinese):
    from collsim.viz.pictures.still import language

    assert english in words_of(draw(trace, table, "en"))
    expected = chinese if language("zh") == "zh" else english
    assert expected in words_of(draw(trace, table, "zh"))


def test_a_wrong_table_is_a_sentence(table):
    with pytest.raises(cs.CollsimError, match=r"no column ranks.*sweep"):
        plots.winner_map(table.drop(columns="ranks"))
    with pytest.raises(cs.CollsimError, match="sensitivity"):
        plots.tornado(table)
