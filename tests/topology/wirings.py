"""Wirings as nvidia-smi prints them, invented, and how the tests read and time them."""

import warnings

import collsim as cs
from collsim.topology import parse_topology_text

# `pcie-8gpu` as nvidia-smi would print it: pairs under switches, two switches at each socket, a card at two of them.
PCIE_8GPU = """
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tPIX\tSYS\t0-39\t0
GPU1\tPIX\t X \tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tPIX\tSYS\t0-39\t0
GPU2\tNODE\tNODE\t X \tPIX\tSYS\tSYS\tSYS\tSYS\tNODE\tSYS\t0-39\t0
GPU3\tNODE\tNODE\tPIX\t X \tSYS\tSYS\tSYS\tSYS\tNODE\tSYS\t0-39\t0
GPU4\tSYS\tSYS\tSYS\tSYS\t X \tPIX\tNODE\tNODE\tSYS\tPIX\t40-79\t1
GPU5\tSYS\tSYS\tSYS\tSYS\tPIX\t X \tNODE\tNODE\tSYS\tPIX\t40-79\t1
GPU6\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\t X \tPIX\tSYS\tNODE\t40-79\t1
GPU7\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\tPIX\t X \tSYS\tNODE\t40-79\t1
NIC0\tPIX\tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tNODE\tNODE\tSYS\t X
"""


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_topology_text(text, "topo.txt", **options)


def ring(machine, nbytes="1GiB"):
    return cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, nbytes).time
