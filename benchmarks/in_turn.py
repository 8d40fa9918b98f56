"""The event engine of two source trees in turn, each run in a process of its own: `python benchmarks/in_turn.py BEFORE
NOW [rounds [case ...]]`. Prints the processor time in s of two runs in each process, for the first also gets its memory
from the system, and whether both trees give the same times."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time

CASES = ("switch", "fat tree", "jitter", "queue", "fifo", "order", "incast", "large", "compile")


def flows(topo, hosts=1024):
    """Sixteen random flows per host, of 1 to 64 MiB."""
    import numpy as np

    from collsim.simulate import simulate_flows

    rng = np.random.default_rng(1)
    src = np.repeat(np.arange(hosts), 16)
    dst = (src + rng.integers(1, hosts, len(src))) % hosts
    nbytes = rng.integers(2**20, 2**26, len(src))
    return lambda: simulate_flows(topo, src, dst, nbytes).finish.sum()


def collective(name, ranks, nbytes=2**26, **options):
    import collsim as cs

    s, topo = cs.schedule(name, ranks), cs.topology.switch(ranks, bandwidth="25GB/s", alpha="1us")
    return lambda: cs.simulate(s, topo, nbytes, engine="event", **options).time


def run(case):
    """Processor times in s of two runs, after one of a few transfers that loads the kernels; and what they answer."""
    import collsim as cs

    start = process_time()
    collective("alltoall_direct", 4, jitter="1us")()
    if case == "compile":
        return [process_time() - start], 0.0
    work = {
        "switch": lambda: flows(cs.topology.switch(1024, bandwidth="25GB/s", alpha="1us")),
        "fat tree": lambda: flows(cs.topology.fat_tree(16, bandwidth="25GB/s", alpha="1us")),
        "jitter": lambda: collective("allreduce_ring", 1024, jitter="1us", shortcuts=False),
        "queue": lambda: collective("allreduce_ring", 1024, shortcuts=False),
        "fifo": lambda: collective("allreduce_ring", 1024, sharing="fifo", shortcuts=False),
        "order": lambda: collective("allreduce_ring", 1024, 2**26 + 4),
        "large": lambda: collective("allreduce_ring", 4096, 2**26 + 4, shortcuts=False),
        "incast": lambda: collective("allreduce_parameter_server", 4096, jitter="1us"),
    }[case]()
    seconds = []
    for _ in range(2):
        start = process_time()
        answer = work()
        seconds.append(process_time() - start)
    return seconds, float(answer)


def measure_case(tree, case, cache):
    """One case in a new interpreter that imports `tree`; for `compile` its cache of kernels is empty."""
    env = os.environ | {"PYTHONPATH": tree}
    if case == "compile":
        env["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, __file__, "--run", case], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    from tempfile import TemporaryDirectory

    trees = [str(Path(tree).resolve()) for tree in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    for case in sys.argv[4:] or CASES:
        for _ in range(rounds):
            with TemporaryDirectory() as a, TemporaryDirectory() as b:
                (before, was), (now, new) = (
                    measure_case(tree, case, cache) for tree, cache in zip(trees, (a, b), strict=True)
                )
            same = abs(was - new) <= 1e-9 * abs(was)
            before_text, other = (" and ".join(f"{s:.3f}" for s in seconds) for seconds in (before, now))
            print(f"{case}: {before_text} s, now {other} s, {'same' if same else 'DIFFERENT'} answer", flush=True)


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[2]))) if sys.argv[1] == "--run" else main()
