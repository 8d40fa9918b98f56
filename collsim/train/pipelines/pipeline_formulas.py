"""What pipelines take by formula, where there is one: to hold beside what their orders give when they are run.

Sources: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2: GPipe, 1F1B and interleaved stages; Korthikanti et al.
2022 (arXiv 2205.05198), section 4.2.3: what interleaved stages hold; Qi et al. 2023 (arXiv 2401.10241), table 2, and
2024 (arXiv 2405.15362): backward passes in halves; deepseek-ai/DualPipe, README. All without hops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PipelineFormulas:
    """Formulas of a schedule, and what they give.

    Attributes:
        time: s of the step.
        idle: s in which a rank computes nothing.
        peak_activations: (ranks,) most microbatches whose activations a rank keeps at once.
        time_formula: formula of `time`: p ranks, m microbatches, v stages of a rank; F, B, I and W the s of a
            microbatch on a rank.
        idle_formula: formula of `idle`.
        activations_formula: formula of `peak_activations`, r the rank.
        seconds: s of a microbatch on a rank, by kind: F, I and W.
    """

    time: float
    idle: float
    peak_activations: tuple[float, ...]
    time_formula: str
    idle_formula: str
    activations_formula: str
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class _Formulas:
    """Of a schedule: when they hold, (p, m, v, F, I, W); idle time and held microbatches, and how they are written."""

    holds: Callable[[int, int, float, float, float], bool]
    idle: Callable[[int, int, float, float, float], float]
    activations: Callable[[int, int, int, int], float]
    texts: tuple[str, str, str]


def _has_equal_thirds(f: float, i: float, w: float) -> bool:
    """Are all three as long?"""
    return max(f, i, w) - min(f, i, w) <= 1e-12 * f


def _build_flush_formulas(activations: Callable[[int, int, int, int], float], text: str) -> _Formulas:
    idle = "(p − 1)(F + B)"
    words = ("(m + p − 1)(F + B)", idle, text)
    return _Formulas(lambda *_: True, lambda p, v, f, i, w: (p - 1) * (f + i + w), activations, words)


_V = "m(F + B) + idle"
_SPLIT = "m(F + I + W) + idle"
_FORMULAS = {
    "gpipe": _build_flush_formulas(lambda p, m, v, r: m, "m"),
    "1f1b": _build_flush_formulas(lambda p, m, v, r: min(m, p - r), "min(m, p − r)"),
    "interleaved": _Formulas(
        lambda p, m, f, i, w: m % p == 0,
        lambda p, v, f, i, w: (p - 1) * (f + i + w) / v,
        lambda p, m, v, r: min(m * v, (v - 1) * p + 2 * (p - 1 - r) + 1) / v,
        (_V, "(p − 1)(F + B) ÷ v", "min(m v, 2(p − r − 1) + (v − 1)p + 1) ÷ v"),
    ),
    "zero-bubble": _Formulas(
        lambda p, m, f, i, w: m % p == 0 and w - min(f, i) <= 1e-12 * f,  # else what waits is not a W
        lambda p, v, f, i, w: (p - 1) * (f + i - w) / v,
        lambda p, m, v, r: min(m, p),
        (_SPLIT, "(p − 1)(F + I − W) ÷ v", "p"),
    ),
    "zbv": _Formulas(
        lambda p, m, f, i, w: m >= 2 * p - 1 and _has_equal_thirds(f, i, w),
        lambda p, v, f, i, w: (p - 1) * f / v,
        lambda p, m, v, r: p,
        (_SPLIT, "(p − 1)F ÷ 2", "p"),
    ),
    "dualpipe-v": _Formulas(
        lambda p, m, f, i, w: m >= 2 * p and _has_equal_thirds(f, i, w),
        lambda p, v, f, i, w: (p - 1) * (f + 2 * (i + w) - 3 * w) / v,
        lambda p, m, v, r: p + 0.5,
        (_SPLIT, "(p − 1)(F + 2B − 3W) ÷ 2", "p + ½"),
    ),
}


def evaluate_formulas(
    schedule: str, ranks: int, micros: int, interleave: int, seconds: dict[str, float]
) -> PipelineFormulas | None:
    """Evaluate the formulas of a schedule.

    Args:
        schedule: Name of the schedule.
        ranks: Ranks of the pipeline.
        micros: Microbatches of the step.
        interleave: Stages of a rank.
        seconds: Seconds of a microbatch on a rank, by kind: F, I and W.

    Returns:
        What they give; None where they do not hold.
    """
    rule, (f, i, w) = _FORMULAS[schedule], (seconds[kind] for kind in "FIW")
    if not rule.holds(ranks, micros, f, i, w):
        return None
    idle = rule.idle(ranks, interleave, f, i, w)
    peaks = tuple(float(rule.activations(ranks, micros, interleave, r)) for r in range(ranks))
    return PipelineFormulas(micros * (f + i + w) + idle, idle, peaks, *rule.texts, seconds)
