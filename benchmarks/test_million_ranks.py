"""1,048,576 ranks (131,072 DGX H100 on a fat tree) in lockstep: `python -m pytest benchmarks -s`.

Counts and memory are asserted, seconds and GiB printed. Each run has a process of its own, so that its peak of memory is its own. The
goal is 10 s and 4 GiB for everything: the topology, the schedule and the run.
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
begin, marks = time.process_time(), []
topology = cs.machine("dgx-h100", nodes=nodes, fabric="fat-tree")
marks.append(time.process_time())
schedule = cs.schedule(name, ranks=topology.ranks)
marks.append(time.process_time())
trace = cs.simulate(schedule, topology, "64MiB")
marks.append(time.process_time())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
sent = int(trace.sent_bytes.sum())
gpu = topology.devices.kind == 0
left, arrived = (int(trace.link_bytes[gpu[side]].sum()) for side in (topology.links.src, topology.links.dst))
print(json.dumps({"ranks": topology.ranks, "transfers": len(schedule), "steps": schedule.steps, "seconds": [m - begin for m in marks],
                  "peak": peak, "time": trace.time, "sent": sent, "left": left, "arrived": arrived}))
"""


def run(name, nodes=NODES):
    done = subprocess.run([sys.executable, "-c", RUN, name, str(nodes)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    topology, schedule, whole = found["seconds"]
    parts = f"topology {topology:.1f} s, schedule {schedule - topology:.1f} s, lockstep {whole - schedule:.1f} s"
    print(f"\n{name}, {found['ranks']:,} ranks: {whole:.1f} s of processor time ({parts}), {found['peak'] / GIB:.2f} GiB")
    return found


# (transfers, steps, buffers of 64 MiB sent in all): the ring sends 2(n-1) of them, doubling one per rank and step, a broadcast n-1
MILLION = {
    "allreduce_ring": (2 * (RANKS - 1) * RANKS, 2 * (RANKS - 1), 2 * (RANKS - 1)),
    "allreduce_recursive_doubling": (20 * RANKS, 20, 20 * RANKS),
    "broadcast_binomial": (RANKS - 1, 20, RANKS - 1),
}


@pytest.mark.parametrize("name", MILLION)
def test_a_million_ranks(name):
    found = run(name)
    assert (found["transfers"], found["steps"], found["sent"] // (64 * MIB)) == MILLION[name]
    assert found["left"] == found["arrived"] == found["sent"]  # no GPU is passed through
    assert found["peak"] < 4 * GIB


def test_halving_and_doubling_of_as_many_ranks_as_it_allows():
    """Every transfer of a piece is a row: n² of them in each half, 33.5 million for 4,096 ranks; more are refused."""
    found = run("allreduce_halving_doubling", nodes=512)
    n = 4096
    assert (found["transfers"], found["steps"]) == (2 * n * (n - 1), 24)
    assert found["sent"] == 2 * (n - 1) * 64 * MIB
    assert found["peak"] < 4 * GIB
