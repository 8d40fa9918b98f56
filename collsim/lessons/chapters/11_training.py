"""One step of training: buckets of gradients go out while the backward pass goes on, and what of that is hidden."""

from __future__ import annotations

from ...topology import Topology, switch
from ...train import StepTrace, ddp, model, training_step
from ...units import format_bytes, format_time, parse_bytes
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch, simulate_algorithm

_SMALL, _MIDDLE = "1MiB", "50MiB"


def _build_network() -> Topology:
    """One slow switch."""
    return switch(16, bandwidth="3GB/s", alpha="50us")


def _simulate_step(**options: object) -> StepTrace:
    """ResNet-50 on 16 GPUs of one slow switch."""
    split = ddp(**options)  # type: ignore[arg-type]
    return training_step("resnet50", _build_network(), parallel=split, micro_batch=32, compute="A100")


def _build_training_facts() -> LessonFacts:
    plain_step = _simulate_step()
    small = _simulate_step(bucket=_SMALL)
    middle = _simulate_step(bucket=_MIDDLE)
    late = _simulate_step(overlap=False)
    first = plain_step.what_if(first_step=True)
    latency = simulate_algorithm("allreduce_ring", _build_network(), "16B").time
    sizes = ddp().list_bucket_bytes(model("resnet50"))
    return build_facts(
        simulate_algorithm("allreduce_ring", build_switch(), f"{sizes[0]}B"),
        ring=simulate_algorithm("allreduce_ring", build_switch(), f"{sizes[0]}B"),
        gpus=plain_step.step.ranks,
        gradients=format_bytes(model("resnet50").nbytes),
        buckets=len(sizes),
        bucket=format_bytes(sizes[0]),
        usual=format_time(plain_step.time),
        exposed=format_time(plain_step.exposed),
        hidden=f"{100 * plain_step.overlapped:.3g}",
        small=format_time(small.time),
        many=(many := len(ddp(bucket=_SMALL).list_bucket_bytes(model("resnet50")))),
        latency=format_time(latency),
        latencies=format_time(many * latency),
        fewer=len(ddp(bucket=_MIDDLE).list_bucket_bytes(model("resnet50"))),
        small_cap=format_bytes(parse_bytes(_SMALL)),
        middle=format_time(middle.time),
        middle_cap=format_bytes(parse_bytes(_MIDDLE)),
        late=format_time(late.time),
        first=format_time(first.time),
    )


LESSON = Lesson(
    notebook="11-one-step-of-training",
    exercises=("bucket-size", "synchronise-less"),
    sections=(Section("training", _build_training_facts, right=2, view="logical"),),
)
