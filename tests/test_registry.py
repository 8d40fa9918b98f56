"""The registry: names, options and what a learner's own function may get wrong."""

import gc
import inspect
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from sampling import cross

import collsim as cs
from collsim import registry


@pytest.fixture(autouse=True)
def own_algorithms_are_forgotten():
    before = dict(registry._REGISTRY)
    yield
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


def learner(body, n=4, **claims):
    """A learner's function, registered and called."""
    return cs.algorithm("allreduce", name="mine", **claims)(body)(n)


def test_a_function_in_a_cell_is_an_algorithm_like_any_other():
    @cs.algorithm("allreduce", steps=lambda n: 1, sent=lambda n: n - 1)
    def allreduce_gossip(n):
        """Everybody tells everybody."""
        for r in range(1):
            src, dst = np.nonzero(~np.eye(n, dtype=bool))
            yield cs.reduce(src, dst, chunk=r)

    assert cs.algorithms("allreduce")["allreduce_gossip"].doc == "Everybody tells everybody."
    s = cs.schedule("allreduce_gossip", ranks=5)
    assert cs.verify(s) is None
    assert allreduce_gossip(5).label == "allreduce_gossip(5)"
    assert allreduce_gossip.claim("steps", 5) == s.steps


#: No number of ranks, and what is said of it.
BAD_RANKS = [
    (0, "ranks=0 is too small; ranks is at least 1"),
    (-3, "ranks=-3 is too small"),
    (2.5, "ranks=2.5 is not a whole number"),
    ("x", "ranks='x' is not a whole number"),
    (None, "ranks=None"),
    (True, "ranks=True"),
    (float("nan"), "ranks=nan"),
    (float("inf"), "ranks=inf"),
    ([4], "ranks"),
    (2**25, "ranks=33554432 is more than "),
]


@pytest.mark.parametrize(("name", "bad"), cross(cs.algorithms(), BAD_RANKS))
def test_a_bad_number_of_ranks_is_a_sentence_everywhere(name, bad):
    n, says = bad
    with pytest.raises(cs.CollsimError) as caught:
        cs.algorithms()[name](n)
    assert says in str(caught.value)


@pytest.mark.parametrize("n", [4, 4.0, "4", np.int64(4), np.float32(4)])
def test_whole_numbers_of_any_kind_are_ranks(n):
    assert cs.schedule("allreduce_ring", ranks=n).ranks == 4


