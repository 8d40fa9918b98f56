"""A hundred hash seeds: routes, times and flows on the cables of each, topologies included."""

import collsim as cs


def test_a_hundred_seeds_of_an_alltoall_on_64_hosts(benchmark):
    network = cs.machine("dgx-h100", nodes=64, gpus=1, fabric="leaf-spine", radix=16)
    alltoall = cs.schedule("alltoall_pairwise", ranks=64)
    compared = benchmark(cs.analysis.compare_routing, alltoall, network, "64MiB", routings=["ecmp"], seeds=100)
    assert len(compared["ecmp"].times) == 100


def test_a_hundred_seeds_of_a_ring_on_256_gpus(benchmark):
    network = cs.machine("dgx-h100", nodes=32, fabric="leaf-spine")
    ring = cs.schedule("allreduce_ring", topology=network)
    compared = benchmark(cs.analysis.compare_routing, ring, network, "256MiB", routings=["ecmp"], seeds=100)
    assert len(compared["ecmp"].times) == 100
