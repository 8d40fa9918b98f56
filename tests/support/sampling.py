"""Which cases of an exhaustive test run in `make check`; the others are marked `slow` and run in `make check-all`."""

import pytest

SLOW = pytest.mark.slow


def sample(cases, count):
    """All cases as parameters, of which `count` evenly spaced ones run in `make check`, the first among them.

    Args:
        cases: values of one parameter, tuples of several, or `pytest.param`.
        count: at least 1, fewer than there are cases.

    Returns:
        A list of `pytest.param` in the order of the cases, so that both selections give a case the same id.
    """
    cases = list(cases)
    assert 0 < count < len(cases), f"{count} of {len(cases)} cases is no sample"
    chosen = {k * len(cases) // count for k in range(count)}
    return [case if k in chosen else _mark_slow(case) for k, case in enumerate(cases)]


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
