"""Which cases of an exhaustive test run in `make check`; the others are marked `slow` and run in `make check-all`."""

import pytest

SLOW = pytest.mark.slow


def sample(cases, count):
    """All cases as parameters, of which `count` evenly spaced ones run in `make check`, the first among them.

    Args:
        cases: values of one parameter, tuples of several, or `pytest.param`.
        count: at least 1; where there are no more cases, all of them run.

    Returns:
        A list of `pytest.param` in the order of the cases, so that both selections give a case the same id.
    """
    cases = list(cases)
    assert count > 0, "nothing would run"
    chosen = {k * len(cases) // count for k in range(count)}
    return [case if k in chosen else _mark_slow(case) for k, case in enumerate(cases)]


def cross(values, others):
    """All pairs as parameters, of which in `make check` each of the values comes once, with one of the others in turn.

    Args:
        values: of the first parameter.
        others: values of the second, not more than of the first, so that all of them come.
    """
    values, others = list(values), list(others)
    assert 1 < len(others) <= len(values), "some of the others would never come"
    return [
        (value, other) if j == k % len(others) else pytest.param(value, other, marks=SLOW)
        for k, value in enumerate(values)
        for j, other in enumerate(others)
    ]


def keep_fast(cases, chosen):
    """All cases as parameters, of which only the chosen ones run in `make check`.

    Args:
        cases: values of one parameter, or tuples of several.
        chosen: some of them, at least one and not all.
    """
    cases, chosen = list(cases), list(chosen)
    unknown = [case for case in chosen if case not in cases]
    assert chosen, "nothing would run"
    assert not unknown, f"no such cases: {unknown}"
    assert len(chosen) < len(cases), "all of the cases are no sample"
    return [case if case in chosen else _mark_slow(case) for case in cases]


def _mark_slow(case):
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, SLOW], id=case.id)
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=SLOW)
