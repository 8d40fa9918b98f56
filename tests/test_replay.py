"""Replay against numpy: every algorithm, operator, dtype and layout."""

import ml_dtypes
import numpy as np
import pytest
from sampling import cross

import collsim as cs

ALGORITHMS = cs.algorithms()
DTYPES = [
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    np.int8,
    np.int32,
    np.int64,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]
NUMPY = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
NO_REDUCTION = ("broadcast", "allgather", "gather", "scatter", "alltoall", "alltoallv", "dispatch", "sendrecv")


def ranks_for(entry, wanted=5):
    return wanted if entry.ranks is None or entry.ranks(wanted) is None else wanted - 1


def small_numbers(n, elements, dtype):
    """Numbers of which every sum and product over n <= 5 ranks is exact in every dtype: fp8 e5m2 has three significant
    bits."""
    return np.random.default_rng(7).integers(0, 2, (n, elements)).astype(dtype)


def reduced(data, op):
    """What numpy makes of all ranks, in float64 or int64."""
    wide = data.astype(np.int64 if data.dtype.kind in "iu" else np.float64)
    return NUMPY[op].reduce(wide, axis=0).astype(data.dtype)


def cut(elements, n):
    """The elements of each of n blocks: as even as can be, larger ones first."""
    return np.array_split(np.arange(elements), n)


