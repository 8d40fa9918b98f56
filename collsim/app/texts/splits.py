"""Words of the page on splits, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.split": ("One model on a thousand GPUs", "一个模型，一千个 GPU"),
    "split.below": (
        "Where the groups of a split stand, what they send over which links, and every legal split beside it.",
        "一种划分的各组在哪里、经由哪些链路发送多少，以及所有合法的划分。",
    ),
    "split.batch": ("Samples of a step", "每步样本数"),
    "split.memory": ("Memory of a GPU", "每个 GPU 的显存"),
    "split.memory.own": ("its own", "按 GPU 自身"),
    "split.split": ("Split", "划分"),
    "split.micro": ("Microbatch", "微批的样本数"),
    "split.recompute": ("Recompute", "重算"),
    "split.samples": ("{count} samples", "{count} 个样本"),
    "split.mfu": ("model FLOPs, bf16 dense", "模型 FLOPs，bf16 稠密"),
    "split.bubble": ("Idle", "空闲"),
    "split.bubble.note": ("neither computes nor sends", "既不计算也不发送"),
    "split.head": ("Computing {computing}, waiting for the network {exposed}", "计算 {computing}，等待网络 {exposed}"),
    "split.end": (".", "。"),
    "split.rest": (
        "Idle {bubble}: the pipeline's bubble, and stages that wait for one another. On average over GPUs.",
        "空闲 {bubble}：流水线的气泡，以及阶段之间的相互等待。为各 GPU 的平均值。",
    ),
    "split.over": (
        "{why} What is shown is what it would be, had GPUs the memory.",
        "{why} 下面显示的是假如显存足够时的情形。",
    ),
    "split.of": ("of {room}, fullest GPU", "共 {room}，占用最多的 GPU"),
}
