"""Every algorithm for 64 ranks, built and verified: `python -m pytest benchmarks`. Counts are asserted, times are
printed."""

import pytest

import collsim as cs

RANKS = 64


@pytest.mark.parametrize(
    "name", [name for name, a in cs.algorithms().items() if a.ranks is None or a.ranks(RANKS) is None]
)
def test_build_and_verify(benchmark, name):
    def run():
        s = cs.algorithms()[name](RANKS)
        cs.verify(s)
        return s

    s = benchmark.pedantic(run, rounds=1)
    assert s.steps == cs.algorithms()[name].claim("steps", RANKS)
    assert len(s) >= RANKS - 1
