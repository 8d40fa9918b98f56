"""1,048,576 ranks (131,072 DGX H100 on a fat tree) in lockstep: `python -m pytest benchmarks -s`.

Counts and memory are asserted, seconds (of processor time, and on the wall) and GiB printed. Each run has a process of
its own, so that its peak of memory is its own. The goal is 10 s and 4 GiB for everything: the topology, the schedule
and the run.
"""

import json
import subprocess
import sys

import pytest

NODES, RANKS = 131_072, 1_048_576
MIB, GIB = 2**20, 2**30
RUN = """
import json, resource, sys, time
import collsim as cs
name, nodes = sys.argv[1], int(sys.argv[2])
begin, wall, marks = time.process_time(), time.perf_counter(), []
topology = cs.machine("dgx-h100", nodes=nodes, fabric="fat-tree")
marks.append(time.process_time())
schedule = cs.schedule(name, ranks=topology.ranks)
marks.append(time.process_time())
trace = cs.simulate(schedule, topology, "64MiB")
marks.append(time.process_time())
wall = time.perf_counter() - wall
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
sent = int(trace.sent_bytes.sum())
gpu = topology.devices.kind == 0
left, arrived = (int(trace.link_bytes[gpu[side]].sum()) for side in (topology.links.src, topology.links.dst))
print(json.dumps({"ranks": topology.ranks, "transfers": len(schedule), "steps": schedule.steps, "wall": wall,
                  "seconds": [m - begin for m in marks], "peak": peak, "time": trace.time, "sent": sent, "left": left, "arrived": arrived}))
"""


def run(name):
    done = subprocess.run([sys.executable, "-c", RUN, name, str(NODES)], check=True, capture_output=True, text=True)
    record = json.loads(done.stdout)
    topology, schedule, whole = record["seconds"]
    parts = f"topology {topology:.1f} s, schedule {schedule - topology:.1f} s, lockstep {whole - schedule:.1f} s"
    print(
        f"\n{name}: {whole:.1f} s of processor time ({parts}), {record['wall']:.1f} s on the wall, "
        f"{record['peak'] / GIB:.2f} GiB"
    )
    return record


# (transfers, steps, buffers of 64 MiB sent in all): ring and halving send 2(n-1) of them, doubling one per rank and
# step, a broadcast n-1
MILLION = {
    "allreduce_ring": (2 * (RANKS - 1) * RANKS, 2 * (RANKS - 1), 2 * (RANKS - 1)),
    "allreduce_recursive_doubling": (20 * RANKS, 20, 20 * RANKS),
    "allreduce_halving_doubling": (2 * RANKS * (RANKS - 1), 40, 2 * (RANKS - 1)),
    "broadcast_binomial": (RANKS - 1, 20, RANKS - 1),
}


@pytest.mark.parametrize("name", MILLION)
def test_a_million_ranks(name):
    record = run(name)
    assert (record["transfers"], record["steps"], record["sent"] // (64 * MIB)) == MILLION[name]
    assert record["left"] == record["arrived"] == record["sent"]  # no GPU is passed through
    assert record["peak"] < 4 * GIB


TOPOLOGY = """
import json, resource, sys, time
import collsim as cs
begin, wall = time.process_time(), time.perf_counter()
topology = cs.machine("dgx-h100", nodes=int(sys.argv[1]), fabric="fat-tree")
route = topology.routes([0, 0], [1, topology.ranks - 1]).hops.tolist()
print(json.dumps({"ranks": topology.ranks, "devices": len(topology.devices), "links": len(topology.links), "route": route,
                  "seconds": time.process_time() - begin, "wall": time.perf_counter() - wall,
                  "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def test_the_topology_alone():
    """Goal: 2 s and 2 GiB. A GPU reaches its neighbour over two NVLinks; the farthest GPU over PCIe, card, three layers
    and back."""
    done = subprocess.run([sys.executable, "-c", TOPOLOGY, str(NODES)], check=True, capture_output=True, text=True)
    record = json.loads(done.stdout)
    print(
        f"\n{record['links']:,} links: {record['seconds']:.2f} s of processor time, {record['wall']:.2f} s, "
        f"{record['peak'] / GIB:.2f} GiB"
    )
    assert (record["ranks"], record["links"], record["route"]) == (RANKS, 15_471_232, [2, 10])
    assert record["peak"] < 2 * GIB
