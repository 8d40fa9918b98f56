"""Pipelines: the orders that torch publishes, and the times that follow from them."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import collsim as cs
from collsim.train.pipelines.pass_orders import build_orders
from collsim.train.pipelines.pass_timing import iterate_passes
from collsim.train.pipelines.passes import Action

TORCH = json.loads((Path(__file__).parent / "torch" / "pipeline_schedules.json").read_text())
#: torch's names; not its 1F1B, whose displayed forward microbatches are numbered off by the rank.
NAMES = {
    "GPipe": "gpipe",
    "Interleaved1F1B": "interleaved",
    "InterleavedZeroBubble": "zero-bubble",
    "ZBVZeroBubble": "zbv",
    "DualPipeV": "dualpipe-v",
}


def entries(row):
    """A row of torch's table: ('0F1',), or two passes that overlap; empty slots and reductions left out."""
    for text in row:
        if text and "REDUCE_GRAD" not in text:
            yield tuple(
                (kind, int(stage), int(micro)) for stage, kind, micro in re.findall(r"(\d+)([FBIW])(\d+)", text)
            )


@pytest.mark.parametrize("case", [case for case in TORCH if case.split()[0] in NAMES])
def test_every_rank_runs_what_torch_has_it_run(case):
    name, p, m, v = re.fullmatch(r"(\w+) p=(\d+) m=(\d+) v=(\d+)", case).groups()
    ours = build_orders(NAMES[name], int(p), int(m), int(v))
    assert [[tuple(map(tuple, entry)) for entry in rank] for rank in ours] == [list(entries(r)) for r in TORCH[case]]


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize("p", range(1, 17))
def test_gpipe_and_1f1b_take_the_closed_form(schedule, p):
    """(m + p − 1)(F + B) with F = 1, B = 2: (p − 1)·3 idle on every rank."""
    for m in (1, 2, 3, 5, 8, 13, 16, 21, 32, 64):
        t = cs.pipeline(p, schedule).time_passes(m)
        assert t.time == 3 * (m + p - 1)
        assert t.idle.tolist() == [3 * (p - 1)] * p


