"""Counts never wrap around: a contribution that is there 2^64 times, or any number of times but once, is wrong."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import sample

import collsim as cs
from collsim.schedule import freeze
from collsim.verify import MANY, CountedReplay, list_contributions
from collsim.verify.contributions import add_counts, add_terms, count_weight_bits, draw_weights, format_terms

SCRATCH = 1  # slots beyond the one chunk: the multiple, what is doubled, the contribution itself


def add_times(times, source, other, slot):
    """Steps after which `source` has `times` more of what was in its chunk 0 in that chunk, by doubling and adding."""
    total, double, single = slot, slot + 1, slot + 2
    yield cs.copy(source, other, chunk=0, into=single)
    yield cs.copy(source, source, chunk=0, into=total)
    for bit in bin(times)[3:]:
        yield cs.copy(source, other, chunk=total, into=double)
        yield cs.reduce(other, source, chunk=double, into=total)
        if bit == "1":
            yield cs.reduce(other, source, chunk=single, into=total)
    yield cs.reduce(source, source, chunk=total, into=0)


def allreduce(times, ranks=3):
    """A right allreduce, but rank 0 comes in with `times` more of its contribution."""
    rest = np.arange(1, ranks)
    yield from add_times(times, 0, 1, SCRATCH)
    yield from (cs.reduce(r, 0, chunk=0) for r in rest)
    yield cs.copy(0, rest, chunk=0)


def built(times, ranks=3, collective="allreduce", **more):
    return freeze("mine", collective, ranks, allreduce(times, ranks), chunks=1, **more)


def message_of(schedule):
    with pytest.raises(cs.ScheduleError) as caught:
        cs.verify(schedule)
    return str(caught.value)


def written(count):
    return ">2^63" if count > 2**63 else str(count)


@pytest.mark.parametrize("exponent", [1, 2, 8, 31, 32, 52, 53, 59, 61, 62, 63, 64, 65, 96, 127, 128, 129, 130])
def test_a_power_of_two_too_many_is_wrong_and_said(exponent):
    for ranks in (2, 3, 8):
        message = message_of(built(2**exponent, ranks))
        assert f"rank 0 has chunk 0 = {written(1 + 2**exponent)}·r0 + r1" in message
        assert not re.search(r"-\d", message)


@pytest.mark.parametrize("every", sample([16, 1], 1))
def test_every_power_of_two_and_of_three_is_refused(every):
    for times in (*(2**k for k in range(0, 131, every)), *(3**k for k in range(0, 83, every))):
        assert f"= {written(1 + times)}·r0 + r1" in message_of(built(times, 2))


#: Numbers that are 0, or the same as 1, in some domain somebody might count in: machine words, primes, floats.
CONGRUENT = [2**16, 2**31 - 1, 2**32, 2**53, 2**61 - 1, 2**64, 2**64 - 59, 3 * 2**64, 2**64 * (2**61 - 1), 10**9 + 7]


@pytest.mark.parametrize("times", CONGRUENT)
def test_what_counts_as_none_in_another_domain_is_seen(times):
    assert f"= {written(1 + times)}·r0" in message_of(built(times))


@given(st.integers(1, 2**200))
@settings(deadline=None)
def test_any_number_of_times_too_many_is_seen(times):
    assert f"= {written(1 + times)}·r0" in message_of(built(times, 2))


def test_a_copy_that_should_be_there_once_is_not_there_more_often():
    for times in (2**64, 3**41):
        steps = [*add_times(times, 0, 1, SCRATCH)]
        assert f"{written(1 + times)}·r0, but reduce wants r0 + r1" in message_of(
            freeze("mine", "reduce", 2, steps, chunks=1)
        )
        steps = [*add_times(times, 0, 1, SCRATCH), cs.copy(0, 1, chunk=0)]
        assert f"{written(1 + times)}·r0, but broadcast wants r0" in message_of(
            freeze("mine", "broadcast", 2, steps, chunks=1)
        )


def test_multiples_that_stand_in_each_other_s_way_are_seen():
    """Nothing of r1 and twice r0; and 2^64 of both."""
    message = message_of(freeze("mine", "reduce", 3, [cs.reduce(2, 0, 0), cs.copy(0, 1, 0), cs.reduce(1, 0, 0)]))
    assert "2·r0 + 2·r2, but reduce wants r0 + r1 + r2" in message
    steps = [*add_times(2**64, 0, 1, 1), *add_times(2**64, 1, 0, 4), cs.reduce(1, 0, 0), cs.copy(0, 1, 0)]
    assert ">2^63·r0 + >2^63·r1" in message_of(freeze("mine", "allreduce", 2, steps, chunks=1))


def test_a_repeated_pattern_that_doubles_is_seen():
    """Two ranks add to one another 64 times: 2^63 copies of each."""
    doubling = cs.steps.repeat(cs.reduce([0, 1], [1, 0], 0), times=64, shift=0, modulus=1)
    message = message_of(freeze("mine", "allreduce", 2, [doubling]))
    assert f"{2**63}·r0 + {2**63}·r1, but allreduce wants r0 + r1" in message
    assert "It begins in step 2: rank 0 gets something too much into chunk 0." in message
    ranges = [cs.reduce([0, 1], [1, 0], 0, width=2)] * 65
    assert ">2^63·r0 + >2^63·r1" in message_of(freeze("mine", "allreduce", 2, ranges))


def test_a_helper_that_doubles_is_seen():
    """A switch that reduces adds what it holds to what a rank holds, and the other way round."""
    back_and_forth = [cs.reduce(0, 2, 0), *[cs.reduce(2, 0, 0), cs.reduce(0, 2, 0)] * 50]
    steps = [cs.reduce(1, 0, 0), *back_and_forth, cs.copy(0, 1, 0)]
    message = message_of(freeze("mine", "allreduce", 2, steps, helpers=1, helpers_on="switch"))
    assert ">2^63·r0 + >2^63·r1, but allreduce wants r0 + r1" in message


@pytest.mark.slow
def test_the_first_of_many_doublings_is_named_in_bounded_time():
    """50,000 steps, each of which doubles: the exact number would have 15,000 digits."""
    steps = [cs.reduce([0, 1], [1, 0], 0)] * 50_000
    assert "It begins in step 2" in message_of(freeze("mine", "allreduce", 2, steps))


def test_more_contributions_than_can_be_listed_are_still_wrong():
    """Everybody adds everybody's sum in every step: which rank is there how often would be 10^8 additions."""
    src, dst = np.nonzero(~np.eye(64, dtype=bool))
    message = message_of(freeze("mine", "allreduce", 64, [cs.reduce(src, dst, 0)] * 400))
    assert "rank 0 has chunk 0 = something else, but allreduce wants r0 + r1" in message
    assert "adds up too many contributions to say which; ask for fewer ranks" in message


