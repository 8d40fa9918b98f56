"""Questions made from a run: as many as asked for, of every kind, the same for the same seed and new ones for every
other."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from ...errors import CollsimError, require_language
from ...errors.arguments import check_arguments
from ...simulate import Trace
from ...train import StepTrace
from ...units import parse_count
from .kinds import ASKERS, QuestionRun
from .question import Question
from .split_questions import SPLIT_ASKERS
from .step_questions import STEP_ASKERS, QuestionStep

_MAX_QUESTIONS = 60


@check_arguments
def questions(trace: Trace | StepTrace, seed: int = 0, count: int = 8, language: str = "en") -> list[Question]:
    """Questions about this very run, or step of training, with their answers.

    Args:
        trace: of `simulate` or `training_step`.
        seed: the same seed and run give the same questions.
        count: how many; fewer come back where a run has no more to ask about.
        language: `en` or `zh`; each question holds both.

    Returns:
        The questions, in an order that the seed says.

    Raises:
        CollsimError: For a run in which nothing moves, and for a bad seed or count.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> len(cs.teach.questions(trace, count=3))
        3
    """
    count, seed = parse_count(count, "count"), parse_count(seed, "seed", least=0)
    require_language(language)
    if count > _MAX_QUESTIONS:
        raise CollsimError("count={count}: at most {most} questions are made at once", count=count, most=_MAX_QUESTIONS)
    if isinstance(trace, StepTrace):
        return _ask_about_step(trace, seed, count, language)
    if not trace.time or not trace.link_bytes.any():
        template = "nothing moves in {trace!r}, so there is nothing to ask; take more ranks or a larger size"
        raise CollsimError(template, trace=trace)
    run = QuestionRun(trace)
    # The seed has the run in it, so that the same number gives other questions for another run.
    random = np.random.default_rng(
        [seed, zlib.crc32(f"{trace.schedule.label} {trace.topology.name} {trace.nbytes}".encode())]
    )
    questions_by_text: dict[str, Question] = {}
    for round_ in range(4):  # every asker once, then again with other ranks and links
        for k in _order_askers(random, round_):
            question = ASKERS[k](run, random)
            if question is not None:
                # The text tells questions apart: another rank may give the very same one.
                questions_by_text.setdefault(question.ask[0], question)
            if len(questions_by_text) == count:
                return [replace(q, language=language) for q in questions_by_text.values()]
    return [replace(q, language=language) for q in questions_by_text.values()]


def _ask_about_step(trace: StepTrace, seed: int, count: int, language: str) -> list[Question]:
    """One question of each kind that makes sense for the step."""
    if trace.step.ranks < 2 or not trace.communication:
        raise CollsimError("nothing is sent in {trace!r}, so there is nothing to ask; take more GPUs", trace=trace)
    run = QuestionStep(trace)
    random = np.random.default_rng([seed, zlib.crc32(f"{trace.step.label} {trace.topology.name}".encode())])
    step_questions: list[Question] = []
    askers = (*STEP_ASKERS, *SPLIT_ASKERS)
    for k in random.permutation(len(askers)):
        if len(step_questions) < count and (question := askers[int(k)](run, random)) is not None:
            step_questions.append(replace(question, language=language))
    return step_questions


def _order_askers(random: np.random.Generator, round_number: int) -> list[int]:
    """In the first turn a link, a choice and a number come first, so that even three questions are of three kinds."""
    order = [int(k) for k in random.permutation(len(ASKERS))]
    if round_number:
        return order
    first = [0, int(random.choice([1, 3])), int(random.choice([2, 4, 7]))]
    return first + [k for k in order if k not in first]
