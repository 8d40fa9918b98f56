"""What the page ``story.js`` computes with: closed forms as the registry claims them, runs, steps of training.

The page multiplies and adds, nothing else: a time on the switch is ``steps * alpha + share * S * beta + added * S *
gamma`` with the three factors that an algorithm claims for each number of ranks. Tests hold that against runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...registry import algorithms, call_claim, schedule
from ...simulate import simulate
from ...topology import machine
from ...topology.generic import switch
from ...train import StepTrace, ddp, training_step
from ..hosts.bundle import read_bundle
from ..hosts.player_page import build_offline_page
from ..hosts.show import require_language
from ..simple.simple_document import count_cards
from ..training.step_document import build_boxes

RANKS = (2, 4, 8, 16, 32, 64, 128)
#: Rings that are small enough to be drawn piece by piece.
DRAWN = (2, 4, 8, 16)
CHANNELS = (1, 2, 4, 8)
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "server": ("allreduce_parameter_server", {"chunks": 1, "server": "rank"}),
    "ring": ("allreduce_ring", {}),
    "halving": ("allreduce_halving_doubling", {}),
}
CARDS_NBYTES = 256 * 2**20
#: Sizes that close a bucket; None is torch's own rule.
BUCKETS = (None, "1MiB", "5MiB", "50MiB", "200MiB")
MODEL, MACHINE, SAMPLES = "resnet50", "pcie-8gpu", 16


@cache
def encode_story() -> str:
    """`build_story_document` as JSON, made once in a process."""
    return json.dumps(build_story_document(), allow_nan=False, separators=(",", ":"))


def build_story_document() -> dict[str, object]:
    """Everything that the page needs, as plain numbers."""
    return {
        "ranks": list(RANKS),
        "costs": {name: _evaluate_costs(*of) for name, of in ALGORITHMS.items()},
        "bytes": [_compare_cables(n) for n in RANKS],
        "rings": {str(n): _list_ring_chunks(n) for n in DRAWN},
        "cards": {"nbytes": CARDS_NBYTES, "channels": [_time_ring_on_cards(channels) for channels in CHANNELS]},
        "training": {
            "model": MODEL,
            "samples": SAMPLES,
            "gpus": 8,
            "steps": [_time_training_step(bucket) for bucket in BUCKETS],
        },
    }


def _evaluate_costs(name: str, options: Mapping[str, object]) -> list[dict[str, float]]:
    """The claimed time for each number of ranks, in units of alpha, of S beta and of S gamma."""
    cost = algorithms()[name].cost
    units = {"steps": {"alpha": 1}, "share": {"S": 1, "beta": 1}, "added": {"S": 1, "gamma": 1}}
    terms_of = {unit: {"S": 0, "alpha": 0, "beta": 0, "gamma": 0, **scale, **options} for unit, scale in units.items()}
    return [{unit: float(call_claim(cost, n, terms)) for unit, terms in terms_of.items()} for n in RANKS]


def _compare_cables(n: int) -> dict[str, float]:
    """What goes over the cable of the server and of another GPU, in gradients, and what twice the bandwidth saves."""
    name, options = ALGORITHMS["server"]
    schedule_of_server, topology = schedule(name, ranks=n, **options), switch(n, bandwidth="25GB/s", alpha="1us")
    with_fast_server, with_fast_workers = topology.with_link("gpu0", "switch0", bandwidth="50GB/s"), topology
    for rank in range(1, n):
        with_fast_workers = with_fast_workers.with_link(f"gpu{rank}", "switch0", bandwidth="50GB/s")
    run, faster_server, faster_others = (
        simulate(schedule_of_server, network, CARDS_NBYTES)
        for network in (topology, with_fast_server, with_fast_workers)
    )
    return {
        "server": int(run.sent_bytes[0]) / CARDS_NBYTES,
        "other": int(run.sent_bytes[1]) / CARDS_NBYTES,
        "saves": 1 - faster_server.time / run.time,
        "rest": 1 - faster_others.time / run.time,
    }


def _list_ring_chunks(n: int) -> list[list[int]]:
    """For each step the chunk that each rank sends to the next."""
    ring = schedule("allreduce_ring", ranks=n)
    sent = [[0] * n for _ in range(ring.steps)]
    for row in ring.transfers:
        sent[int(row["step"])][int(row["src"])] = int(row["chunk"])
    return sent


def _time_ring_on_cards(channels: int) -> dict[str, float]:
    """The ring over two DGX A100 on so many channels: its time, and the cards through which bytes leave a node."""
    topology = machine("dgx-a100", nodes=2)
    run = simulate(schedule("allreduce_ring", topology=topology, channels=channels), topology, CARDS_NBYTES)
    return {"channels": channels, "time": run.time, "cards": count_cards(run)}


def _time_training_step(bucket: str | None) -> dict[str, object]:
    """A step of DDP with such buckets, and the time without overlap."""
    if bucket is None:
        parallel = ddp()
    else:
        parallel = ddp(bucket=bucket)
    step_trace = training_step(MODEL, MACHINE, parallel=parallel, micro_batch=SAMPLES, dtype="bfloat16")
    return {
        "bucket": bucket,
        "buckets": sum(step_trace.step.tasks[i].bucket >= 0 for i in step_trace.step.collectives),
        "time": step_trace.time,
        "exposed": step_trace.exposed,
        "apart": step_trace.what_if(overlap=False).time,
        "boxes": _list_boxes(step_trace),
        "waits": [[float(a), float(b)] for a, b in step_trace.exposed_spans[0]],
    }


def _list_boxes(step_trace: StepTrace) -> list[list[str | int | float]]:
    """Stream, kind, bucket, begin and end of every box of the first lane."""
    return [[b["stream"], b["kind"], b["bucket"], b["t0"], b["t1"]] for b in build_boxes(step_trace) if b["lane"] == 0]


# ---- the module, and the page as a file ------------------------------------------------------------------------------


def build_story_page(language: str = "en", theme: str | None = None) -> str:
    """The story as one HTML file that loads nothing.

    Args:
        language: `en` or `zh`.
        theme: `light`, `dark`, or None for the reader's own setting.

    Raises:
        CollsimError: For an unknown language or theme.
    """
    require_language(language)
    title = ("How GPUs agree on a sum, collsim", "多个 GPU 怎样求同一个和，collsim")[language == "zh"]
    return build_offline_page(
        read_bundle("story_page"), json.loads(encode_story()), title, {"language": language, "theme": theme}
    )
