"""Prediction against simulation on random requests: machines of the catalogue with other parts, sizes of 1 MiB to 4 GiB,
subsets of their GPUs, and NCCL's settings. `python benchmarks/prediction_campaign.py 400` prints each request whose two
times differ by more than the interval says and by no term with a name, and a summary. `400 7 uneven` has the seed 7,
and nodes with different numbers of ranks alone.

The bytes on the links are what both count: the simulation without latency and pieces (`measure_simulation_terms`), and
the prediction without its terms (`compute_stated_time`). With its terms added a simulation must lie in the interval. Of
smaller calls the bytes are nothing; what a simulation waits for at each step is in `nccl.explain_difference`. Nodes with
different numbers of ranks are counted apart: their rings are those of the topology, as NCCL's search is of equal nodes.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import Any

import collsim as cs
from collsim.nccl.difference import compute_stated_time, compute_terms
from collsim.nccl.nccl_prediction import Prediction
from collsim.nccl.predicted_schedule import measure_simulation_terms, predict_and_simulate

MACHINES = [name for name in cs.machines() if not name.startswith(("cpu-", "tpu-"))]
CARDS = ("ib-ndr", "ib-hdr", "ib-edr", "roce-100", "roce-25", "tcp-10", "tcp-100", "efa-100", "slingshot")
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv")
SIZES = (2**20, 2**22, 2**24, 2**26, 2**28, 2**30, 2**32)
#: Both count the same bytes to this factor; beyond, one of them is wrong.
SAME = 1.2


def draw_machine(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A machine of the catalogue with other parts."""
    name = rng.choice(MACHINES)
    options: dict[str, Any] = {"nodes": rng.choice([1, 1, 2, 2, 3, 4])}
    if "nvl" in name:
        return name, {"nodes": 1}
    choices: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
        ("p2p", 0.3, (False, "NVL", "PIX", "PXB", "SYS")),
        ("gdr", 0.3, (False, "PIX", "PHB")),
        ("placement", 0.2, ("round-robin",)),
        ("pcie", 0.2, (3, 4, 5)),
        ("gpus", 0.3, (1, 2, 4, 8)),
    )
    if options["nodes"] > 1:
        choices += (
            ("nic", 0.5, CARDS),
            ("fabric", 0.4, ("rail", "leaf-spine", "fat-tree")),
            ("nics", 0.2, (1, 2, 3, 4, 5)),
        )
    options |= {option: rng.choice(values) for option, share, values in choices if rng.random() < share}
    return name, options


def draw_settings(rng: random.Random, ranks: int, nodes: int) -> dict[str, Any]:
    """NCCL's settings, and which GPUs take part: so many, or the same of each node."""
    choices: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
        ("NCCL_ALGO", 0.25, ("Ring", "Ring,Tree", "^NVLS,NVLSTree", "^Ring")),
        ("NCCL_PROTO", 0.2, ("LL", "LL128", "Simple")),
        ("NCCL_P2P_DISABLE", 0.15, (1,)),
        ("NCCL_P2P_LEVEL", 0.1, ("NVL", "PIX", "PXB", "SYS")),
        ("NCCL_SHM_DISABLE", 0.1, (1,)),
        ("NCCL_NET_GDR_LEVEL", 0.15, ("LOC", "PIX", "PHB", "SYS")),
        ("NCCL_MAX_NCHANNELS", 0.2, (1, 2, 4, 8)),
        ("NCCL_CROSS_NIC", 0.2, (0, 1, 2)),
        ("NCCL_NVLS_ENABLE", 0.1, (0,)),
        ("NCCL_PAT_ENABLE", 0.1, (0, 1)),
        ("launch", 0.3, ("one process", "process per gpu", "graph")),
        ("version", 0.2, ("2.18", "2.20", "2.23", "2.27")),
    )
    settings = {option: rng.choice(values) for option, share, values in choices if rng.random() < share}
    local = ranks // nodes
    if ranks > 2 and rng.random() < 0.4:
        gpus = sorted(rng.sample(range(local), rng.randrange(1 + (nodes == 1), local + 1)))
        numbers = [node * local + gpu for node in range(nodes) for gpu in gpus]
        settings["ranks"] = rng.choice([numbers, len(numbers), rng.randrange(2, ranks + 1)])
    return settings


def judge(prediction: Prediction, trace: cs.Trace) -> tuple[list[str], str]:
    """What is wrong with a prediction, and the figures behind it."""
    assert prediction.call is not None
    verdicts, run = [], f"{prediction.algorithm} {prediction.protocol}, {prediction.time:.3g} s"
    on_links = trace.time - sum(measure_simulation_terms(trace).values())
    stated, terms = compute_stated_time(prediction.call), compute_terms(prediction.call)
    if not prediction.low <= on_links + sum(terms.values()) <= prediction.high:
        verdicts.append("outside")
    if not 1 / SAME <= on_links / stated <= SAME and abs(on_links - stated) > (SAME - 1) * prediction.time:
        verdicts.append("bytes")
    return verdicts, f"{run}, bytes simulated {on_links:.3g}, predicted {stated:.3g}, ratio {on_links / stated:.2f}"


def run(count: int, seed: int, is_uneven: bool) -> None:
    """Draw and judge requests, and print those that differ; `is_uneven`: on nodes with different numbers of ranks."""
    rng, seen = random.Random(seed), Counter[str]()
    while seen["timed"] < count:
        name, options = draw_machine(rng)
        collective, nbytes = rng.choice(COLLECTIVES), rng.choice(SIZES)
        settings: dict[str, Any] = {}
        try:
            machine = cs.machine(name, **options)
            settings = draw_settings(rng, machine.ranks, options["nodes"])
            if is_uneven:
                uneven = [ranks for ranks in range(options["nodes"] + 1, machine.ranks) if ranks % options["nodes"]]
                if not uneven:
                    continue
                settings["ranks"] = rng.choice(uneven)
            prediction, trace = predict_and_simulate(collective, machine, nbytes, **settings)
        except cs.CollsimError as error:
            seen["refused"] += 1
            print("refused", (name, options, collective, nbytes, settings), str(error)[:160], sep=" | ", flush=True)
            continue
        if prediction.call is None:
            continue
        seen["timed"] += 1
        verdicts, figures = judge(prediction, trace)
        if verdicts and prediction.facts.ranks % prediction.facts.nodes:
            verdicts = ["uneven"]
        for verdict in verdicts or ["agree"]:
            seen[verdict] += 1
        if verdicts:
            request = (name, options, collective, nbytes, settings)
            print(*verdicts, request, figures, sep=" | ", flush=True)
    print(dict(seen))


if __name__ == "__main__":
    start = time.process_time()
    run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, "uneven" in sys.argv)
    print(f"{time.process_time() - start:.0f} s of processor time")
