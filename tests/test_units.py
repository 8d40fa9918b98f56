"""Units: every quantity at every door, one place that knows the factors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import collsim as cs
from collsim.units import parse_count


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("64MiB", 64 * 2**20),
        ("64 MiB", 64 * 2**20),
        ("1GB", 10**9),
        ("1.5KiB", 1536),
        ("8", 8),
        (8, 8),
        (8.0, 8),
        ("1e6", 10**6),
        ("1,000,003", 1_000_003),
        ("1_000 B", 1000),
        ("800 bit", 100),
        ("2TiB", 2**41),
        (0, 0),
    ],
)
def test_sizes_are_read(text, nbytes):
    assert cs.units.parse_bytes(text) == nbytes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("64M", r"ambiguous: write 64MB \(64,000,000 bytes\) or 64MiB \(67,108,864 bytes\)"),
        ("1k", r"ambiguous: write 1kB \(1,000 bytes\) or 1KiB \(1,024 bytes\)"),
        (-1, "negative"),
        ("-4MiB", "negative"),
        (1.5, "whole number of bytes"),
        ("0.3B", "whole number of bytes"),
        ("MiB", "does not start with a number"),
        ("", "does not start with a number"),
        ("5 apples", "unknown unit 'apples'"),
        ("1MIB", "unknown unit 'MIB'"),
        ("8Mb", "for bits write 'bit'"),
        (None, "NoneType"),
        (True, "bool"),
        ([1], "list"),
        (float("nan"), "not a finite number"),
        (float("inf"), "not a finite number"),
        ("1e400", "not a finite number"),
        ("2000000TB", "is the unit right"),
    ],
)
def test_sizes_that_cannot_be_are_sentences(text, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25GB/s", 25e9),
        ("400Gbit/s", 50e9),
        ("400Gbps", 50e9),
        ("1 GiB/s", 2**30),
        ("10MB/s", 1e7),
        (1e9, 1e9),
        ("1e9", 1e9),
    ],
)
def test_rates_are_read(text, rate):
    assert cs.units.parse_bandwidth(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("25GB", "no time in its unit"),
        (0, "more than 0"),
        (-1, "more than 0"),
        ("25G/s", "ambiguous"),
        ("fast", "number"),
    ],
)
def test_rates_that_cannot_be_are_sentences(text, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.units.parse_bandwidth(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1.5us", 1.5e-6), ("1.5 µs", 1.5e-6), ("2ms", 2e-3), ("3s", 3), ("7ns", 7e-9), (0, 0), ("1e-6", 1e-6)],
)
def test_times_are_read(text, seconds):
    assert cs.units.parse_time(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (-1, "negative"),
        ("2 min", "unknown unit of time 'min'"),
        ("soon", "number"),
        (1e308, "too long; a time is at most 1e.18 s"),
        ("1.1e18s", "too long"),
    ],
)
def test_times_that_cannot_be_are_sentences(text, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.units.parse_time(text)


@given(st.integers(0, 2**50))
def test_a_formatted_size_reads_back_within_its_three_digits(nbytes):
    assert cs.units.parse_bandwidth(cs.format_bytes(nbytes + 1) + "/s") == pytest.approx(nbytes + 1, rel=5e-3)


@given(st.floats(1e-11, 1e4))
def test_a_formatted_time_reads_back_within_its_three_digits(seconds):
    assert cs.units.parse_time(cs.format_time(seconds)) == pytest.approx(seconds, rel=6e-3)


@given(st.floats(1.0, 1e14))
def test_a_formatted_rate_reads_back_within_its_three_digits(rate):
    assert cs.units.parse_bandwidth(cs.format_bandwidth(rate)) == pytest.approx(rate, rel=6e-3)


def test_ranges_are_those_of_nccl_tests():
    """-b 1K -e 1M -f 4"""
    assert cs.size_range("1KiB:1MiB:4") == [2**10, 2**12, 2**14, 2**16, 2**18, 2**20]
    assert cs.size_range("1KiB:4KiB") == [1024, 2048, 4096]
    assert cs.size_range("8") == [8]


@pytest.mark.parametrize("spec", ["1:2:3:4", "4KiB:1KiB", "0:8:2", "1:8:1", "1:8:x", "1:1e15:1.0001", "1:8:inf"])
def test_ranges_that_cannot_be_are_sentences(spec):
    with pytest.raises(cs.CollsimError):
        cs.size_range(spec)


def test_counts_are_whole_and_large_enough():
    assert parse_count("8", "ranks") == 8
    for wrong in (0, -1, 2.5, "x", None, False, "2.5", ""):
        with pytest.raises(cs.CollsimError, match="ranks="):
            parse_count(wrong, "ranks")


def test_numbers_that_follow_one_another_are_a_range_and_many_are_counted():
    assert cs.units.format_numbers([3]) == "3"
    assert cs.units.format_numbers([0, 1, 4]) == "0, 1, 4"
    assert cs.units.format_numbers([0, 1, 2, 3, 8, 12, 13]) == "0-3, 8, 12, 13"
    many = cs.units.format_numbers([0, 2, 4, 5, 6, 7, 10, 11], most=3)
    assert (many.text(), many.text("zh")) == ("0, 2, 4-7 and 2 more", "0, 2, 4-7 等，另有 2 个")
