"""Words of the pages on pipelines and on sharding, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.pipeline": ("Pipelines on one clock", "同一时钟下的流水线"),
    "pipeline.below": (
        "The same passes in the orders that libraries publish; each figure stands beside its formula.",
        "相同的前向与反向，按各库公布的顺序执行；每个数字旁边是它的公式。",
    ),
    "pipeline.stages": ("GPUs (p)", "GPU 数 (p)"),
    "pipeline.microbatches": ("Microbatches (m)", "微批数 (m)"),
    "pipeline.ratio": ("B ÷ F", "B ÷ F"),
    "pipeline.ratio.help": (
        "How long a backward pass takes, in forward passes; in halves I and W where a schedule splits it.",
        "一次反向用时是前向的几倍；调度把它拆开时，分成相等的 I 与 W。",
    ),
    "pipeline.hop": ("Hop", "跳 (hop)"),
    "pipeline.hop.help": (
        "From one GPU to the next, in forward passes of a microbatch.",
        "从一个 GPU 到下一个的用时，以一个微批的前向为单位。",
    ),
    "pipeline.interleave": ("Thin stages (v)", "薄阶段 (v)"),
    "pipeline.schedules": ("Schedules", "调度"),
    "pipeline.none": ("Choose at least one schedule.", "请至少选择一种调度。"),
    "pipeline.failed": ("{name} cannot run: {why}", "{name} 无法运行：{why}"),
    "pipeline.unit": (
        "number in a box = microbatch; unit of time = forward of one microbatch through one GPU (F = 1, B = {ratio})",
        "方框中的数字 = 微批；时间单位 = 一个微批在一个 GPU 上的前向（F = 1，B = {ratio}）",
    ),
    "pipeline.gpipe": ("GPipe", "GPipe"),
    "pipeline.1f1b": ("1F1B", "1F1B"),
    "pipeline.interleaved": ("Interleaved", "交错 1F1B"),
    "pipeline.zero-bubble": ("Zero bubble", "零气泡"),
    "pipeline.zbv": ("ZBV", "ZBV"),
    "pipeline.dualpipe-v": ("DualPipe-V", "DualPipe-V"),
    "pipeline.gpipe.note": ("all forward, then all backward", "先全部前向，再全部反向"),
    "pipeline.1f1b.note": ("one forward, one backward in turn", "一次前向、一次反向轮流"),
    "pipeline.interleaved.note": (
        "{v} thin stages per GPU, {v} × the hops",
        "每个 GPU {v} 个薄阶段，hop 为 {v} 倍",
    ),
    "pipeline.zero-bubble.note": (
        "weight gradients (W) fill the waits, v = {v}",
        "用权重梯度 (W) 填补等待，v = {v}",
    ),
    "pipeline.zbv.note": (
        "there and back: a GPU has the first and the last stage of a V",
        "去而复返：每个 GPU 持有 V 形两端的阶段",
    ),
    "pipeline.dualpipe-v.note": (
        "forward and backward of two microbatches overlap",
        "两个微批的前向与反向相互重叠",
    ),
    "pipeline.says.memory": (
        "1F1B does not shrink GPipe's bubble ({share}), it shrinks its memory: GPU 0 holds {a} microbatches, not {b}.",
        "1F1B 并不缩小 GPipe 的气泡（{share}），缩小的是显存：GPU 0 持有 {a} 个微批，而不是 {b} 个。",
    ),
    "pipeline.says.hops": (
        "1F1B holds {a} microbatches on GPU 0, not {b}; with hops it takes {more} more than GPipe, since each round "
        "trip is paid for again.",
        "1F1B 在 GPU 0 上持有 {a} 个微批，而不是 {b} 个；有 hop 时它比 GPipe 多用 {more}，因为每次往返都要再付一次。",
    ),
    "pipeline.says.thin": (
        "{v} thin stages per GPU make the bubble {share}, for {v} times the hops.",
        "每个 GPU {v} 个薄阶段使气泡变为 {share}，代价是 {v} 倍的 hop。",
    ),
    "pipeline.says.zero": (
        "Zero bubble fills waits with W, work that no other stage waits for: {share} is left.",
        "零气泡用没有其他阶段等待的 W 填补等待：剩下 {share}。",
    ),
    "pipeline.says.twice": (
        "{m} microbatches would make GPipe's bubble {b} instead of {a}.",
        "{m} 个微批会使 GPipe 的气泡从 {a} 变为 {b}。",
    ),
    "pipeline.code": (
        "Megatron-LM has 1F1B and interleaved stages; the others are torch's.",
        "Megatron-LM 有 1F1B 与交错阶段；其余是 torch 的。",
    ),
}
TEXTS |= {
    "page.sharding": ("The water level of FSDP", "FSDP 的水位"),
    "sharding.below": (
        "One step, its weights sharded over all GPUs: a block is gathered, computes, and is given back.",
        "一步训练，权重分片到所有 GPU：一个块被收集、计算、再释放。",
    ),
    "sharding.on": ("Prefetch on", "预取"),
    "sharding.off": ("Prefetch off", "不预取"),
    "sharding.keep": ("No reshard", "不重新分片"),
    "sharding.on.note": ("gather the next block while this one computes", "计算当前块时收集下一个块"),
    "sharding.off.note": ("a block is gathered only when it is needed", "需要时才收集一个块"),
    "sharding.keep.note": (
        "what forward gathers stays for backward (ZeRO-2's traffic)",
        "前向收集的权重留给反向用（通信量同 ZeRO-2）",
    ),
    "sharding.failed": ("{name} cannot run: {why}", "{name} 无法运行：{why}"),
    "sharding.says.prefetch": ("Prefetch saves {saves} of {of}.", "预取在 {of} 中省下 {saves}。"),
    "sharding.says.level": (
        "Each gather runs under the block before it, and {exposed} stay exposed; the level rises to {on} instead of "
        "{off}.",
        "每次收集都在前一个块的计算之下进行，仍暴露 {exposed}；水位升到 {on}，而不是 {off}。",
    ),
    "sharding.says.keep": (
        "Without resharding the second gather falls away ({keep} sent by each GPU instead of {on}), and the level "
        "rises to {level}.",
        "不重新分片就省去第二次收集（每个 GPU 发送 {keep} 而不是 {on}），水位升到 {level}。",
    ),
}
