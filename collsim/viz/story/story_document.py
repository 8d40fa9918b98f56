"""What the page ``story.js`` computes with: closed forms as the registry claims them, runs, steps of training.

The page multiplies and adds, nothing else: a time on the switch is ``steps * alpha + share * K * beta + added * K *
gamma`` with the three factors that an algorithm claims for each number of ranks. Tests hold that against runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ...registry import algorithms, call_claim, schedule
from ...simulate import simulate
from ...topology import machine
from ...topology.generic import switch
from ...train import StepTrace, ddp, training_step
from ...units import parse_bandwidth, parse_bytes, parse_time
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


@dataclass(frozen=True)
class StoryNumbers:
    """The numbers that a reader can change, as an address writes them, and the ones that the story begins with.

    Attributes:
        n: Ranks of the first chapters.
        more: Ranks of a larger server.
        far: Ranks of a larger ring.
        many: Ranks of the chapter on latency.
        size: The buffer.
        small: The buffer of the chapter on latency.
        rate: Bandwidth of a cable.
        alpha: Latency of a step.
        gamma: How fast a GPU adds; `free`: in no time.
        channels: Rings over two nodes.
        bucket: Size that closes a bucket of gradients; `torch`: by the rule of torch.
    """

    n: str = "8"
    more: str = "16"
    far: str = "128"
    many: str = "64"
    size: str = "256MiB"
    small: str = "1MiB"
    rate: str = "25GB/s"
    alpha: str = "2us"
    gamma: str = "free"
    channels: str = "8"
    bucket: str = "torch"


_RANK_TEXTS = tuple(map(str, RANKS))
#: What each number can be, in the order of the slider.
NUMBERS: dict[str, tuple[str, ...]] = {
    "n": _RANK_TEXTS,
    "more": _RANK_TEXTS,
    "far": _RANK_TEXTS,
    "many": _RANK_TEXTS,
    "size": ("1MiB", "4MiB", "16MiB", "64MiB", "256MiB", "1GiB"),
    "small": ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB"),
    "rate": ("6.25GB/s", "12.5GB/s", "25GB/s", "50GB/s", "100GB/s"),
    "alpha": ("0.5us", "1us", "2us", "5us", "10us", "20us"),
    "gamma": ("free", "2000GB/s", "500GB/s", "100GB/s", "25GB/s"),
    "channels": tuple(map(str, CHANNELS)),
    "bucket": tuple(bucket or "torch" for bucket in BUCKETS),
}


def evaluate_number(name: str, text: str) -> float:
    """The value that the page computes with: bytes, seconds, bytes per second, or the place of a bucket in its list.

    Args:
        name: Name of the number.
        text: One of its texts in `NUMBERS`.
    """
    if name in ("size", "small"):
        return parse_bytes(text)
    if name == "rate":
        return parse_bandwidth(text)
    if name == "alpha":
        return parse_time(text)
    if name == "gamma":  # seconds per byte
        return 0.0 if text == "free" else 1 / parse_bandwidth(text)
    if name == "bucket":
        return NUMBERS[name].index(text)
    return int(text)


@cache
def encode_story() -> str:
    """`build_story_document` as JSON, made once in a process."""
    return json.dumps(build_story_document(), allow_nan=False, separators=(",", ":"))


def build_story_document() -> dict[str, object]:
    """Everything that the page needs, as plain numbers."""
    return {
        "ranks": list(RANKS),
        "numbers": {name: [evaluate_number(name, text) for text in texts] for name, texts in NUMBERS.items()},
        "start": {name: evaluate_number(name, text) for name, text in asdict(StoryNumbers()).items()},
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
    """The claimed time for each number of ranks, in units of alpha, of K beta and of K gamma."""
    cost = algorithms()[name].cost
    units = {"steps": {"alpha": 1}, "share": {"K": 1, "beta": 1}, "added": {"K": 1, "gamma": 1}}
    terms_of = {unit: {"K": 0, "alpha": 0, "beta": 0, "gamma": 0, **scale, **options} for unit, scale in units.items()}
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
