"""One step of training: buckets of gradients go out while the backward pass goes on, and what of that is hidden."""

from __future__ import annotations

from ...topology import switch
from ...train import StepTrace, ddp, model, training_step
from ...units import format_bytes, format_time, parse_bytes
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, simulate_algorithm

_SMALL, _MIDDLE = "1MiB", "50MiB"


def _simulate_step(**options: object) -> StepTrace:
    """ResNet-50 on 16 GPUs of one slow switch."""
    network = switch(16, bandwidth="3GB/s", alpha="50us")
    split = ddp(**options)  # type: ignore[arg-type]
    return training_step("resnet50", network, parallel=split, micro_batch=32, compute="A100")


def _build_training_facts() -> RunFacts:
    usual = _simulate_step()
    small = _simulate_step(bucket=_SMALL)
    middle = _simulate_step(bucket=_MIDDLE)
    late = _simulate_step(overlap=False)
    first = usual.what_if(first_step=True)
    sizes = ddp().list_bucket_bytes(model("resnet50"))
    return build_facts(
        simulate_algorithm("allreduce_ring", build_switch(), f"{sizes[0]}B"),
        ring=simulate_algorithm("allreduce_ring", build_switch(), f"{sizes[0]}B"),
        gpus=usual.step.ranks,
        gradients=format_bytes(model("resnet50").nbytes),
        buckets=len(sizes),
        bucket=format_bytes(sizes[0]),
        usual=format_time(usual.time),
        exposed=format_time(usual.exposed),
        hidden=f"{100 * usual.overlapped:.3g}",
        small=format_time(small.time),
        many=len(ddp(bucket=_SMALL).list_bucket_bytes(model("resnet50"))),
        small_cap=format_bytes(parse_bytes(_SMALL)),
        middle=format_time(middle.time),
        middle_cap=format_bytes(parse_bytes(_MIDDLE)),
        late=format_time(late.time),
        first=format_time(first.time),
    )


LESSON = Lesson(
    title=("One step of training", "训练的一步"),
    notebook="11-one-step-of-training",
    exercises=("bucket-size", "synchronise-less"),
    sections=(
        Section(
            "training",
            _build_training_facts,
            before=(
                (
                    "DistributedDataParallel reduces gradients in buckets while the backward pass goes on. ResNet-50 "
                    "has {gradients} of gradients; PyTorch makes {buckets} buckets of them. The picture shows what "
                    "becomes of the first one, {bucket}, on one switch: a ring, {ring.time}.",
                    "DistributedDataParallel 在反向传播进行的同时按桶归约梯度。ResNet-50 有 {gradients} "
                    "的梯度，PyTorch 把它们分成 {buckets} 个桶。图中是第一个桶（{bucket}）在一台交换机"
                    "上的 ring：{ring.time}。",
                ),
                (
                    "On {gpus} GPUs behind slow cables a step takes {usual}. {hidden} % of the communication runs "
                    "beside computing; for {exposed} the GPUs wait.",
                    "{gpus} 块 GPU、线缆较慢时，一步需要 {usual}。通信的 {hidden} % 与计算同时进行；其余 {exposed} "
                    "里 GPU 在等待。",
                ),
            ),
            ask=(
                "Buckets of {small_cap} start earlier, {many} of them. How long does the step take then?",
                "把桶改成 {small_cap}，它们开始得更早，共 {many} 个。这样一步需要多久？",
            ),
            choices=(
                choice(
                    "{middle}",
                    (
                        "That is what buckets of {middle_cap} take.",
                        "那是桶为 {middle_cap} 时的时间。",
                    ),
                ),
                choice(
                    "{usual}",
                    ("As if only the bytes counted: they are the same.", "好像只有字节才重要：字节确实一样多。"),
                ),
                choice(
                    "{small}",
                    ("Each of them pays the latency of a whole ring.", "每个桶都要付一整圈 ring 的延迟。"),
                ),
                choice(
                    "{late}",
                    (
                        "That is the step without any overlap, with the usual buckets.",
                        "那是用通常的桶、完全没有重叠的一步。",
                    ),
                ),
            ),
            right=2,
            explanation=(
                "Buckets go out in order, one at a time, so that latencies add up: {many} rings in a row.",
                "桶按顺序一次发一个，延迟会累加：{many} 个 ring 接连进行。",
            ),
            after=(
                (
                    "With {middle_cap} the step takes {middle}. Without overlap it would take {late}. The first step "
                    "of a run has one bucket, because the order of the gradients is not known yet: {first}.",
                    "桶为 {middle_cap} 时一步需要 {middle}。没有重叠则需要 {late}。一次训练的第一步只有一个桶，因为还不"
                    "知道梯度的就绪顺序：{first}。",
                ),
            ),
            view="logical",
        ),
    ),
)