@pytest.mark.parametrize("name", [name for name, a in cs.algorithms().items() if "root" in a.options])
def test_a_root_out_of_range_is_a_sentence(name):
    for root, says in (
        (4, "root=4 is not a rank; with 4 ranks it is 0 to 3"),
        (-1, "root=-1 is too small"),
        (1.5, "root=1.5 is not a whole"),
    ):
        with pytest.raises(cs.CollsimError) as caught:
            cs.schedule(name, ranks=4, root=root)
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "ranks", "options", "says"),
    [
        ("allreduce_rnig", 4, {}, "unknown algorithm 'allreduce_rnig'; did you mean 'allreduce_ring'"),
        (
            "allreduce_tree",
            4,
            {"chunk": 2},
            r"unknown option of allreduce_tree 'chunk'; did you mean 'chunks'\? \(its options: root, chunks\)",
        ),
        ("allreduce_ring", 4, {"chunks": 2}, "its options: channels, topology"),
        ("broadcast_flat", 4, {"chunks": 2}, "unknown option of broadcast_flat"),
        ("allreduce_tree", 4, {"chunks": 0}, "chunks=0 is too small; chunks is at least 1"),
        ("allreduce_tree", 4, {"chunks": 2.5}, "chunks=2.5 is not a whole number"),
        ("allreduce_parameter_server", 4, {"server": "hepler"}, "did you mean 'helper'"),
        (
            "allreduce_sharded_parameter_server",
            4,
            {"servers": 5},
            "servers=5 do not fit on 4 ranks; use at most 4, or server='helper'",
        ),
        ("allreduce_sharded_parameter_server", 4, {"servers": 0}, "servers=0 is too small"),
        ("allreduce_swing", 6, {}, "ranks=6: it needs a power of two; the nearest are 4 and 8"),
        ("allgather_neighbour_exchange", 5, {}, "it needs an even number; use 4 or 6, or allgather_ring"),
        ("allreduce_torus_ring", 6, {"dims": "4x4"}, r"allreduce_torus_ring\(6\): dims='4x4' do not make 6 ranks"),
        ("allreduce_torus_ring", 6, {"dims": "axb"}, "dims='axb' do not make 6 ranks; write for example"),
        ("allreduce_torus_ring", 6, {"dims": 7}, "dims=7 do not make 6 ranks"),
        ("allreduce_torus_ring", 6, {"dims": (-2, -3)}, "do not make 6 ranks"),
        ("allreduce_torus_ring", 6, {"all_ports": 1}, "all_ports=1 must be True or False"),
        ("broadcast_knomial", 6, {"radix": 1}, "radix=1 makes no tree"),
        ("allreduce_hierarchical", 6, {"outer": "rng"}, "did you mean 'ring'"),
        ("allreduce_ring", None, {}, r"say how many ranks \(ranks=8\), or give a topology"),
        ("allreduce_ring", 9, {"topology": cs.topology.ring(8)}, "9 ranks do not fit on"),
    ],
)
def test_wrong_calls_are_sentences(name, ranks, options, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.schedule(name, ranks=ranks, **options)


def test_ranks_may_be_left_out_where_a_topology_says_it():
    assert cs.schedule("allreduce_ring", topology=cs.topology.ring(6)).ranks == 6


def test_a_none_default_may_be_given_back():
    assert cs.schedule("allreduce_sharded_parameter_server", ranks=4, servers=None).chunks == 4


# What a careless student writes.


def test_division_with_a_slash_is_told_with_the_way_out():
    def body(n):
        yield cs.reduce(0, 1, chunk=n / 2)

    with pytest.raises(
        cs.ScheduleError,
        match=r"mine\(4\) at line \d+ of test_registry.py: chunk must be whole numbers.*use // instead of /",
    ):
        learner(body)


def test_a_function_without_yield_is_told():
    def body(n):
        cs.reduce(0, 1, 0)

    with pytest.raises(cs.ScheduleError, match=r"mine\(4\) returned None; it must yield its steps"):
        learner(body)


def test_a_function_that_returns_one_step_or_a_list_is_understood():
    assert learner(lambda n: cs.reduce(0, 1, 0)).steps == 1
    assert learner(lambda n: [cs.reduce(0, 1, 0), cs.copy(1, 0, 0)]).steps == 2


@pytest.mark.parametrize("wrong", [5, "copy", object])
def test_a_function_that_returns_something_else_is_told(wrong):
    with pytest.raises(cs.ScheduleError, match="it must yield its steps"):
        learner(lambda n: wrong)


def test_a_bare_yield_is_told():
    def body(n):
        yield

    with pytest.raises(cs.ScheduleError, match=r"mine\(4\) yields None; a step is made with"):
        learner(body)


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("no"),
        KeyError("x"),
        RuntimeError("no"),
        AssertionError("no"),
        RecursionError("no"),
        NameError("no"),
    ],
)
def test_errors_inside_the_function_carry_its_own_line(error):
    def body(n):
        yield cs.reduce(0, 1, 0)
        raise error

    line = body.__code__.co_firstlineno + 2
    with pytest.raises(
        cs.ScheduleError, match=rf"mine\(4\) failed at line {line} of test_registry.py: {type(error).__name__}"
    ) as caught:
        learner(body)
    assert caught.value.__cause__ is error


def test_an_index_out_of_range_names_the_step():
    def body(n):
        yield cs.reduce(0, 1, 0)
        yield cs.reduce(0, n, 0)

    with pytest.raises(
        cs.ScheduleError, match=r"mine\(4\), step 2: .*dst=4 does not exist; ranks are 0 to 3"
    ) as caught:
        learner(body)
    assert caught.value.step == 1


def test_a_chunk_beyond_the_promised_ones_is_scratch_not_result():
    def body(n):
        yield cs.copy(0, 1, chunk=0, into=1)

    s = learner(body, chunks=lambda n: 1)
    assert (s.chunks, s.slots) == (1, 2)


def test_a_claim_that_fails_is_told():
    with pytest.raises(cs.CollsimError, match="mine: its chunks= fails for n = 4: ZeroDivisionError"):
        learner(lambda n: cs.reduce(0, 1, 0), chunks=lambda n: n / 0)
    mine = cs.algorithm("allreduce", name="mine", cost=lambda n, K: K[0])(lambda n: cs.reduce(0, 1, 0))
    with pytest.raises(cs.CollsimError, match="its cost= fails for n = 2: TypeError"):
        mine.price(2, 1e6, 1e-6, 1e-9)


