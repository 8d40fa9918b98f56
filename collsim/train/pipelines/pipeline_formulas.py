"""What pipelines take by formula, where there is one: to hold beside what their orders give when they are run.

Sources: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2: GPipe, 1F1B and interleaved stages; Korthikanti et al.
2022 (arXiv 2205.05198), section 4.2.3: what interleaved stages hold; Qi et al. 2023 (arXiv 2401.10241), table 2, and
2024 (arXiv 2405.15362): backward passes in halves; deepseek-ai/DualPipe, README. All without hops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


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
        numbers: The three formulas with the numbers of this pipeline in them, for rank 0, by `time`, `idle` and
            `activations`: `11 × 3`. Empty for a formula that is a letter alone.
    """

    time: float
    idle: float
    peak_activations: tuple[float, ...]
    time_formula: str
    idle_formula: str
    activations_formula: str
    numbers: Mapping[str, str]


class _Values(NamedTuple):
    """What the letters of a formula stand for: ranks, microbatches, stages of a rank, seconds, and the idle time."""

    p: int
    m: int
    v: int
    f: float
    i: float
    w: float
    idle: float

    @property
    def b(self) -> float:
        return self.i + self.w

    @property
    def flush(self) -> str:
        """`(p − 1)(F + B)`."""
        return f"{self.p - 1} × {_format(self.f + self.b)}"

    @property
    def with_idle(self) -> str:
        """`m(F + B) + idle`."""
        return f"{self.m} × {_format(self.f + self.b)} + {_format(self.idle)}"


class _Written(NamedTuple):
    """A formula as it is written, and with numbers in place of its letters."""

    text: str
    insert_numbers: Callable[[_Values], str] = lambda _: ""


@dataclass(frozen=True)
class _Formulas:
    """Of a schedule: when they hold, (p, m, v, F, I, W); idle time and held microbatches, and how they are written."""

    holds: Callable[[int, int, float, float, float], bool]
    idle: Callable[[int, int, float, float, float], float]
    activations: Callable[[int, int, int, int], float]
    written: tuple[_Written, _Written, _Written]


def _format(number: float) -> str:
    """At most four digits behind the first, and a whole number whole."""
    if number == round(number):
        return str(round(number))
    return f"{number:.4g}"


def _has_equal_thirds(f: float, i: float, w: float) -> bool:
    """Are all three as long?"""
    return max(f, i, w) - min(f, i, w) <= 1e-12 * f


def _build_flush_formulas(activations: Callable[[int, int, int, int], float], written: _Written) -> _Formulas:
    time = _Written("(m + p − 1)(F + B)", lambda x: f"{x.m + x.p - 1} × {_format(x.f + x.b)}")
    idle = _Written("(p − 1)(F + B)", lambda x: x.flush)
    return _Formulas(lambda *_: True, lambda p, v, f, i, w: (p - 1) * (f + i + w), activations, (time, idle, written))


_V = _Written("m(F + B) + idle", lambda x: x.with_idle)
_SPLIT = _Written("m(F + I + W) + idle", lambda x: x.with_idle)
_FORMULAS = {
    "gpipe": _build_flush_formulas(lambda p, m, v, r: m, _Written("m")),
    "1f1b": _build_flush_formulas(
        lambda p, m, v, r: min(m, p - r), _Written("min(m, p − r)", lambda x: f"min({x.m}, {x.p})")
    ),
    "interleaved": _Formulas(
        lambda p, m, f, i, w: m % p == 0,
        lambda p, v, f, i, w: (p - 1) * (f + i + w) / v,
        lambda p, m, v, r: min(m * v, (v - 1) * p + 2 * (p - 1 - r) + 1) / v,
        (
            _V,
            _Written("(p − 1)(F + B) ÷ v", lambda x: f"{x.flush} ÷ {x.v}"),
            _Written(
                "min(m v, 2(p − r − 1) + (v − 1)p + 1) ÷ v",
                lambda x: f"min({x.m * x.v}, {2 * (x.p - 1) + (x.v - 1) * x.p + 1}) ÷ {x.v}",
            ),
        ),
    ),
    "zero-bubble": _Formulas(
        lambda p, m, f, i, w: m % p == 0 and w - min(f, i) <= 1e-12 * f,  # else what waits is not a W
        lambda p, v, f, i, w: (p - 1) * (f + i - w) / v,
        lambda p, m, v, r: min(m, p),
        (
            _SPLIT,
            _Written("(p − 1)(F + I − W) ÷ v", lambda x: f"{x.p - 1} × {_format(x.f + x.i - x.w)} ÷ {x.v}"),
            _Written("p"),
        ),
    ),
    "zbv": _Formulas(
        lambda p, m, f, i, w: m >= 2 * p - 1 and _has_equal_thirds(f, i, w),
        lambda p, v, f, i, w: (p - 1) * f / v,
        lambda p, m, v, r: p,
        (_SPLIT, _Written("(p − 1)F ÷ 2", lambda x: f"{x.p - 1} × {_format(x.f)} ÷ 2"), _Written("p")),
    ),
    "dualpipe-v": _Formulas(
        lambda p, m, f, i, w: m >= 2 * p and _has_equal_thirds(f, i, w),
        lambda p, v, f, i, w: (p - 1) * (f + 2 * (i + w) - 3 * w) / v,
        lambda p, m, v, r: p + 0.5,
        (
            _SPLIT,
            _Written("(p − 1)(F + 2B − 3W) ÷ 2", lambda x: f"{x.p - 1} × {_format(x.f + 2 * x.b - 3 * x.w)} ÷ 2"),
            _Written("p + ½", lambda x: f"{x.p} + ½"),
        ),
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
    values = _Values(ranks, micros, interleave, f, i, w, idle)
    names = ("time", "idle", "activations")
    numbers = {name: written.insert_numbers(values) for name, written in zip(names, rule.written, strict=True)}
    time_text, idle_text, activations_text = (written.text for written in rule.written)
    time = micros * (f + i + w) + idle
    return PipelineFormulas(time, idle, peaks, time_text, idle_text, activations_text, numbers)
