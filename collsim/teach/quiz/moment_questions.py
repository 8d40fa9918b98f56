"""Questions that stop a run: each belongs to a step, names what the picture shows there, and is answered by what comes.

At most three: which pieces arrive last, or what a rank holds afterwards; what a copy does with a partial sum; and how
much each rank will have sent. Every number is read from the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...analysis.run_facts import RunFacts
from ...locale import Text, build_text, join_texts, repeat_text
from ...units import format_bandwidth, format_bytes, format_time
from .question import Alternative, Question

RankPairs = tuple[tuple[int, int], ...]
PairsOfChoices = tuple[RankPairs, ...]
_SLOWER = 1.2  # a transfer arrives late when it takes so much longer than the quickest of its step
_NAMED = 2  # ways that an answer names one by one
_MARKED = 6  # ways of an answer that are marked in the picture
_MAX_TRANSFERS = 200_000


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("quiz", f"moments.{key}", **values)


@dataclass(frozen=True)
class QuestionAtStep:
    """A question at the begin of a step.

    Attributes:
        step: from 0.
        question: its text, choices and the right one.
        pairs: for each choice the pairs of ranks that it names; empty where choices name none.
    """

    step: int
    question: Question
    pairs: PairsOfChoices = ()

    def record(self) -> dict[str, Any]:
        """As plain JSON, for the page that asks."""
        record = self.question.record()
        pairs = self.pairs or ((),) * len(self.question.choices)
        for choice, named in zip(record["choices"], pairs, strict=True):
            choice["marks"] = [list(pair) for pair in named]
        return {"step": self.step, **record}


def list_step_questions(facts: RunFacts) -> list[QuestionAtStep]:
    """The questions of a run in the order of their steps; none where steps have no barrier.

    Args:
        facts: Of a run of the lockstep engine; others have no questions.
    """
    trace, s = facts.trace, facts.trace.schedule
    if trace.engine != "lockstep" or s.steps < 2 or len(s) > _MAX_TRANSFERS:
        return []
    run = _RunBySteps(facts)
    adding = [k for k in range(s.steps) if run.adds[k]]
    middle = adding[len(adding) // 2] if adding else s.steps // 2
    step_questions = [
        # Asked at the first step: the later ones show the same cables.
        _ask_last_arrivals(run, adding[0] if adding else 0) or _ask_contributions(run, middle),
        _ask_copy(run),
        _ask_sent_bytes(run),
    ]
    return sorted((question for question in step_questions if question is not None), key=lambda question: question.step)


class _RunBySteps:
    """A run step by step: its rows, how long they take, and how many contributions they move."""

    def __init__(self, facts: RunFacts) -> None:
        trace = facts.trace
        self.trace, self.schedule, self.moments = trace, trace.schedule, facts.moments
        self.rows = trace.schedule.transfers
        self.lasts = trace.finish - trace.start
        self.of = [np.flatnonzero(self.rows["step"] == k) for k in range(self.schedule.steps)]
        self.adds = [bool(self.rows["reduce"][numbers].all()) and len(numbers) > 0 for numbers in self.of]
        self.copies = [not self.rows["reduce"][numbers].any() and len(numbers) > 0 for numbers in self.of]


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
    ask = _text("step_all_pieces_leave", step=step + 1, count=count, nbytes=nbytes)
    rate = run.trace.topology.route(*slow[0])
    hop = min(rate, key=lambda link: link.bandwidth)
    explanation = _text(
        "they_need_others_their",
        slowest=slowest,
        quick=quick,
        hop_label=hop.label,
        bandwidth=format_bandwidth(hop.bandwidth),
    )
    choices = (
        Alternative(
            _text("all_at_same_time"), _text("they_have_same_size", nbytes=nbytes, quick=quick, slowest=slowest)
        ),
        Alternative(
            _format_pairs(slow),
            _text("they_leave_slowest_cables", nbytes=nbytes, bandwidth=format_bandwidth(hop.bandwidth)),
        ),
        Alternative(_format_pairs(after), _text("these_ranks_got_theirs")),
    )
    return _build_shuffled_question(step, "arrival", ask, explanation, choices, ((), slow[:_MARKED], after[:_MARKED]))


def _ask_contributions(run: _RunBySteps, step: int) -> QuestionAtStep | None:
    """How many contributions a rank holds after adding what arrives."""
    if not run.adds[step]:
        return None
    ranks, moment, rows = run.schedule.ranks, run.moments[step], run.rows[run.of[step]]
    cells = rows["dst"].astype(np.int64) * run.schedule.slots + rows["into"]
    alone = np.bincount(cells)[cells] == 1  # where several arrive, one alone does not decide
    for position in np.flatnonzero(alone).tolist():
        src, dst, chunk = (int(rows[position][name]) for name in ("src", "dst", "chunk"))
        sent, receiver_count = int(moment.sent_contributions[position]), int(moment.had[position])
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
    ask = _text(
        "step_rank_sends_chunk",
        step=step + 1,
        src=src,
        chunk=chunk,
        sent=sent,
        ranks=ranks,
        dst=dst,
        receiver_count=receiver_count,
    )
    explanation = _text(
        "receiver_adds_arrives_has", sent=sent, receiver_count=receiver_count, total=sent + receiver_count
    )
    choices = (
        Alternative(_text("text", sent=sent), _text("would_be_copy_which", receiver_count=receiver_count)),
        Alternative(_text("text", sent=sent + receiver_count), explanation),
        Alternative(_text("text_2", ranks=ranks), _text("sum_not_complete_yet", missing=ranks - sent - receiver_count)),
    )
    return _build_shuffled_question(step, "held", ask, explanation, choices)


def _ask_copy(run: _RunBySteps) -> QuestionAtStep | None:
    """What a finished sum does to the partial sum where it arrives."""
    adds = [k for k in range(run.schedule.steps) if run.adds[k]]
    step = adds[-1] + 1 if adds else run.schedule.steps
    if step >= run.schedule.steps or not run.copies[step]:
        return None
    row, moment, ranks = run.rows[run.of[step][0]], run.moments[step], run.schedule.ranks
    src, dst = int(row["src"]), int(row["dst"])
    there, comes = int(moment.had[0]), int(moment.sent_contributions[0])
    if comes != ranks or not 0 < there < ranks:
        return None
    chunk = int(row["chunk"])
    ask = _text("step_rank_sends_chunk_2", step=step + 1, src=src, chunk=chunk, ranks=ranks, dst=dst, there=there)
    explanation = _text("sum_complete_added_once", there=there)
    choices = (
        Alternative(_text("add_its_own"), _text("then_some_would_count", there=there)),
        Alternative(_text("put_place_its_own"), _text("copy_replaces", there=there, ranks=ranks)),
        Alternative(_text("keep_its_own_pass"), _text("then_rank_would_never", dst=dst)),
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
    ask = _text("step_last_how_much", step=step + 1)
    explanation = _text(
        "counters_say_steps_come", steps=run.schedule.steps, total=format_bytes(total), buffers=f"{total / nbytes:.4g}"
    )
    reasons = {
        nbytes: _text("buffer_once_but_sums"),
        2 * nbytes: _text("buffer_twice_but_piece"),
        nbytes // n: _text("one_its_pieces", count=f"{total / (nbytes // n):.4g}"),
    }
    right = Alternative(
        _format_size(total),
        _text("add_up_steps", steps=run.schedule.steps, per_step=format_bytes(total / run.schedule.steps)),
    )
    wrong = [Alternative(_format_size(nbytes_guess), reasons[nbytes_guess]) for nbytes_guess in guesses[:2]]
    choices = tuple(sorted((right, *wrong), key=lambda nbytes_guess: _find_value(nbytes_guess, (total, *guesses))))
    question = Question("choice", "sent", ask, explanation, choices.index(right), choices=choices)
    return QuestionAtStep(step, question)


def _build_shuffled_question(
    step: int, topic: str, ask: Text, explanation: Text, choices: Sequence[Alternative], pairs: PairsOfChoices = ()
) -> QuestionAtStep:
    """A question whose second choice is right, in an order that the step decides."""
    order = np.random.default_rng(step).permutation(len(choices)).tolist()
    question = Question("choice", topic, ask, explanation, order.index(1), choices=tuple(choices[k] for k in order))
    return QuestionAtStep(step, question, tuple(pairs[k] for k in order) if pairs else ())


def _format_size(nbytes: int) -> Text:
    return repeat_text(format_bytes(nbytes))


def _find_value(alternative: Alternative, values: tuple[int, ...]) -> int:
    return next(value for value in values if _format_size(value) == alternative.text)


def _format_pairs(pairs: RankPairs) -> Text:
    """`7 → 8 and 15 → 0`; how many more where they are many."""
    texts = [f"{a} → {b}" for a, b in pairs[:_NAMED]]
    if more := len(pairs) - len(texts):
        named = join_texts("items", texts)
        return _text("more", named=named, more=more, pairs=len(pairs))
    return join_texts("and", texts)
