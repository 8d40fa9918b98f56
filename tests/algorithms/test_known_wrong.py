"""What others get wrong, right here. Each test names the mistake."""

import numpy as np
import pytest

import collsim as cs

NBYTES = 2**20 * 64 * 3


def time(name, topology, nbytes=NBYTES, **options):
    return cs.simulate(cs.schedule(name, topology=topology, **options), topology, nbytes=nbytes, dtype="int8").time


def sent(name, n, **options):
    """Bytes that each endpoint sends, in buffers."""
    s = cs.schedule(name, ranks=n, **options)
    t = s.transfers[s.transfers["src"] != s.transfers["dst"]]
    return np.bincount(t["src"], minlength=s.endpoints) / s.chunks


@pytest.mark.parametrize("n", [2, 3, 8, 33])
def test_ring_reduce_scatter_takes_n_minus_1_steps_not_n(n):
    """NCCL_Simgrid loops n times."""
    assert cs.schedule("reduce_scatter_ring", ranks=n).steps == n - 1


@pytest.mark.parametrize("n", [2, 3, 8, 33])
def test_ring_allreduce_takes_2n_minus_2_steps_not_2n_minus_1(n):
    """Open MPI's comment above its ring says 2N-1; NCCL has 2n-1 primitive calls, but 2(n-1) messages."""
    assert cs.schedule("allreduce_ring", ranks=n).steps == 2 * (n - 1)


def test_alpha_is_paid_at_every_step_not_once():
    """Eight bytes over 16 ranks: 2 * 15 steps, each across two cables of 1 us."""
    switch = cs.topology.switch(16, bandwidth=1e12, alpha=1e-6)
    assert time("allreduce_ring", switch, nbytes=16) == pytest.approx(2 * 15 * 2e-6, rel=1e-4)


def test_a_double_add_is_not_an_allreduce():
    """A checker of booleans, as SCCL's, ORs contributions: here every rank has 'seen' every rank, rank 0 twice."""
    s = cs.schedule("allreduce_recursive_doubling", ranks=4)
    steps = [*s.each_step(), cs.reduce(0, 1, chunk=0)]
    wrong = cs.algorithm("allreduce", name="allreduce_twice")(lambda n: iter(steps))
    try:
        with pytest.raises(
            cs.ScheduleError, match=r"rank 1 has chunk 0 = 2·r0 \+ 2·r1 \+ 2·r2 \+ 2·r3, but allreduce wants"
        ):
            cs.verify(wrong(4))
    finally:
        from collsim import registry

        del registry._REGISTRY["allreduce_twice"]


@pytest.mark.parametrize("n", [2, 4, 7, 16])
def test_a_co_located_sharded_parameter_server_moves_what_the_ring_moves(n):
    """Not 'always worse': 2K(N-1)/N per rank, in two steps."""
    assert sent("allreduce_sharded_parameter_server", n) == pytest.approx(sent("allreduce_ring", n))
    assert sent("allreduce_sharded_parameter_server", n) == pytest.approx(np.full(n, 2 * (n - 1) / n))


def test_a_sharded_parameter_server_beats_the_ring_on_a_good_switch():
    switch = cs.topology.switch(16, bandwidth=1e10, alpha=1e-5)
    assert time("allreduce_sharded_parameter_server", switch) < time("allreduce_ring", switch)


def test_as_many_extra_servers_as_workers_halve_the_workers_traffic():
    """BytePS: S out and S in for a worker, whatever n; the ring's 2S(n-1)/n tends to twice that."""
    load = sent("allreduce_sharded_parameter_server", 16, server="helper")
    assert load == pytest.approx(np.ones(32))


def test_a_single_parameter_server_is_its_link():
    """n-1 buffers in and n-1 out through one port: time 2(n-1)S*beta, not 2S*beta."""
    switch = cs.topology.switch(8, bandwidth=1e10, alpha=0)
    assert time("allreduce_parameter_server", switch) == pytest.approx(2 * 7 * NBYTES / 1e10)


def test_a_pipelined_tree_does_not_lose_to_the_ring_at_every_large_size():
    """64 ranks, 192 MiB: in 256 chunks the double binary tree moves about 2S as the ring does, with a fraction of its
    alpha."""
    switch = cs.topology.switch(64, bandwidth=1e10, alpha=2e-5)
    ring = time("allreduce_ring", switch)
    unpipelined = time("allreduce_double_binary_tree", switch, chunks=1)
    pipelined = time("allreduce_double_binary_tree", switch, chunks=256)
    assert unpipelined > ring  # the mistake
    assert pipelined < 1.2 * ring
    assert time("allreduce_double_binary_tree", switch, nbytes=2**22, chunks=32) < time(
        "allreduce_ring", switch, nbytes=2**22
    )