@pytest.mark.parametrize("p", range(1, 17))
def test_interleaving_divides_the_bubble_by_the_stages_of_a_rank(p):
    """m·3 + (p − 1)·3/v."""
    for v in (2, 3):
        for m in sorted({p, 2 * p, 64 // p * p}):
            assert cs.pipeline(p, "interleaved", v).time_passes(m).time == pytest.approx(
                3 * m + 3 * (p - 1) / v, rel=1e-12
            )


@pytest.mark.parametrize(("p", "m", "time"), [(4, 8, 28.5), (2, 4, 13.5), (8, 16, 58.5)])
def test_interleaved_known_answers(p, m, time):
    assert cs.pipeline(p, "interleaved", 2).time_passes(m).time == time


def test_the_textbook_pipeline():
    """4 ranks, 8 microbatches: 33 instead of 24, 9 idle on every rank."""
    t = cs.pipeline(4).time_passes(8, forward=1, backward=2)
    assert (t.time, t.idle.tolist(), t.peak_activations.tolist()) == (33, [9, 9, 9, 9], [4, 3, 2, 1])
    assert cs.pipeline(4, "gpipe").time_passes(8).peak_activations.tolist() == [8, 8, 8, 8]


@pytest.mark.parametrize(("hop", "time"), [(0.1, 34.6), (0.25, 37.0)])
def test_the_steady_state_pays_for_hops_too(hop, time):
    """33 + 16·hop: four microbatches at most are on their way, so that a round trip of six hops comes twice."""
    assert cs.pipeline(4).time_passes(8, hop=hop).time == pytest.approx(time, rel=1e-12)


def test_interleaved_ranks_hold_what_korthikanti_says():
    """p·(1 + (p − 1)/(p·v)) microbatches on the first rank (arXiv 2205.05198, section 4.2.3)."""
    assert cs.pipeline(4, "interleaved", 2).time_passes(16).peak_activations[0] == 4 * (1 + 3 / 8)
    assert cs.pipeline(8, "interleaved", 4).time_passes(32).peak_activations[0] == 8 * (1 + 7 / 32)


@pytest.mark.parametrize("p", [2, 4, 8])
def test_split_backward_passes_leave_the_bubbles_of_the_papers(p):
    """With F = I = W = 1/2 a stage. ZB1P: (p − 1)(F + B − 2W) (Qi et al. 2023, table 2); DualPipeV: (p − 1)(F&B + B −
    3W) and p + 1/2 microbatches held (deepseek-ai/DualPipe README: (PP/2 − 1)(...) and PP + 1 of 2p stages)."""
    m, f, b, w = 3 * p, 0.5, 1.0, 0.5
    assert cs.pipeline(p, "zero-bubble", 2).time_passes(m).time == 3 * m + (p - 1) * (f + b - 2 * w)
    dual = cs.pipeline(p, "dualpipe-v").time_passes(m)
    assert dual.time == 3 * m + (p - 1) * (f + b + b - 3 * w)
    assert dual.peak_activations.tolist() == [p + 0.5] * p
    assert cs.pipeline(p, "zbv").time_passes(m).peak_activations.max() <= p  # no more than 1F1B


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe-v"])
def test_every_pass_runs_once_behind_what_it_reads(schedule):
    p, m = 4, 12
    pipe = cs.pipeline(p, schedule)
    passes = [action for action, *_ in pipe.time_passes(m).passes]
    halves = {"B": {"B"}, "I": {"I", "W"}}
    for stage in range(p * pipe.interleave):
        for micro in range(m):
            kinds = [a.kind for a in passes if a[1:] == (stage, micro)]
            assert sorted(kinds) == sorted({"F"} | halves["I" if "I" in kinds else "B"]), (stage, micro)


def test_a_pipeline_in_which_ranks_wait_for_each_other_is_refused():
    stuck = [[(Action("B", 0, 0),), (Action("F", 0, 0),)], [(Action("F", 1, 0),), (Action("B", 1, 0),)]]
    with pytest.raises(cs.CollsimError, match="waits forever"):
        list(iterate_passes(stuck, 1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.pipeline(4, "2f2b"), "schedule of a pipeline"),
        (lambda: cs.pipeline(4, "zbv", 3), "a GPU holds 2 stages"),
        (lambda: cs.pipeline(4, "dualpipe-v").time_passes(7), "at least 8 microbatches"),
        (lambda: cs.pipeline(4, "interleaved").time_passes(11), "use a multiple of 4: 8 or 12"),
        (lambda: cs.pipeline(4).time_passes(8, backward=1, weight=2), "longer than it"),
        (lambda: cs.pipeline(4).time_passes(8, forward=1e308, backward=1e308), "forward=1e.308 is too long"),
        (lambda: cs.pipeline(0), "pipeline"),
        (lambda: cs.pipeline(True), "is a bool"),
        (lambda: cs.pipeline(None), "NoneType"),
        (lambda: cs.pipeline([4], schedule="zbv"), "is a list"),
        (lambda: cs.pipeline("x"), "not a whole number"),
        (lambda: cs.pipeline(4, interleave=[2]), "interleave"),
        (lambda: cs.pipeline(4, interleave=10**9), "4,000,000,000 stages of a pipeline"),
        (lambda: cs.pipeline(4).time_passes("x"), "not a whole number"),
        (lambda: cs.pipeline(4).time_passes(10**9), "passes of a pipeline; .*fewer microbatches"),
        (lambda: cs.pipeline(4000, "zbv").time_passes(1), "passes of a pipeline"),
        (lambda: cs.train.time_schedules(4, 8, schedules="gpipe"), "must be a list"),
    ],
)
def test_what_no_pipeline_can_do_is_a_sentence(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


@pytest.mark.parametrize("four", [4, 4.0, "4", np.int64(4), np.int32(4), np.array(4)])
def test_a_number_of_stages_and_of_microbatches_is_any_number(four):
    assert cs.pipeline(four, schedule="gpipe") == cs.pipeline(p=four, schedule="gpipe") == cs.pipeline(4, "gpipe")
    assert cs.pipeline(4).time_passes(four).time == cs.pipeline(4).time_passes(4).time
    assert cs.pipeline(4).time_passes(four).formulas == cs.pipeline(4).time_passes(4).formulas
    assert cs.train.time_schedules(4, four)["1f1b"][1].time == 21


def test_steps_of_an_algorithm_are_still_pipelined():
    steps = list(cs.steps.pipeline_chunks([cs.copy(0, 1, chunk=0), cs.copy(1, 2, chunk=0)], 3))
    assert len(steps) == 4


EQUAL, LONG, SHORT = (1, 2, 1), (1, 3, 1), (2, 3, 0.5)
HALVES, HEAVY = (1, 3, 1.5), (1, 1.3, 0.8)  # W longer than F, than I: waits that W fills no more
FORMS = [
    ("gpipe", 1, (EQUAL, LONG, SHORT)),
    ("1f1b", 1, (EQUAL, LONG, SHORT)),
    ("interleaved", 2, (EQUAL, LONG, SHORT)),
    ("interleaved", 3, (EQUAL, SHORT)),
    ("zero-bubble", 2, (EQUAL, LONG, SHORT, HALVES, HEAVY)),
    ("zbv", 2, (EQUAL,)),
    ("dualpipe-v", 2, (EQUAL,)),
]


@pytest.mark.parametrize(("schedule", "v", "seconds"), FORMS)
def test_the_formulas_that_pages_print_are_what_the_orders_take(schedule, v, seconds):
    """Time, idle time and held microbatches, wherever a formula is said to hold."""
    held = 0
    for p in (1, 2, 3, 4, 8):
        for m in (1, 2, p, 2 * p, 2 * p + 1, 5 * p):
            for f, b, w in seconds:
                try:
                    t = cs.pipeline(p, schedule, v).time_passes(m, f, b, weight=w)
                except cs.CollsimError:
                    continue
                if t.formulas is not None:
                    held += 1
                    assert t.time == pytest.approx(t.formulas.time, rel=1e-12)
                    assert t.idle.tolist() == pytest.approx([t.formulas.idle] * p, abs=1e-9)
                    assert t.peak_activations.tolist() == pytest.approx(t.formulas.peak_activations)
    assert held >= 15


def test_where_no_formula_holds_none_is_given():
    assert cs.pipeline(4).time_passes(8, hop=0.1).formulas is None
    assert cs.pipeline(4, "zbv").time_passes(8, 1, 3).formulas is None
    assert cs.pipeline(4, "zero-bubble").time_passes(8, 1, 3).formulas is None
    assert cs.pipeline(4, "interleaved").time_passes(2).formulas is None


@pytest.mark.parametrize(
    ("forward", "backward", "weight"), [(1, 3, 1.2), (1, 2, 0.5), (3, 2, 1), (2, 1, 0.75), (1, 2, 1)]
)
def test_the_bubble_of_zero_bubble_is_that_of_the_paper_where_w_is_the_shortest_pass(forward, backward, weight):
    """(p − 1)(F + I − W) ÷ v; a longer W leaves (p − 1) · max(F, I) ÷ v, and no formula is given."""
    t = cs.pipeline(2, "zero-bubble").time_passes(4, forward, backward, weight=weight)
    rest = max(forward, backward - weight, forward + backward - 2 * weight)
    assert t.time == pytest.approx(4 * (forward + backward) + rest / 2)
    assert (t.formulas is not None) == (weight <= min(forward, backward - weight))
    assert t.formulas is None or t.formulas.time == pytest.approx(t.time)


def test_the_staircase_of_held_microbatches_reaches_what_the_rank_holds_and_ends_at_none():
    for schedule, _, _ in FORMS:
        t = cs.pipeline(4, schedule).time_passes(8)
        for rank in range(4):
            steps = t.list_activations(rank)
            assert max(held for _, held in steps) == t.peak_activations[rank]
            assert steps[-1] == (pytest.approx(max(end for _, at, _, end in t.passes if at == rank)), 0)
            assert [at for at, _ in steps] == sorted(at for at, _ in steps)


def test_tasks_of_a_step_share_boxes_and_begin_when_all_before_them_have_ended():
    machine = cs.machine("dgx-a100", nodes=2)
    parallel = cs.tensor(2) * cs.pipeline(4, interleave=2) * cs.ddp()
    trace = cs.training_step("gpt2-medium", machine, parallel=parallel, batch=64, micro_batch=1, dtype="bfloat16")
    step = trace.step
    assert 4 * len(step.tasks.boxes) < len(step.tasks)
    for number, before in enumerate(step.predecessors):
        assert trace.begin[number] == max([0.0, *trace.end[list(before)]])
    first, *_, last = step.tasks
    assert (step.tasks[0], step.tasks[-1], step.tasks[-3:][-1]) == (first, last, last)
    again = pickle.loads(pickle.dumps(step.tasks))
    assert list(again) == list(step.tasks)
    with pytest.raises(IndexError):
        step.tasks[len(step.tasks)]