def expected(s, data, op):
    """In place: what every rank's buffer holds afterwards (sendrecv and alltoall: the buffer received)."""
    n, kind, out = s.ranks, s.collective, data.copy()
    total = None if kind in NO_REDUCTION else reduced(data, op)
    blocks = cut(data.shape[1], n)
    if s.shares:
        ends = np.rint(np.cumsum(s.shares) * data.shape[1]).astype(int)
        for chunk, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
            source, target = divmod(chunk // (s.chunks // n**2), n)
            ranks = [target] if kind == "alltoallv" else [(target + i) % n for i in range(chunk % (n + 1))]
            out[ranks, first:last] = data[source, first:last]
        return out
    if kind == "allreduce":
        out[:] = total
    elif kind == "reduce":
        out[s.root] = total
    elif kind == "broadcast":
        out[:] = data[s.root]
    elif kind == "sendrecv":
        out = np.roll(data, 1, axis=0)
    for r, block in enumerate(blocks):
        if kind == "reduce_scatter":
            out[r, block] = total[block]
        elif kind == "allgather":
            out[:, block] = data[r, block]
        elif kind == "gather":
            out[s.root, block] = data[r, block]
        elif kind == "scatter":
            out[r, block] = data[s.root, block]
        elif kind == "alltoall":
            out[:, block] = data[r].reshape(n, -1)
    return out


@pytest.mark.parametrize(("name", "dtype"), cross(ALGORITHMS, DTYPES))
def test_replay_is_what_numpy_says(name, dtype):
    entry = ALGORITHMS[name]
    n = ranks_for(entry)
    s = entry(n, **({"root": n - 2} if "root" in entry.options else {}))
    data = small_numbers(n, 7 * n if s.collective == "alltoall" else 37, dtype)
    for op in NUMPY if s.collective not in NO_REDUCTION else ["sum"]:
        out = cs.replay(s, data, op=op)
        assert out.dtype == data.dtype
        assert np.array_equal(out, expected(s, data, op)), op


@pytest.mark.parametrize("name", [name for name, a in ALGORITHMS.items() if a.collective not in NO_REDUCTION])
def test_avg_scales_floats_first_and_divides_integers_last(name):
    entry = ALGORITHMS[name]
    n = 4  # 1/4 is exact
    s = entry(n)
    whole = np.zeros((n, 20), np.int32)
    whole[1:, :5] = [[9, -9, 6, -6, 1], [-4, 4, 0, 0, 1], [2, -2, -1, 1, 1]]
    mean = np.array([1.75, -1.75, 1.25, -1.25, 0.75])
    first = slice(0, 5)  # rank 0 has the result of these for every collective that reduces; the root is rank 0
    assert np.array_equal(cs.replay(s, whole.astype(np.float32), op="avg")[0, first], mean)
    assert np.array_equal(cs.replay(s, whole, op="avg")[0, first], [1, -1, 1, -1, 0])  # towards zero, as C divides


def test_avg_of_floats_rounds_as_scaling_before_the_sum_does():
    """Three ranks of float16 1.0: 1/3 rounds to 0.33325, three of them add up to 0.9995 in steps of 2^-11."""
    third = np.float16(1 / 3)
    out = cs.replay(cs.schedule("reduce_flat", ranks=3), np.ones((3, 1), np.float16), op="avg")
    assert out[0, 0] == np.float16(np.float16(third + third) + third)


def test_avg_of_int64_does_not_pass_through_float64():
    data = np.full((2, 1), 2**61 + 1, np.int64)
    assert cs.replay(cs.schedule("allreduce_ring", ranks=2), data, op="avg")[0, 0] == 2**61 + 1


@pytest.mark.parametrize("elements", [1, 2, 3, 16, 17, 1000])
def test_sizes_that_do_not_divide_work(elements):
    """Fewer elements than chunks, and odd ones."""
    for name in (
        "allreduce_ring",
        "allreduce_halving_doubling",
        "allgather_ring",
        "reduce_scatter_ring",
        "broadcast_chain",
    ):
        s = cs.schedule(name, ranks=7)
        data = np.random.default_rng(0).integers(0, 9, (7, elements))
        assert np.array_equal(cs.replay(s, data), expected(s, data, "sum")), name


def test_the_order_of_additions_is_the_algorithms():
    """float16, ranks hold 2048, 1, 1, 1: spacing is 2 there, so 2048 + 1 = 2048 (ties to even) while 2048 + (1 + 1 + 1)
    = 2052 or 2050."""
    data = np.array([[2048], [1], [1], [1]], np.float16)
    flat = cs.replay(cs.schedule("reduce_flat", ranks=4), data)[0, 0]
    tree = cs.replay(cs.schedule("reduce_binomial", ranks=4), data)[0, 0]
    assert flat == 2048  # ((2048 + 1) + 1) + 1, each time rounded back
    assert tree == 2050  # (2048 + 1) + ... : 2 from ranks 1 and 3 arrive together
    assert reduced(data, "sum") == 2052  # the true 2051, rounded once


def test_ring_and_tree_round_differently_in_every_small_float():
    for dtype in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        data = np.random.default_rng(3).random((8, 64)).astype(dtype)
        ring = cs.replay(cs.schedule("allreduce_ring", ranks=8), data)
        tree = cs.replay(cs.schedule("allreduce_tree", ranks=8), data)
        assert (ring == ring[0]).all()  # yet all ranks agree: every chunk is summed once, then copied
        assert (tree == tree[0]).all()
        assert not np.array_equal(ring, tree)


def test_one_shot_ranks_may_disagree_in_the_last_bit():
    """Every rank adds its own data first; the ring adds each chunk once and copies it."""
    data = np.random.default_rng(3).random((8, 64)).astype(np.float16)
    out = cs.replay(cs.schedule("allreduce_direct_one_shot", ranks=8), data)
    assert not (out == out[0]).all()
    assert np.allclose(out, out[0], rtol=2**-9)


SHAPES = {  # collective: (elements given, elements returned) per block of 3, out of place, with n ranks
    "allreduce": lambda n: (3 * n, 3 * n),
    "reduce": lambda n: (3 * n, 3 * n),
    "broadcast": lambda n: (3 * n, 3 * n),
    "sendrecv": lambda n: (3 * n, 3 * n),
    "allgather": lambda n: (3, 3 * n),
    "gather": lambda n: (3, 3 * n),
    "reduce_scatter": lambda n: (3 * n, 3),
    "scatter": lambda n: (3 * n, 3),
    "alltoall": lambda n: (3 * n, 3 * n),
}


@pytest.mark.parametrize("name", [name for name, a in ALGORITHMS.items() if a.shares is None])
def test_out_of_place_has_the_shapes_of_nccl_and_the_values_of_in_place(name):
    entry = ALGORITHMS[name]
    n = ranks_for(entry)
    s = entry(n)
    given, returned = SHAPES[s.collective](n)
    send = np.random.default_rng(2).integers(1, 9, (n, given))
    out = cs.replay(s, send, layout="out-of-place")
    assert out.shape == (n, returned)
    whole = send
    if given < returned:  # one block each: in place it lies in its own part of the whole
        whole = np.zeros((n, returned), send.dtype)
        for r in range(n):
            whole[r, 3 * r : 3 * r + 3] = send[r]
    inside = expected(s, whole, "sum")
    if given > returned:
        inside = np.array([inside[r, 3 * r : 3 * r + 3] for r in range(n)])
    holders = [s.root] if s.collective in ("reduce", "gather") else range(n)
    assert np.array_equal(out[list(holders)], inside[list(holders)])
    others = [r for r in range(n) if r not in holders]
    assert not out[others].any()  # what NCCL leaves alone


def test_what_the_collective_says_nothing_of_stays_as_it_was():
    data = np.arange(12).reshape(3, 4)
    out = cs.replay(cs.schedule("reduce_binomial", ranks=3), data)
    assert np.array_equal(out[1:], data[1:])
    assert np.array_equal(data, np.arange(12).reshape(3, 4))  # the given array is never written


@pytest.mark.parametrize(
    ("name", "data", "options", "says"),
    [
        ("allreduce_ring", np.zeros((3, 4)), {}, r"shape \(3, 4\).*\(4, any number\)"),
        ("allreduce_ring", np.zeros(4), {}, r"shape \(4,\)"),
        ("allreduce_ring", np.zeros((4, 2)), {"op": "sun"}, "did you mean 'sum'"),
        ("allreduce_ring", np.zeros((4, 2)), {"layout": "in-place"}, "did you mean 'inplace'"),
        ("allreduce_ring", np.array([["a"]] * 4), {}, "whole numbers and floats"),
        ("allreduce_ring", np.zeros((4, 2), complex), {}, "whole numbers and floats"),
        ("alltoall_pairwise", np.zeros((4, 4)), {"layout": "inplace"}, "no in-place form"),
        ("alltoall_pairwise", np.zeros((4, 5)), {}, "multiple of 4"),
        ("alltoallv_direct", np.zeros((4, 5)), {"layout": "out-of-place"}, "blocks of different sizes"),
        ("reduce_scatter_ring", np.zeros((4, 5)), {"layout": "out-of-place"}, "multiple of 4"),
    ],
)
def test_mistakes_are_sentences(name, data, options, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.replay(cs.schedule(name, ranks=4), data, **options)


def test_no_elements_are_no_error():
    assert cs.replay(cs.schedule("allreduce_ring", ranks=4), np.zeros((4, 0))).shape == (4, 0)