def test_an_option_needs_a_default():
    with pytest.raises(cs.CollsimError, match="option 'root' needs a default, for example root=1"):

        @cs.algorithm("broadcast")
        def broadcast_mine(n, root):
            yield cs.copy(root, 0, 0)


def test_a_function_without_ranks_is_refused():
    with pytest.raises(cs.CollsimError, match=r"must take the number of ranks: def f\(n\)"):

        @cs.algorithm("broadcast")
        def f():
            yield cs.copy(0, 1, 0)


def test_an_unknown_collective_is_refused_at_once():
    with pytest.raises(cs.CollsimError, match="did you mean 'allreduce'"):
        cs.algorithm("allreduced")


def test_options_know_their_kind():
    @cs.algorithm("allreduce")
    def allreduce_of_options(
        n,
        root=0,
        chunks=1,
        servers: int | None = None,
        fast=False,
        how: Literal["a", "b"] = "a",
        dims=None,
        topology=None,
    ):
        yield cs.reduce(0, 1, 0)

    kinds = {name: option.kind for name, option in allreduce_of_options.options.items()}
    assert kinds == {
        "root": "root",
        "chunks": "count",
        "servers": "count",
        "fast": "flag",
        "how": "choice",
        "dims": "other",
        "topology": "topology",
    }