def test_a_ring_sends_2_n_minus_1_over_n_one_way_and_receives_as_much():
    """The volume is of one direction; each rank's cable carries it out and as much in, a total of 2(n-1)S over all
    links."""
    n = 8
    ring = cs.topology.ring(n, bandwidth=1e10, alpha=0)
    t = cs.simulate(cs.schedule("allreduce_ring", ranks=n), ring, nbytes=NBYTES, dtype="int8")
    forward = (ring.links.dst - ring.links.src) % n == 1
    assert t.link_bytes[forward] == pytest.approx(np.full(n, 2 * (n - 1) / n * NBYTES))
    assert not t.link_bytes[~forward].any()
    assert t.link_bytes.sum() == pytest.approx(2 * (n - 1) * NBYTES)


def test_full_duplex_does_not_double_a_one_way_ring():
    """It already sends and receives at once; the other way round needs a second ring with half of the data."""
    ring = cs.topology.ring(8, bandwidth=1e10, alpha=0)
    assert time("allreduce_ring", ring) == pytest.approx(2 * 7 / 8 * NBYTES / 1e10)
    assert time("allreduce_ring_bidirectional", ring) == pytest.approx(7 / 8 * NBYTES / 1e10)


@pytest.mark.parametrize("n", [3, 5, 6, 7, 12])
def test_log_step_algorithms_exist_for_every_n_and_cost_more(n):
    """Recursive doubling +2 steps; Rabenseifner +3 and 2.5 to 3.5 buffers sent by some rank instead of less than 2."""
    assert cs.schedule("allreduce_recursive_doubling", ranks=n).steps == n.bit_length() - 1 + 2
    assert cs.schedule("allreduce_halving_doubling", ranks=n).steps == 2 * (n.bit_length() - 1) + 3
    assert 2.5 <= sent("allreduce_halving_doubling", n).max() <= 3.5


@pytest.mark.parametrize(("n", "buffers"), [(3, 2.5), (5, 3.0), (6, 3.0), (7, 3.0), (12, 3.25)])
def test_rabenseifner_with_the_fold_sends_what_open_mpi_sends(n, buffers):
    assert sent("allreduce_halving_doubling", n).max() == buffers


def test_recursive_doubling_is_optimal_in_steps_not_in_bytes():
    assert sent("allreduce_recursive_doubling", 16).max() == 4  # lg n buffers
    assert sent("allreduce_halving_doubling", 16).max() == 2 * 15 / 16


def test_data_parallel_serves_one_gpu_after_another():
    """GPU 0 receives n-1 buffers and sends n-1, and nothing overlaps: 2(n-1)(alpha + S beta)."""
    switch = cs.topology.switch(8, bandwidth=1e10, alpha=1e-6)
    assert time("allreduce_data_parallel", switch) == pytest.approx(14 * (2e-6 + NBYTES / 1e10))


def test_bruck_alltoall_is_for_small_messages_only():
    switch = cs.topology.switch(16, bandwidth=1e10, alpha=1e-6)
    assert time("alltoall_bruck", switch, nbytes=16 * 64) < time("alltoall_pairwise", switch, nbytes=16 * 64)
    assert time("alltoall_bruck", switch) > time("alltoall_pairwise", switch)


def test_two_level_allreduce_by_reduce_and_broadcast_would_use_one_nic():
    """Scatter first, and every GPU's NIC carries S/g; through a leader one NIC would carry it all."""
    s = cs.schedule("allreduce_hierarchical", ranks=16, per_node=8)
    t = s.transfers
    across = t[t["src"] // 8 != t["dst"] // 8]
    assert set(across["src"].tolist()) == set(range(16))


def test_busbw_is_no_link_rate_where_the_switch_reduces():
    """A GPU of a DGX H100 has 450 GB/s each way; the ring stays below, NVLS goes above: S(1 + 1/n) per link, not
    2S(n-1)/n."""
    node = cs.machine("dgx-h100")
    ring = cs.simulate(cs.schedule("allreduce_ring", topology=node), node, nbytes="1GiB")
    nvls = cs.simulate(cs.schedule("allreduce_nvls", topology=node, chunks=16), node, nbytes="1GiB")
    assert ring.busbw < 450e9 < nvls.busbw < 450e9 * 14 / 9


def test_a_parameter_server_on_a_host_pays_for_incast_and_a_switch_that_reduces_does_not():
    """The same two steps of the same schedule; what differs is the device the helper sits on."""
    network = cs.topology.switch(8, bandwidth=1e10, alpha=0, reduces=True)
    assert time("allreduce_parameter_server", network, server="helper") == pytest.approx(2 * 8 * NBYTES / 1e10)
    assert time("allreduce_sharp", network) == pytest.approx(2 * NBYTES / 1e10)
