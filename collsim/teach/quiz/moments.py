"""Questions that stop a run: each belongs to a step, names what the picture shows there, and is answered by what comes.

At most three: which pieces arrive last, or what a rank holds afterwards; what a copy does with a partial sum; and how
much each rank will have sent. Every number is read from the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...locale import Text
from ...replay import mark_initial_slots
from ...simulate import Trace
from ...units import format_bandwidth, format_bytes, format_time
from ...verify import Counts, count_contributions
from .question import Alternative, Question

RankPairs = tuple[tuple[int, int], ...]
PairsOfChoices = tuple[RankPairs, ...]
_SLOWER = 1.2  # a transfer arrives late when it takes so much longer than the quickest of its step
_NAMED = 2  # ways that an answer names one by one
_MARKED = 6  # ways of an answer that are marked in the picture
_MOST_TRANSFERS = 200_000


@dataclass(frozen=True)
class QuestionAtStep:
    """A question at the begin of a step (from 0). `ways`: for each choice the pairs of ranks that it names."""

    step: int
    question: Question
    ways: PairsOfChoices = ()

    def record(self) -> dict[str, Any]:
        """As plain JSON, for the page that asks."""
        record = self.question.record()
        for choice, pairs in zip(record["choices"], self.ways or ((),) * len(self.question.choices), strict=True):
            choice["marks"] = [list(pair) for pair in pairs]
        return {"step": self.step, **record}


def list_step_questions(trace: Trace) -> list[QuestionAtStep]:
    """The questions of a run in the order of their steps; none where steps have no barrier.

    Args:
        trace: Of the lockstep engine; others have no questions.
    """
    s = trace.schedule
    if trace.engine != "lockstep" or s.steps < 2 or len(s) > _MOST_TRANSFERS:
        return []
    run = _RunBySteps(trace)
    adding = [k for k in range(s.steps) if run.adds[k]]
    middle = adding[len(adding) // 2] if adding else s.steps // 2
    step_questions = [
        _ask_last_arrivals(run, middle) or _ask_contributions(run, middle),
        _ask_copy(run),
        _ask_sent_bytes(run),
    ]
    return sorted((question for question in step_questions if question is not None), key=lambda question: question.step)


class _RunBySteps:
    """A run step by step: its rows, how long they take, and how many contributions every cell holds before each."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.schedule = trace, trace.schedule
        self.rows = trace.schedule.transfers
        self.lasts = trace.finish - trace.start
        self.of = [np.flatnonzero(self.rows["step"] == k) for k in range(self.schedule.steps)]
        self.adds = [bool(self.rows["reduce"][numbers].all()) and len(numbers) > 0 for numbers in self.of]
        self.copies = [not self.rows["reduce"][numbers].any() and len(numbers) > 0 for numbers in self.of]

    def before(self, step: int) -> Counts:
        """Contributions in each cell (endpoints, slots) at the begin of a step."""
        table = mark_initial_slots(self.schedule).astype(np.uint64)
        for *_, after in islice(count_contributions(self.schedule), step):
            table = after
        return table


# ---- what is asked --------------------------------------------------------------------------------------------------


def _ask_last_arrivals(run: _RunBySteps, step: int) -> QuestionAtStep | None:
    """Which pieces of a step arrive last, where cables differ."""
    rows_of_step, rows = run.of[step], run.rows
    lasts, size = run.lasts[rows_of_step], run.trace.slot_bytes[rows["chunk"][rows_of_step]]
    if len(rows_of_step) < 3 or lasts.max() < _SLOWER * lasts.min() or len(set(size.tolist())) > 1:
        return None
    late = lasts > 0.98 * lasts.max()
    pairs: list[tuple[int, int]] = [
        (int(a), int(b)) for a, b in zip(rows["src"][rows_of_step], rows["dst"][rows_of_step], strict=True)
    ]
    slow = tuple(sorted({pair for pair, is_late in zip(pairs, late, strict=True) if is_late}))
    after = tuple(sorted({pair for pair in pairs if pair not in slow and pair[0] in {dst for _, dst in slow}}))
    if not after or len(slow) > len(pairs) // 2:
        return None
    quick, slowest = format_time(float(lasts.min())), format_time(float(lasts.max()))
    nbytes, count = format_bytes(int(size[0])), len(rows_of_step)
    ask = (
        f"Step {step + 1}: all {count} pieces leave at this moment, {nbytes} each. Which arrive last?",
        f"第 {step + 1} 步：{count} 块在这一刻同时出发，每块 {nbytes}。哪些最后到达？",
    )
    rate = run.trace.topology.route(*slow[0])
    hop = min(rate, key=lambda link: link.bandwidth)
    explanation = (
        f"They need {slowest}, the others {quick}: their slowest cable is {hop.label}, "
        f"{format_bandwidth(hop.bandwidth)}. All others wait, because a step ends with its last piece.",
        f"它们需要 {slowest}，其他的只要 {quick}：最慢的一段是 {hop.label}，{format_bandwidth(hop.bandwidth)}。"
        "其他的都要等，因为最后一块到达，这一步才结束。",
    )
    choices = (
        Alternative(
            ("All at the same time", "同时到达"),
            ("They have the same size, but not the same cables.", "大小相同，线缆却不同。"),
        ),
        Alternative(_format_pairs(slow), ("They leave by the slowest cables.", "它们走最慢的线缆。")),
        Alternative(
            _format_pairs(after),
            (
                "These ranks got theirs last, but every step begins for all at once.",
                "它们最晚收到，但每一步大家同时开始。",
            ),
        ),
    )
    return _build_shuffled_question(step, "arrival", ask, explanation, choices, ((), slow[:_MARKED], after[:_MARKED]))


