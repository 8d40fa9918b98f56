"""A sample of cases: all stay, some run always, and the rest where `slow` is selected."""

import pytest
from sampling import cross, keep_fast, sample


def is_slow(case):
    return any(mark.name == "slow" for mark in getattr(case, "marks", ()))


def values_of(case):
    if hasattr(case, "values"):
        return case.values
    return case if isinstance(case, tuple) else (case,)


@pytest.mark.parametrize(("length", "count"), [(2, 1), (7, 3), (100, 9)])
def test_every_case_stays_in_its_order_and_as_many_run_always_as_the_count_says(length, count):
    cases = sample(range(length), count)
    assert [values_of(case) for case in cases] == [(k,) for k in range(length)]
    fast = [k for k, case in enumerate(cases) if not is_slow(case)]
    assert len(fast) == count
    assert fast[0] == 0
    assert max(b - a for a, b in zip(fast, [*fast[1:], length], strict=True)) <= -(-length // count)


def test_parameters_keep_their_marks_and_ids():
    cases = sample([(1, "a"), (2, "b"), pytest.param(3, "c", id="three", marks=pytest.mark.browser)], 1)
    assert cases[0] == (1, "a")
    assert cases[1].values == (2, "b")
    assert cases[2].values == (3, "c")
    assert cases[2].id == "three"
    assert {mark.name for mark in cases[2].marks} == {"browser", "slow"}


def test_where_there_are_no_more_cases_than_the_count_all_run_and_none_is_refused():
    assert sample("ab", 2) == ["a", "b"]
    assert sample("ab", 5) == ["a", "b"]
    with pytest.raises(AssertionError, match="nothing"):
        sample("ab", 0)


def test_pairs_are_all_there_and_each_value_runs_always_with_one_of_the_others_in_turn():
    cases = cross("abc", [1, 2])
    assert [values_of(case) for case in cases] == [(a, n) for a in "abc" for n in (1, 2)]
    assert [case for case in cases if not is_slow(case)] == [("a", 1), ("b", 2), ("c", 1)]
    for others in ([1, 2, 3, 4], [1]):
        with pytest.raises(AssertionError, match="never come"):
            cross("abc", others)


def test_only_chosen_cases_run_always():
    cases = keep_fast("abc", "b")
    assert [values_of(case) for case in cases] == [("a",), ("b",), ("c",)]
    assert [is_slow(case) for case in cases] == [True, False, True]


@pytest.mark.parametrize(("chosen", "reason"), [("", "nothing"), ("abc", "no sample"), ("ad", "no such cases")])
def test_a_choice_that_leaves_nothing_out_or_names_what_is_not_there_is_refused(chosen, reason):
    with pytest.raises(AssertionError, match=reason):
        keep_fast("abc", chosen)