def test_loading_a_file_gives_its_algorithm(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(
        'import collsim as cs\n@cs.algorithm("reduce")\ndef reduce_mine(n, root=0):\n    yield cs.reduce(range(1, n), '
        "0, 0)\n"
    )
    assert cs.load(str(path))(3).steps == 1
    assert cs.load(f"{path}:reduce_mine")(3).collective == "reduce"
    with pytest.raises(cs.CollsimError, match="did you mean 'reduce_mine'"):
        cs.load(f"{path}:reduce_mein")
    path.write_text("1 / 0\n")
    with pytest.raises(cs.CollsimError, match="fails to load: ZeroDivisionError"):
        cs.load(str(path))
    with pytest.raises(cs.CollsimError, match="no file"):
        cs.load(str(tmp_path / "nothing.py"))


def test_a_price_names_what_it_needs():
    """Ring, n = 4, 1 MB at 1 us and 10 GB/s: 6 * 1 us + 1.5 * 100 us; with gamma 0.1 ns a byte 0.75 * 100 us more."""
    ring = cs.algorithms()["allreduce_ring"]
    assert ring.price(4, 1e6, 1e-6, 1e-10) == pytest.approx(156e-6)
    assert ring.price(4, 1e6, 1e-6, 1e-10, gamma=1e-10) == pytest.approx(231e-6)
    assert cs.algorithm("reduce")(lambda n: cs.reduce(0, 1, 0)).price(4, 1, 1, 1) is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.schedule("allreduce_ring", 4, topology=5), "wants a topology, got 5"),
        (
            lambda: cs.schedule("allreduce_ring", topology="ring"),
            "topology 'ring': missing a required argument: 'ranks'",
        ),
        (lambda: cs.algorithms()["allreduce_ring"](4, topology=5), "wants a topology, got 5"),
        (lambda: cs.schedule(["allreduce_ring"], 4), "unknown algorithm"),
        (lambda: cs.algorithms(5), "unknown collective 5"),
        (lambda: cs.verify("allreduce_ring"), "'allreduce_ring' is not a schedule; make one with"),
        (lambda: cs.replay(None, [[1]]), "None is not a schedule"),
        (lambda: cs.replay(cs.schedule("allreduce_ring", 2), [[1, 2], [3]]), "rows of different lengths"),
        (lambda: cs.schedule("allreduce_ring", 2).by_rank("x"), "there is no rank 'x'; ranks are 0 to 1"),
        (
            lambda: cs.schedule("allreduce_tree", 2, chunks=10**9),
            "chunks=1000000000 for 2 ranks is too many; use at most 32,768",
        ),
        (
            lambda: cs.schedule("allreduce_ring", 2**20, channels=100),
            "channels=100 for 1048576 ranks is too many; use at most 64",
        ),
        (lambda: cs.schedule("alltoall_direct", 5000), "ranks=5000 is more than 4,096"),
        (lambda: cs.steps.repeat(5, 2, 1, 2), "repeat wants a step"),
        (lambda: cs.steps.repeat(cs.copy(0, 1, 0), 2.5, 1, 2), r"times=2\.5.*all three are whole numbers"),
    ],
)
def test_what_nobody_should_write_is_a_sentence_too(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


@pytest.mark.parametrize("phases", ["push", ("push",), ("push", 1), ("", "pull")])
def test_phases_are_two_names(phases):
    with pytest.raises(cs.CollsimError, match=r"phases=.*the part that adds and of the part that copies"):
        cs.algorithm("allreduce", phases=phases)


def test_the_algorithm_of_a_schedule_is_found_by_name_and_collective():
    ring = cs.schedule("allreduce_ring", ranks=4)
    assert registry.find_schedule_algorithm(ring).name == "allreduce_ring"
    assert registry.find_schedule_algorithm(replace(ring, name="mine")) is None
    assert registry.find_schedule_algorithm(replace(ring, collective="broadcast")) is None


def test_who_takes_the_name_of_ours_before_it_was_asked_for_keeps_it():
    code = """
import collsim as cs

@cs.algorithm("broadcast")
def broadcast_flat(n):
    yield cs.copy(0, range(1, n), chunk=0)

mine = broadcast_flat
print(cs.algorithms()["broadcast_flat"] is mine, cs.schedule("broadcast_flat", 4).name, len(cs.algorithms()))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    files = list((Path(registry.__file__).parent / "algorithms").glob("[a-z]*.py"))
    assert said == ["True", "broadcast_flat", str(len(files))]


# ---- how long a name lasts


def once(name="passing", collective="allreduce"):
    return cs.algorithm(collective, name=name)(lambda n: cs.copy(0, 1, chunk=0))


def test_an_algorithm_is_registered_as_long_as_somebody_holds_it():
    held = once()
    assert cs.algorithms()["passing"] is held
    del held
    assert "passing" not in cs.algorithms()
    with pytest.raises(cs.CollsimError, match="algorithm 'passing' is no longer registered: its block"):
        cs.schedule("passing", ranks=4)


def test_a_list_of_the_algorithms_lasts_while_another_thread_registers():
    held = []

    class Meanwhile:
        """A reference that is asked for what it refers to while somebody registers."""

        key = "meanwhile"

        def __call__(self):
            held.append(once(f"passing{len(held)}"))

    first = once()
    users = registry._REGISTRY._users.data
    users["meanwhile"] = Meanwhile()
    try:
        assert cs.algorithms()["passing"] is first
        assert held
    finally:
        del users["meanwhile"]


def test_a_later_definition_takes_the_name_and_outlives_the_first():
    first = once()
    second = once()
    assert registry.get_algorithm("passing") is second
    del first
    assert registry.get_algorithm("passing") is second


def test_a_name_of_collsims_own_is_back_when_the_users_is_gone():
    own = registry.get_algorithm("allreduce_ring")
    mine = once("allreduce_ring")
    assert registry.get_algorithm("allreduce_ring") is mine
    del mine
    assert registry.get_algorithm("allreduce_ring") is own


def test_a_module_holds_its_algorithms_until_it_is_gone(tmp_path):
    (tmp_path / "held.py").write_text(
        "import collsim as cs\n@cs.algorithm('reduce')\ndef held(n):\n    yield cs.reduce(range(1, n), 0, 0)\n"
    )
    registry.load_algorithm(str(tmp_path / "held.py"))
    assert "held" in cs.algorithms()
    registry.load_algorithm(str(tmp_path / "held.py"))
    assert "held" in cs.algorithms(), "loaded again, its module takes the place of the first"
    del sys.modules["collsim_loaded_held"]
    gc.collect()
    assert "held" not in cs.algorithms()


def test_a_block_registers_what_it_names_and_what_it_defines_and_then_forgets_both():
    outer = once("outer")
    before = cs.algorithms()
    mine, ring = once("mine"), once("allreduce_ring")
    with cs.registered(mine, ring):
        other = once("other")
        replaced = once("outer")
        assert {"mine", "other", "outer"} <= cs.algorithms().keys()
        assert cs.algorithms()["allreduce_ring"] is ring
        assert cs.algorithms()["outer"] is replaced
        with cs.registered(outer):
            assert cs.algorithms()["outer"] is outer
        assert cs.algorithms()["outer"] is replaced
    assert cs.algorithms() == before
    assert cs.algorithms()["outer"] is outer
    assert (mine.name, other.name) == ("mine", "other"), "still there by themselves"
    assert cs.algorithms().keys().isdisjoint({"mine", "other"})


def test_a_block_that_fails_forgets_too():
    mine = once("mine")
    with pytest.raises(RuntimeError), cs.registered(mine):
        raise RuntimeError
    assert "mine" not in cs.algorithms()


def test_only_algorithms_are_registered():
    with pytest.raises(cs.CollsimError, match="give what @algorithm returned"), cs.registered(lambda n: None):
        pass


def test_what_is_imported_for_the_first_time_in_a_block_stays():
    code = """
import collsim as cs
mine = cs.algorithm("allreduce", name="mine")(lambda n: cs.copy(0, 1, chunk=0))
with cs.registered(mine):
    cs.schedule("allreduce_tree", ranks=4)
print("mine" in cs.algorithms(), cs.schedule("allreduce_tree", ranks=4).ranks)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["False", "4"]


def test_an_algorithm_has_its_pattern_without_the_collective():
    assert cs.algorithms()["allreduce_double_binary_tree"].pattern == "double_binary_tree"
    mine = cs.algorithm("allreduce", name="ring_of_mine")(lambda n: iter(()))
    assert mine.pattern == "ring_of_mine"


def test_an_algorithm_reads_as_the_function_that_it_was():
    @cs.algorithm("broadcast", name="star")
    def send_to_all(n: int, root: int = 0):
        """Send everything to everybody.

        The root does it.
        """
        yield cs.copy(root, [rank for rank in range(n) if rank != root], chunk=0)

    assert send_to_all.__name__ == "send_to_all"
    assert send_to_all.__qualname__.endswith("<locals>.send_to_all")
    assert send_to_all.__module__ == __name__
    assert send_to_all.__doc__.startswith("Send everything to everybody.\n")
    assert str(inspect.signature(send_to_all)) == "(n: int, root: int = 0)"
    assert "yield cs.copy(root" in inspect.getsource(send_to_all)
    ring = cs.algorithms()["allreduce_ring"]
    assert (ring.__name__, ring.__module__) == ("allreduce_ring", "collsim.algorithms.allreduce_ring")
    assert next(iter(inspect.signature(ring).parameters)) == "n"
    assert ring.__doc__ == ring.doc == "Reduce-scatter around the ring, then allgather around the ring."
    assert replace(send_to_all, source="here").__doc__ == send_to_all.__doc__


def test_a_thread_that_leaves_its_block_takes_nothing_from_another():
    """Two blocks overlap in time; each thread finds its own algorithm of one name, and nothing is left of either."""
    opened, closed = threading.Barrier(2), threading.Event()
    first, second, alone = once("mine"), once("mine"), once("alone")
    found = {}

    def run(entry, others, is_first):
        with cs.registered(entry, *others):
            opened.wait(60)
            found[entry] = [cs.algorithms()["mine"]]
            if not is_first:
                assert closed.wait(60)
            found[entry] += [cs.algorithms()["mine"], "alone" in cs.algorithms()]
        closed.set()

    threads = [
        threading.Thread(target=run, args=(first, (), True)),
        threading.Thread(target=run, args=(second, (alone,), False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[first][:2] == [first, first]
    assert found[second] == [second, second, True]
    assert cs.algorithms().keys().isdisjoint({"mine", "alone"})


def test_a_block_within_another_of_the_same_algorithm_leaves_it_to_the_outer_one():
    mine = once("mine")
    with cs.registered(mine):
        with cs.registered(mine):
            assert cs.algorithms()["mine"] is mine
        assert cs.algorithms()["mine"] is mine
    assert "mine" not in cs.algorithms()


def test_an_algorithm_of_the_package_in_a_block_takes_its_name_from_that_of_a_user():
    ring = cs.algorithms()["allreduce_ring"]
    mine = once("allreduce_ring")
    with cs.registered(ring):
        assert cs.algorithms()["allreduce_ring"] is ring
        assert registry.is_made_by_package(ring(4))
    assert cs.algorithms()["allreduce_ring"] is mine


@pytest.mark.parametrize(
    "claims",
    [
        {"source": 3},
        {"network": None},
        {"name": ["mine"]},
        {"says": "a plain text"},
        {"says": 3},
        {"when": ()},
        {"when": ("always", 3)},
        {"formula": ["x"] * 9},
        {"formula": 2.5},
    ],
)
def test_texts_of_an_algorithm_are_texts(claims):
    (what,) = claims
    with pytest.raises(cs.CollsimError, match=rf"{what}=.*{what}="):
        cs.algorithm("allreduce", **claims)