def _ask_contributions(run: _RunBySteps, step: int) -> QuestionAtStep | None:
    """How many contributions a rank holds after adding what arrives."""
    if not run.adds[step]:
        return None
    ranks, before, rows = run.schedule.ranks, run.before(step), run.rows[run.of[step]]
    cells = rows["dst"].astype(np.int64) * run.schedule.slots + rows["into"]
    alone = np.bincount(cells)[cells] == 1  # where several arrive, one alone does not decide
    for row in rows[alone]:
        src, dst, chunk, into = (int(row[name]) for name in ("src", "dst", "chunk", "into"))
        sent, receiver_count = int(before[src, chunk]), int(before[dst, into])
        if sent + receiver_count > ranks:  # a schedule that counts somebody twice
            continue
        if len({sent, receiver_count, sent + receiver_count, ranks}) == 4 or (
            len({sent, sent + receiver_count, ranks}) == 3 and receiver_count == 1
        ):
            return _build_contributions_question(step, (src, dst, chunk), (sent, receiver_count), ranks)
    return None


def _build_contributions_question(
    step: int, transfer: tuple[int, int, int], counts: tuple[int, int], ranks: int
) -> QuestionAtStep:
    (src, dst, chunk), (sent, receiver_count) = transfer, counts
    ask = (
        f"Step {step + 1}: rank {src} sends chunk {chunk}, which holds {sent} of {ranks} contributions, to rank "
        f"{dst}, which holds {receiver_count}. How many does rank {dst} hold afterwards?",
        f"第 {step + 1} 步：rank {src} 把 chunk {chunk}（已累加 {ranks} 份中的 {sent} 份）发给 rank {dst}，"
        f"对方有 {receiver_count} 份。之后 rank {dst} 有几份？",
    )
    explanation = (
        f"The receiver adds what arrives to what it has: {sent} + {receiver_count} = {sent + receiver_count}.",
        f"接收方把到达的加到自己的上面：{sent} + {receiver_count} = {sent + receiver_count}。",
    )
    choices = (
        Alternative((f"{sent}", f"{sent} 份"), ("That would be a copy, which replaces.", "那是复制，会替换原来的。")),
        Alternative((f"{sent + receiver_count}", f"{sent + receiver_count} 份"), ("Both are added.", "两者相加。")),
        Alternative((f"{ranks}", f"{ranks} 份"), ("The sum is not complete yet.", "总和还没有完成。")),
    )
    return _build_shuffled_question(step, "held", ask, explanation, choices)


