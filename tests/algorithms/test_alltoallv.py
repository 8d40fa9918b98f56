"""alltoallv: sizes of pairs as given, bytes and times worked out by hand, and refusals."""

import numpy as np
import pytest

import collsim as cs
from collsim.collective import build_pair_shares


def test_sizes_of_pairs_worked_out_by_hand():
    """Rank 0 has 1 and 3 bytes for ranks 0 and 1, rank 1 has 4 and 2: ten bytes in all."""
    table = [[1, 3], [4, 2]]
    s = cs.schedule("alltoallv_direct", ranks=2, amounts=table)
    assert np.allclose(s.shares, [0.1, 0.3, 0.4, 0.2])
    out = cs.replay(s, [[1, 2, 3, 4, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 5, 6, 7, 8, 9, 9]])
    assert out[1, 1:4].tolist() == [2, 3, 4]  # from rank 0
    assert out[0, 4:8].tolist() == [5, 6, 7, 8]  # from rank 1
    assert cs.schedule("alltoallv_direct", ranks=2, amounts="1,3;4,2").shares == s.shares
    cs.verify(s)


def test_shares_of_a_load():
    """Of 1 + 1/2 + 1/3 the first of three receives 6/11; where one is hot, 4/6; each rank sends a third of all."""
    zipf = np.reshape(build_pair_shares(3, "zipf"), (3, 3))
    assert np.allclose(zipf.sum(axis=0), [6 / 11, 3 / 11, 2 / 11])
    assert np.allclose(zipf.sum(axis=1), 1 / 3)
    assert np.allclose(np.reshape(build_pair_shares(3, "hot"), (3, 3)).sum(axis=0), [4 / 6, 1 / 6, 1 / 6])
    assert build_pair_shares(3, "zipf", [1, 1, 1]) == build_pair_shares(3, "even")


def test_the_rank_that_receives_most_decides_the_time():
    """Four ranks send 4 MB each; rank 0 receives 4/7 of that of each other: 3 x 4 x 4/7 MB at 10 GB/s."""
    network = cs.topology.switch(4, bandwidth="10GB/s", alpha=0)
    hot = cs.simulate(cs.schedule("alltoallv_direct", ranks=4, load="hot"), network, "16MB")
    even = cs.simulate(cs.schedule("alltoallv_direct", ranks=4, load="even"), network, "16MB")
    plain = cs.simulate(cs.schedule("alltoall_direct", ranks=4), network, "4MB")
    assert hot.time == pytest.approx(3 * 4e6 * 4 / 7 / 10e9, rel=1e-4)
    assert hot.bound.time == pytest.approx(hot.time, rel=1e-4)
    assert even.time == pytest.approx(plain.time, rel=1e-4)
    assert even.busbw == pytest.approx(plain.busbw, rel=1e-4)


def test_each_node_must_receive_what_is_for_it():
    """Two nodes of eight: rank 0 alone is sent to, half of all from the other node, over eight cards of 50 GB/s."""
    box = cs.machine("dgx-h100", nodes=2)
    s = cs.schedule("alltoallv_direct", ranks=16, amounts=[1] + 15 * [0])
    bound = cs.simulate(s, box, "16MB").bound
    rails = 8 * 50e9
    assert bound.cut.nbytes in (pytest.approx(8e6), pytest.approx(15e6))
    assert bound.time >= 8e6 / rails * 0.999


@pytest.mark.parametrize("sizes", ["1,2", [1, 2], [[1, 2, 3]], "a,b,c", [1, -1, 1], [0, 0, 0], 7, [float("nan")] * 3])
def test_sizes_that_make_no_sense_are_sentences(sizes):
    with pytest.raises(cs.CollsimError, match="what each of 3 ranks receives"):
        cs.schedule("alltoallv_direct", ranks=3, amounts=sizes)
