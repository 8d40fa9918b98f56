"""Whatever is in the registry keeps its promises; a new file in collsim/algorithms is tested by being there."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from by_hand import is_right, options_to_try, seconds, sent_by_busiest, sizes

import collsim as cs
from collsim.schedule import freeze

ALGORITHMS = cs.algorithms()
#: All questions to one algorithm come one after the other, so that they share its schedules.
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS, scope="module")
#: Numbers of ranks: the small ones, one of several factors, a prime and a power of two; in `make check-all` all.
NUMBERS = {"some": {*range(10), 12, 31, 32}, "all": set(range(34))}
numbers_of_ranks = pytest.mark.parametrize(
    "numbers", [NUMBERS["some"], pytest.param(NUMBERS["all"], marks=pytest.mark.slow)], ids=list(NUMBERS)
)


@lru_cache(maxsize=1000)
def build_schedule(name, n, options=()):
    """A schedule; building it takes longer than what is asked of it."""
    return ALGORITHMS[name](n, **dict(options))


def choose_sizes(name, numbers):
    return [n for n in sizes(ALGORITHMS[name], 33) if n in numbers]


def with_options(name, numbers):
    """Schedules, and the options they were made with: all up to nine ranks, and of all numbers a power of two and one
    more."""
    entry = ALGORITHMS[name]
    for n in sorted(numbers & {*sizes(entry, 9), *sizes(entry, 17, 16)}):
        for options in options_to_try(entry, n):
            yield build_schedule(name, n, tuple(options.items())), options


@every_algorithm
@numbers_of_ranks
def test_post_condition_holds_for_every_number_of_ranks(name, numbers):
    for n in choose_sizes(name, numbers):
        cs.verify(build_schedule(name, n))


@every_algorithm
@numbers_of_ranks
def test_post_condition_and_claims_hold_for_all_options(name, numbers):
    entry = ALGORITHMS[name]
    for s, options in with_options(name, numbers):
        cs.verify(s)
        assert entry.claim("steps", s.ranks, **options) == s.steps, s
        claimed = entry.claim("sent", s.ranks, **options)
        assert claimed is None or claimed == pytest.approx(sent_by_busiest(s)), s


@every_algorithm
def test_an_independent_count_of_contributions_agrees(name):
    for s, options in with_options(name, NUMBERS["some"]):
        assert s.ranks > 6 or is_right(s), (s.ranks, options)


@every_algorithm
@numbers_of_ranks
def test_claimed_cost_is_the_real_cost(name, numbers):
    entry = ALGORITHMS[name]
    assert entry.steps is not None
    assert entry.sent is not None
    for n in choose_sizes(name, numbers):
        s = build_schedule(name, n)
        assert entry.claim("steps", n) == s.steps
        assert entry.claim("sent", n) == pytest.approx(sent_by_busiest(s))


@every_algorithm
@numbers_of_ranks
def test_closed_form_is_what_the_steps_add_up_to(name, numbers):
    """On one full-duplex port per rank; a formula that begins with ≤ is a bound, from four ranks on within a factor of
    five."""
    entry = ALGORITHMS[name]
    if entry.network != "switch":
        return
    schedules = [(build_schedule(name, n), {}) for n in choose_sizes(name, numbers)]
    for s, options in [*schedules, *with_options(name, numbers)]:
        price = entry.price(s.ranks, 1e6, 2e-6, 1e-10, **options)
        if price is None:
            continue
        real = seconds(s, 1e6, 2e-6, 1e-10)
        if entry.formula[0].startswith("≤") or set(options) & {"inner", "outer"}:
            assert real <= price * (1 + 1e-12), s
            assert s.ranks < 4 or price <= 5 * real, s
        else:
            assert price == pytest.approx(real, rel=1e-9), s


@pytest.mark.parametrize(
    "name", [name for name, a in ALGORITHMS.items() if a.formula[0].startswith("≤") and "chunks" in a.options]
)
def test_bounds_of_trees_are_tight_for_many_chunks(name):
    entry = ALGORITHMS[name]
    real, price = seconds(entry(16, chunks=500), 1e8, 1e-6, 1e-10), entry.price(16, 1e8, 1e-6, 1e-10, chunks=500)
    assert real * (1 - 1e-12) <= price <= 1.1 * real


def hops(s, network):
    """Cables that the messages cross: two through a switch, one to a switch that reduces; the least and the most of
    all."""
    to_switch = (
        (s.transfers["src"] >= s.ranks) | (s.transfers["dst"] >= s.ranks)
        if s.helpers_on != "host"
        else np.zeros(len(s), bool)
    )
    crossed = np.where(to_switch, 1, 2 if network == "switch" else 1)
    return crossed.min(), crossed.max()


@every_algorithm
def test_closed_form_is_what_lockstep_measures(name):
    entry = ALGORITHMS[name]
    for n in sizes(entry, 17, 2):
        reduces = {"reduces": True} if entry.helpers_on != "host" else {}
        topology = getattr(cs.topology, entry.network)(n, bandwidth=1e10, alpha=1e-6, **reduces)
        s, nbytes = build_schedule(name, n), 2**20 * n * 15
        time = cs.simulate(s, topology, nbytes=nbytes, dtype="int8").time
        least, most = (entry.price(n, nbytes, cables * 1e-6, 1e-10) for cables in hops(s, entry.network))
        assert time <= most * (1 + 1e-4), n  # chunks are whole elements: not every size divides evenly
        assert time >= least * (1 - 1e-4) or entry.formula[0].startswith("≤"), n


@every_algorithm
def test_it_says_what_it_does_in_both_languages(name):
    entry = ALGORITHMS[name]
    assert entry.doc
    assert entry.source
    assert bool(entry.formula[0]) == bool(entry.cost)
    for english, chinese in (entry.summary, entry.when):
        assert english.endswith(".")
        assert not re.search(r"[一-鿿]", english)
        assert re.search(r"[一-鿿]", chinese)
        assert chinese.endswith("。")


@every_algorithm
def test_it_lives_in_a_small_file_of_its_name(name):
    entry = ALGORITHMS[name]
    path = Path(entry.function.__code__.co_filename)
    assert path.stem == name
    assert name.startswith(entry.collective)
    text = path.read_text()
    tree = ast.parse(text)
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)]
    docstrings = sum(node.body[0].end_lineno - node.body[0].lineno + 1 for node in documented)
    assert len(text.splitlines()) - docstrings <= 70


@every_algorithm
def test_relabelling_the_ranks_never_breaks_it(name):
    """Of collectives in which all ranks are alike: allreduce."""
    entry = ALGORITHMS[name]
    if entry.collective != "allreduce":
        return
    for n in sizes(entry, 8, 5):
        s = entry(n)
        label = np.concatenate([np.random.default_rng(n).permutation(n), np.arange(n, s.endpoints)])
        steps = [step.map_to(label, np.arange(s.slots)) for step in s.each_step()]
        cs.verify(freeze(name, "allreduce", n, steps, chunks=s.chunks, helpers=s.endpoints - n))


@every_algorithm
def test_written_out_steps_give_the_same_as_repeated_ones(name):
    entry = ALGORITHMS[name]
    for n in sizes(entry, 6):
        s = build_schedule(name, n)
        out = freeze(
            name, s.collective, n, list(s.each_step()), chunks=s.chunks, slots=s.slots, helpers=s.endpoints - n
        )
        assert all(p.times == 1 for p in out.patterns)
        assert np.array_equal(out.transfers, s.transfers)
        assert str(out).split("\n")[1:] == str(s).split("\n")[1:]
