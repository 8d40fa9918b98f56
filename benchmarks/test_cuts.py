"""How long the bound of a large machine takes: maximum flows to every one of 512 ranks."""

import pytest

import collsim as cs

CASES = {
    "64 DGX H100": lambda: cs.machine("dgx-h100", nodes=64),
    "64 DGX A100, leaf-spine 2:1": lambda: cs.machine("dgx-a100", nodes=64, fabric="leaf-spine", oversubscription=2),
    "torus 8 x 8 x 8": lambda: cs.topology.torus(8, 8, 8),
}


@pytest.mark.parametrize("name", CASES)
def test_bound_of_512_ranks(benchmark, name):
    cs.lower_bound("allgather", cs.topology.ring(4), 8)  # loads the compiler
    topologies = iter([CASES[name]() for _ in range(4)])  # a topology remembers its bound
    bound = benchmark.pedantic(lambda: cs.lower_bound("allgather", next(topologies), "1GiB"), rounds=4)
    assert bound.cut is not None