def test_history_of_a_slot_is_exact():
    s = cs.schedule("allreduce_ring", ranks=4)
    steps = [(step, sum(terms.values())) for step, terms in list_contributions(s, rank=0, slot=0)]
    # chunk 0 leaves rank 0 first, collects the others and comes home finished in step 3
    assert steps == [(-1, 1), (3, 4)]
    doubled = list_contributions(built(2**70, 2), rank=0, slot=0)
    assert [terms for _, terms in doubled] == [
        {(0, 0): 1}, {(0, 0): MANY}, {(0, 0): MANY, (1, 0): 1},
    ]  # fmt: skip


def test_contributions_are_counted_alike_in_one_cell_and_in_all():
    schedule = built(2**40 + 5, 4)
    counts = list(CountedReplay(schedule))[-1].table
    for rank, slot in np.ndindex(counts.shape):
        terms = list_contributions(schedule, rank, slot)[-1][1]
        assert int(counts[rank, slot]) == sum(terms.values())


def test_a_count_of_all_contributions_stays_where_it_cannot_be_told_any_more():
    counts = list(CountedReplay(built(2**100, 2)))[-1].table
    assert int(counts[0, 0]) == MANY


WORDS = st.integers(0, MANY)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_sums_of_counts_are_exact_until_they_stay(pairs):
    first, second = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    assert add_counts(first, second).tolist() == [min(MANY, a + b) for a, b in pairs]
    terms = add_terms([{(0, 0): a} for a, _ in pairs] + [{(0, 0): b} for _, b in pairs])
    assert terms == {(0, 0): min(MANY, sum(a + b for a, b in pairs))}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8, 1023, 1024, 1025, 2**24])
def test_no_right_sum_reaches_the_end_of_the_domain(ranks):
    bits = count_weight_bits(ranks)
    assert ranks * (2**bits - 1) < MANY - 1
    assert ranks * (2 ** (bits + 1) - 1) > 2**62, "a bit is given away"
    weights = draw_weights(ranks, 1000)
    assert int(weights.max()) < 2**bits
    assert int(weights.max()) > 2 ** (bits - 4)


def test_weights_are_new_in_every_call_so_that_nobody_can_know_them():
    assert draw_weights(8, 4).tolist() != draw_weights(8, 4).tolist()


def test_a_sum_is_written_with_its_first_terms_and_its_last():
    assert str(format_terms({})) == "nothing"
    assert format_terms({(1, 0): 2, (0, 0): 1}, chunk=0) == "r0 + 2·r1"
    assert format_terms({(1, 0): 2, (0, 0): 1}) == "r0[chunk 0] + 2·r1[chunk 0]"
    assert format_terms({(r, 0): 1 for r in range(40)}, chunk=0, most=3) == "r0 + r1 + ... + r39"
    assert format_terms({(0, 0): 2**63, (1, 0): MANY}, chunk=0) == f"{2**63}·r0 + >2^63·r1"