def _ask_copy(run: _RunBySteps) -> QuestionAtStep | None:
    """What a finished sum does to the partial sum where it arrives."""
    adds = [k for k in range(run.schedule.steps) if run.adds[k]]
    step = adds[-1] + 1 if adds else run.schedule.steps
    if step >= run.schedule.steps or not run.copies[step]:
        return None
    row, before, ranks = run.rows[run.of[step][0]], run.before(step), run.schedule.ranks
    src, dst = int(row["src"]), int(row["dst"])
    there, comes = int(before[dst, row["into"]]), int(before[src, row["chunk"]])
    if comes != ranks or not 0 < there < ranks:
        return None
    chunk = int(row["chunk"])
    ask = (
        f"Step {step + 1}: rank {src} sends chunk {chunk}, the sum of all {ranks}, to rank {dst}, which holds "
        f"{there} of {ranks} of it. What must rank {dst} do with it?",
        f"第 {step + 1} 步：rank {src} 把 chunk {chunk}（全部 {ranks} 份的和）发给 rank {dst}，"
        f"对方只有其中 {there} 份。rank {dst} 该怎么做？",
    )
    explanation = (
        "The sum is complete; added once more, what is there already would count twice. From here on pieces are "
        "copied.",
        f"和已经完成；再加一次，已有的 {there} 份就被算了两遍。从这里开始只复制。",
    )
    choices = (
        Alternative(
            ("Add it to its own", "加到自己的上面"), ("Then some would count twice.", f"那样有 {there} 份算两遍。")
        ),
        Alternative(("Put it in place of its own", "用它替换自己的"), ("A copy replaces.", "复制就是替换。")),
        Alternative(
            ("Keep its own and pass it on", "保留自己的，只转发"),
            (f"Then rank {dst} would never have the sum.", f"那样 rank {dst} 永远得不到总和。"),
        ),
    )
    return _build_shuffled_question(step, "copy", ask, explanation, choices)


def _ask_sent_bytes(run: _RunBySteps) -> QuestionAtStep | None:
    """How much each rank will have sent, asked while the last step begins."""
    sent = run.trace.sent_bytes[: run.schedule.ranks]
    total, nbytes, n = int(sent[0]), int(run.trace.nbytes), run.schedule.ranks
    guesses = [
        nbytes_guess for nbytes_guess in dict.fromkeys((nbytes, 2 * nbytes, nbytes // n)) if nbytes_guess != total
    ]
    if not np.all(sent == total) or not total or len(guesses) < 2:
        return None
    step = run.schedule.steps - 1
    ask = (
        f"Step {step + 1}, the last. How much will each GPU have sent when it ends?",
        f"第 {step + 1} 步，最后一步。结束时每个 GPU 共发送了多少？",
    )
    explanation = (
        f"It is what the counters say: {run.schedule.steps} steps come to {format_bytes(total)}, {total / nbytes:.4g} "
        "times the buffer.",
        f"计数器就是这么显示的：{run.schedule.steps} 步共 {format_bytes(total)}，是缓冲区的 {total / nbytes:.4g} 倍。",
    )
    reasons = {
        nbytes: ("The buffer once: but sums travel, then copies do.", "缓冲区一遍：可是先传和，再传副本。"),
        2 * nbytes: (
            "The buffer twice: but a piece stays at home each time.",
            "缓冲区两遍：可是每次都有一块留在原地。",
        ),
        nbytes // n: ("That is one of its pieces.", "那只是其中一块。"),
    }
    right = Alternative(_format_size(total), ("Add up the steps.", "把各步加起来。"))
    wrong = [Alternative(_format_size(nbytes_guess), reasons[nbytes_guess]) for nbytes_guess in guesses[:2]]
    choices = tuple(sorted((right, *wrong), key=lambda nbytes_guess: _find_value(nbytes_guess, (total, *guesses))))
    question = Question("choice", "sent", ask, explanation, choices.index(right), choices=choices)
    return QuestionAtStep(step, question)


def _build_shuffled_question(
    step: int, topic: str, ask: Text, explanation: Text, choices: Sequence[Alternative], ways: PairsOfChoices = ()
) -> QuestionAtStep:
    """A question whose second choice is right, in an order that the step decides."""
    order = np.random.default_rng(step).permutation(len(choices)).tolist()
    question = Question("choice", topic, ask, explanation, order.index(1), choices=tuple(choices[k] for k in order))
    return QuestionAtStep(step, question, tuple(ways[k] for k in order) if ways else ())


def _format_size(nbytes: int) -> Text:
    return format_bytes(nbytes), format_bytes(nbytes)


def _find_value(alternative: Alternative, values: tuple[int, ...]) -> int:
    return next(value for value in values if _format_size(value) == alternative.text)


def _format_pairs(pairs: RankPairs) -> Text:
    """`7 → 8 and 15 → 0`; how many more where they are many."""
    texts = [f"{a} → {b}" for a, b in pairs[:_NAMED]]
    if more := len(pairs) - len(texts):
        return f"{', '.join(texts)} and {more} more", f"{'、'.join(texts)} 等 {len(pairs)} 块"
    return " and ".join(texts), " 和 ".join(texts)
