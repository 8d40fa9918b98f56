"""The story, chapter by chapter: why gradients are averaged, who carries what, what it costs, and on which cables.

A chapter is a run, a text and a question about it. Chapters that the static site tells as well take its text. Every
number is read from a run; the facts of the last chapter are those of PyTorch 2.13 (docs/source/distributed.md,
distributed_c10d.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import collsim as cs
from collsim.teach.language import Text
from collsim.teach.questions.question import Alternative, Question
from collsim.units import format_bandwidth, format_bytes, format_time
from collsim.verify import contributions
from collsim.viz.sentences.causes import bottleneck

from . import short


@dataclass(frozen=True, eq=False)
class Chapter:
    """One page of the story.

    Attributes:
        before, after: paragraphs above the question, and those that would give its answer away.
        table: rows of cells, the first one the heads; shown after the answer.
    """

    title: Text
    trace: cs.Trace
    before: tuple[Text, ...]
    question: Question
    after: tuple[Text, ...] = ()
    view: str = "physical"
    table: tuple[tuple[Text, ...], ...] = ()


def _ask(ask: Text, why: Text, *choices: tuple[Text, Text], right: int) -> Question:
    return Question(
        "choice", "lesson", ask, why, right, choices=tuple(Alternative(text, reason) for text, reason in choices)
    )


def _same(text: str) -> Text:
    return text, text


def _switch(ranks: int) -> cs.Topology:
    made: cs.Topology = cs.topology.switch(ranks, bandwidth="25GB/s", alpha="1us")
    return made


def _on(name: str, topology: cs.Topology, nbytes: str, **options: object) -> cs.Trace:
    return cs.simulate(cs.schedule(name, topology=topology, **options), topology, nbytes)


def _times(slow: cs.Trace, fast: cs.Trace) -> str:
    return f"{slow.time / fast.time:.3g}"


# ---- the chapters
# ---------------------------------------------------------------------------------------------------------------


def _question_on_gradients(n: int) -> Question:
    return _ask(
        (
            "One rank skips the averaging and steps by its own gradient. What follows?",
            "如果一个 rank 跳过平均，按自己的梯度更新，会怎样？",
        ),
        (
            f"The sum of {n} gradients, divided by {n}, is the same number on every rank, so equal copies stay equal.",
            f"{n} 份梯度之和除以 {n}，在每个 rank 上都是同一个数，所以相同的模型始终保持相同。",
        ),
        (
            ("Its copy differs from the others from then on.", "它的模型从此与其他的不同。"),
            (
                "The copies began equal, and only equal steps keep them equal.",
                "各份模型起初相同，只有更新相同才能一直相同。",
            ),
        ),
        (
            ("Nothing: it only learns a little slower.", "没什么，只是学得慢一点。"),
            (
                "Nothing corrects the copy later: parameters are not sent again.",
                "之后没有什么会纠正它：参数不会再发送。",
            ),
        ),
        (
            ("The others wait for it and catch up in the next step.", "其他 rank 会等它，并在下一步赶上。"),
            (
                "They would wait in the allreduce without end; a collective needs every rank.",
                "它们会在 allreduce 中一直等下去：集合通信需要所有 rank 参加。",
            ),
        ),
        right=0,
    )


def gradients() -> Chapter:
    t = _on("allreduce_ring", cs.topology.ring(4, bandwidth="25GB/s", alpha="1us"), "64MiB")
    n = t.schedule.ranks
    return Chapter(
        ("Why gradients are averaged", "为什么要平均梯度"),
        t,
        (
            (
                f"Data parallel training gives each of {n} ranks a copy of the model and a share of the batch. Each "
                f"computes gradients from its own share. The mean of the {n} is the gradient of the whole batch, "
                "and that is what every copy must step by.",
                f"数据并行训练让 {n} 个 rank 各持有一份模型和批次的一部分。每个 rank 用自己那部分算出梯度。{n} "
                "份的平均值才是整个批次的梯度，每份模型都必须按它更新。",
            ),
            (
                f"An allreduce adds the {n} buffers and leaves the sum on every rank; dividing by {n} makes the "
                f"mean. Here each rank holds {format_bytes(t.nbytes)}. Press play: a square adds on arrival, a "
                "circle replaces.",
                f"allreduce 把 {n} 份数据相加，并让每个 rank 都得到总和；再除以 {n} 就是平均值。这里每个 rank 持有 "
                f"{format_bytes(t.nbytes)}。按播放键：方块到达后相加，圆点到达后覆盖。",
            ),
        ),
        _question_on_gradients(n),
        (
            (
                "In PyTorch DistributedDataParallel does this, in buckets of about 25 MiB, while the backward pass "
                "still runs. By hand it is all_reduce(p.grad) and a division by the world size; there is no "
                "dist.reduce_grad().",
                "在 PyTorch 中由 DistributedDataParallel 完成：按约 25 MiB 的桶，与反向传播重叠进行。手写则是对每个 "
                "p.grad 调用 all_reduce，再除以 world size；并不存在 dist.reduce_grad()。",
            ),
        ),
        "logical",
    )


def server() -> Chapter:
    told = short.server()
    t, more = told.trace, _on("allreduce_parameter_server", _switch(16), "64MiB")
    ring = _on("allreduce_ring", _switch(16), "64MiB")
    return Chapter(
        told.title,
        t,
        told.paragraphs[:1],
        _ask(
            (
                f"With {more.schedule.ranks} ranks instead of {t.schedule.ranks}, still one server: how long does "
                "it take?",
                f"rank 从 {t.schedule.ranks} 个增加到 {more.schedule.ranks} 个，服务器仍只有一台：需要多久？",
            ),
            (
                f"{t.schedule.ranks - 1} workers send through one cable, then {more.schedule.ranks - 1}: "
                f"{_times(more, t)} times as long.",
                f"先是 {t.schedule.ranks - 1} 个 worker 挤一条线缆，然后是 {more.schedule.ranks - 1} 个："
                f"时间是原来的 {_times(more, t)} 倍。",
            ),
            (
                _same(format_time(t.time / 2)),
                (
                    "More ranks share nothing here: all of their bytes end at one cable.",
                    "多出来的 rank 并不分担：所有字节都汇到一条线缆。",
                ),
            ),
            (
                _same(format_time(t.time)),
                (
                    "Each worker sends as much as before, but the server's cable carries all of them.",
                    "每个 worker 发送的没变，但服务器的线缆要承载全部。",
                ),
            ),
            (
                _same(format_time(more.time)),
                (
                    "The server's cable sets the pace, and it has more to carry.",
                    "节奏由服务器的线缆决定，而它要传的更多了。",
                ),
            ),
            right=2,
        ),
        (
            told.paragraphs[1],
            (
                f"With {ring.schedule.ranks} ranks the ring takes {format_time(ring.time)}, {_times(more, ring)} "
                "times less than the server.",
                f"{ring.schedule.ranks} 个 rank 时 ring 需要 {format_time(ring.time)}，速度是服务器的 "
                f"{_times(more, ring)} 倍。",
            ),
        ),
        "logical",
    )


def ring() -> Chapter:
    told = short.the_ring()
    t = told.trace
    n = t.schedule.ranks
    full = (
        min(step for r in range(n) for step, counts in contributions(t.schedule, r, 0) if (counts > 0).sum() == n) + 1
    )
    return Chapter(
        told.title,
        t,
        told.paragraphs[:1],
        _ask(
            (
                "After which step does some rank hold the first finished sum?",
                "在第几步之后，第一次有 rank 得到完整的和？",
            ),
            (
                f"A chunk starts with 1 contribution and gains one in each step: after {full} steps it has all {n}. "
                "Then it is only copied.",
                f"每个 chunk 起初只有 1 份贡献，每步增加一份：{full} 步后集齐 {n} 份。此后只需复制。",
            ),
            (
                (f"step {n // 2}", f"第 {n // 2} 步"),
                (f"Then it holds {n // 2 + 1} of {n} contributions.", f"那时只有 {n} 份贡献中的 {n // 2 + 1} 份。"),
            ),
            (
                (f"step {full}", f"第 {full} 步"),
                ("Here reduce-scatter ends and allgather begins.", "reduce-scatter 到此结束，allgather 开始。"),
            ),
            (
                (f"step {n}", f"第 {n} 步"),
                (f"One less: a rank adds {n - 1} others to its own.", f"少一步：自己的一份之外，只需加 {n - 1} 份。"),
            ),
            (
                (f"step {t.schedule.steps}", f"第 {t.schedule.steps} 步"),
                (
                    "Then every rank holds every sum; the first comes much earlier.",
                    "那时所有 rank 都有了全部的和；第一个要早得多。",
                ),
            ),
            right=1,
        ),
        told.paragraphs[1:],
        "logical",
    )


def _question_on_volume(grown: float, last: cs.Trace, other: int, share: list[float], t: cs.Trace) -> Question:
    return _ask(
        (
            f"From {t.schedule.ranks} to {last.schedule.ranks} ranks, same K: how much more does each rank send?",
            f"K 不变，从 {t.schedule.ranks} 个增加到 {last.schedule.ranks} 个 rank：每个 rank 多发多少？",
        ),
        (
            f"{share[2]:.4g} K becomes {share[-1]:.4g} K: it never reaches 2 K. What does grow is the number of steps.",
            f"从 {share[2]:.4g} K 变为 {share[-1]:.4g} K：永远到不了 2 K。真正增长的是步数。",
        ),
        (
            (f"{other} times as much", f"{other} 倍"),
            (
                "That is what a parameter server's cable feels, not a rank of a ring.",
                "那是参数服务器线缆的感受，不是 ring 中的 rank。",
            ),
        ),
        (
            (f"{grown:.3g} times as much", f"{grown:.3g} 倍"),
            (
                "More ranks, but smaller chunks: (N−1)/N hardly changes.",
                "rank 更多，但 chunk 更小：(N−1)/N 几乎不变。",
            ),
        ),
        (
            (f"1/{other} as much", f"1/{other}"),
            (
                "Each chunk is that much smaller, but there are as many more of them.",
                "每个 chunk 确实小了这么多，但个数也多了这么多。",
            ),
        ),
        right=1,
    )


def volume() -> Chapter:
    runs = [_on("allreduce_ring", _switch(n), "64MiB") for n in (2, 4, 8, 16, 64)]
    t, last = runs[2], runs[-1]
    share = [r.sent_bytes.max() / r.nbytes for r in runs]
    grown, other = share[-1] / share[2], last.schedule.ranks // t.schedule.ranks
    heads: tuple[Text, ...] = (
        ("ranks N", "rank 数 N"),
        ("steps", "步数"),
        ("each sends", "每个发送"),
        ("of K", "相对 K"),
        ("time", "时间"),
    )
    rows = tuple(
        tuple(
            map(
                _same,
                (
                    str(r.schedule.ranks),
                    str(r.schedule.steps),
                    format_bytes(int(r.sent_bytes.max())),
                    f"{s:.4g}",
                    format_time(r.time),
                ),
            )
        )
        for r, s in zip(runs, share, strict=True)
    )
    return Chapter(
        ("2K(N−1)/N", "2K(N−1)/N"),
        t,
        (
            (
                f"The buffer of K = {format_bytes(t.nbytes)} is cut into N chunks. In reduce-scatter a rank sends "
                "N−1 of them, in allgather N−1 again: 2K(N−1)/N bytes out, and as many in.",
                f"大小为 K = {format_bytes(t.nbytes)} 的缓冲区切成 N 个 chunk。reduce-scatter 中每个 rank 发送 N−1 "
                "个，allgather 中又是 N−1 个：共发出 2K(N−1)/N 字节，收到的也一样多。",
            ),
            (
                f"For N = {t.schedule.ranks} that is {format_bytes(int(t.sent_bytes.max()))}. No allreduce without "
                "help from the network can send less from its busiest rank.",
                f"N = {t.schedule.ranks} 时为 {format_bytes(int(t.sent_bytes.max()))}。没有网络设备帮忙时，任何 "
                "allreduce 中最忙的 rank 都不可能发得更少。",
            ),
        ),
        _question_on_volume(grown, last, other, share, t),
        view="logical",
        table=(heads, *rows),
    )


def _question_on_trees(
    gained: float, n: int, ring64: cs.Trace, small: cs.Trace, tree: cs.Trace, tree64: cs.Trace
) -> Question:
    return _ask(
        (
            "With 64 ranks and 1 KiB, how much faster is the tree than the ring?",
            "64 个 rank、1 KiB：树比 ring 快多少？",
        ),
        (
            f"The ring takes {ring64.schedule.steps} steps, {format_time(ring64.time)}; the tree "
            f"{tree64.schedule.steps}, {format_time(tree64.time)}. Steps of a ring grow with n, of a tree with "
            "its depth, log n.",
            f"ring 要 {ring64.schedule.steps} 步、{format_time(ring64.time)}；树要 {tree64.schedule.steps} 步、"
            f"{format_time(tree64.time)}。ring 的步数随 n 增长，树的步数随深度即 log n 增长。",
        ),
        (
            (f"{_times(small, tree)} times, as with {n} ranks", f"{_times(small, tree)} 倍，与 {n} 个 rank 时相同"),
            (
                f"The ring gains {gained:g} steps with every rank, the tree hardly any.",
                f"每多一个 rank，ring 多 {gained:g} 步，树几乎不增加。",
            ),
        ),
        (
            (f"{_times(ring64, tree64)} times", f"{_times(ring64, tree64)} 倍"),
            ("Almost all of the time is steps times latency.", "时间几乎全是步数乘以延迟。"),
        ),
        (
            ("64 times", "64 倍"),
            ("A tree is not one step: it has to climb up and down again.", "树不是一步完成：要先上去再下来。"),
        ),
        right=1,
    )


def trees() -> Chapter:
    n = 8
    small, tree = (_on(name, _switch(n), "1KiB") for name in ("allreduce_ring", "allreduce_tree"))
    ring64, tree64 = (_on(name, _switch(64), "1KiB") for name in ("allreduce_ring", "allreduce_tree"))
    gained = (ring64.schedule.steps - small.schedule.steps) / (ring64.schedule.ranks - n)
    big, bigtree = (_on(name, _switch(n), "64MiB") for name in ("allreduce_ring", "allreduce_tree"))
    told = short.two_trees()
    return Chapter(
        ("Trees and latency", "树与延迟"),
        tree,
        (
            (
                "For 1 KiB bytes cost nothing and steps cost everything: each pays the latency of its way. The ring "
                f"has {small.schedule.steps} steps and takes {format_time(small.time)}; a tree goes up and down in "
                f"{tree.schedule.steps} and takes {format_time(tree.time)}.",
                "只传 1 KiB 时，字节几乎不花时间，步数才是关键：每一步都要付一次路径延迟。ring 有 "
                f"{small.schedule.steps} 步，需 {format_time(small.time)}；树一上一下共 {tree.schedule.steps} 步，"
                f"需 {format_time(tree.time)}。",
            ),
        ),
        _question_on_trees(gained, n, ring64, small, tree, tree64),
        (
            (
                f"For 64 MiB it is the other way round: the ring takes {format_time(big.time)}, this tree, which "
                f"sends the buffer whole, {format_time(bigtree.time)}. Pipelining mends that: it is cut into chunks "
                "that follow one another.",
                f"传 64 MiB 时正相反：ring 需 {format_time(big.time)}，而整块发送的树需 "
                f"{format_time(bigtree.time)}。流水线可以弥补：切成多个 chunk，一个接一个地走。",
            ),
            *told.paragraphs,
        ),
        "logical",
    )


def inside() -> Chapter:
    told = short.staging()
    pcie = _on("allreduce_ring", cs.machine("pcie-8gpu-single-root"), "64MiB")
    nvlink = _on("allreduce_ring", cs.machine("dgx-a100"), "64MiB")
    ratio = _times(pcie, nvlink)
    rate = format_bandwidth(float(nvlink.topology.links.bandwidth[nvlink.link_bytes > 0].max()))
    return Chapter(
        ("Inside the box: PCIe, NVLink, NVSwitch", "机箱之内：PCIe、NVLink、NVSwitch"),
        told.trace,
        (
            (
                f"Eight GPUs on PCIe switches under one root: with GPUDirect P2P a ring of "
                f"{format_bytes(pcie.nbytes)} takes {format_time(pcie.time)}. A chunk goes from GPU to GPU through "
                "the switches; host memory is not touched.",
                f"八块 GPU 接在同一个根之下的 PCIe 交换机上：启用 GPUDirect P2P 时，{format_bytes(pcie.nbytes)} 的 "
                f"ring 需 {format_time(pcie.time)}。chunk 经由交换机从 GPU 到 GPU，不经过主机内存。",
            ),
            (
                "The picture shows the same without P2P. Watch the host memory: every chunk goes into it and out "
                "again.",
                "图中是关闭 P2P 的情形。注意主机内存：每个 chunk 都要先写进去，再读出来。",
            ),
        ),
        _ask(
            (
                f"The same ring with NVLink and NVSwitch, {rate} per GPU and direction (DGX A100): how long?",
                f"换成 NVLink 与 NVSwitch（DGX A100，每块 GPU 单向 {rate}），同样的 ring 需要多久？",
            ),
            (
                f"{format_time(nvlink.time)}, {ratio} times less: a cable of its own for every GPU, and nothing "
                "shared on the way.",
                f"{format_time(nvlink.time)}，速度是 PCIe 的 {ratio} 倍：每块 GPU 有自己的线缆，途中没有共享。",
            ),
            (
                _same(format_time(pcie.time)),
                (
                    "The steps are the same, but every step ends when its slowest link is done.",
                    "步数不变，但每一步都等最慢的链路完成。",
                ),
            ),
            (
                _same(format_time(pcie.time / 2)),
                ("NVLink is far more than twice as fast as PCIe 4.0.", "NVLink 的带宽远不止 PCIe 4.0 的两倍。"),
            ),
            (
                _same(format_time(nvlink.time)),
                ("Bandwidth per direction decides, for a buffer of this size.", "数据量这么大时，单向带宽说了算。"),
            ),
            right=2,
        ),
        told.paragraphs,
    )


def between() -> Chapter:
    told = short.between()
    on, off = (
        _on("allreduce_ring", cs.machine("dgx-a100", nodes=2, gdr=gdr), "256MiB", channels=8) for gdr in (True, False)
    )
    neck = bottleneck(off)
    assert neck is not None
    return Chapter(
        ("Between boxes: InfiniBand, GPUDirect", "机箱之间：InfiniBand 与 GPUDirect"),
        told.trace,
        told.paragraphs,
        _ask(
            (
                f"These 8 channels take {format_time(on.time)} with GPUDirect RDMA. How long without, through host "
                "memory?",
                f"这 8 个 channel 在启用 GPUDirect RDMA 时需 {format_time(on.time)}。不启用、经主机内存中转需要多久？",
            ),
            (
                f"{format_time(off.time)}, {_times(off, on)} times as long. {neck['text']['en']}",
                f"{format_time(off.time)}，是原来的 {_times(off, on)} 倍。{neck['text']['zh']}",
            ),
            (
                _same(format_time(on.time)),
                (
                    "InfiniBand would allow it, but the PCIe cables carry each byte more than once.",
                    "InfiniBand 本可以，但 PCIe 线缆要把每个字节传不止一次。",
                ),
            ),
            (
                _same(format_time(off.time)),
                (
                    "Each chunk goes into host memory and out again on both sides.",
                    "每个 chunk 在两侧都要进出一次主机内存。",
                ),
            ),
            (
                _same(format_time(8 * on.time)),
                (
                    "That would be one cable for all; there are still eight network cards.",
                    "那相当于所有数据只走一条线缆；但网卡仍有八块。",
                ),
            ),
            right=1,
        ),
    )


def _question_on_backends() -> Question:
    return _ask(
        (
            "init_process_group() on a CUDA machine, without backend= and device_id=: which backend serves CUDA "
            "tensors?",
            "在有 CUDA 的机器上调用 init_process_group()，不写 backend= 和 device_id=：CUDA 张量由哪个后端处理？",
        ),
        (
            "PyTorch 2.13 goes by the type of device it finds: cuda takes nccl, a machine without an "
            "accelerator takes gloo. The version of NCCL and the number of GPUs play no part.",
            "PyTorch 2.13 按检测到的设备类型选择：cuda 用 nccl，没有加速器的机器用 gloo。与 NCCL 版本和 GPU 数量无关。",
        ),
        (_same("NCCL"), ("The default follows the device.", "默认后端取决于设备类型。")),
        (_same("Gloo"), ("Gloo is the default where there is only a CPU.", "只有 CPU 的机器才默认使用 Gloo。")),
        (
            ("NCCL with several GPUs, Gloo with one", "多块 GPU 用 NCCL，一块用 Gloo"),
            ("Often written, but there is no such rule.", "常见说法，但并没有这条规则。"),
        ),
        (_same("MPI"), ("MPI has to be asked for, and built in.", "MPI 需要编译时启用，并显式指定。")),
        right=0,
    )


def backends() -> Chapter:
    fast = _on("allreduce_ring", cs.machine("dgx-a100"), "64MiB")
    staged = _on("allreduce_ring", cs.machine("dgx-a100", p2p=False), "64MiB")
    yes, no, built = _same("✓"), _same("–"), _same("?")
    cpu, gpu = ("CPU tensors", "CPU 张量"), ("GPU tensors", "GPU 张量")
    return Chapter(
        ("Which backend when: NCCL, Gloo, MPI", "何时用哪个后端：NCCL、Gloo、MPI"),
        staged,
        (
            (
                "torch.distributed hands a collective to a backend. NCCL takes CUDA tensors only and goes over "
                "NVLink, PCIe and InfiniBand from GPU to GPU. Gloo takes CPU tensors, and CUDA tensors for most "
                "collectives, through host memory. MPI is there where PyTorch was built with it, for GPUs only if "
                "that MPI is CUDA-aware.",
                "torch.distributed 把集合通信交给后端。NCCL 只接受 CUDA 张量，经 NVLink、PCIe、InfiniBand 在 GPU "
                "之间直接传输。Gloo 接受 CPU 张量，大多数操作也接受 CUDA 张量，但要经过主机内存。MPI 只有在编译 "
                "PyTorch 时启用才有；用于 GPU 还要求该 MPI 支持 CUDA（CUDA-aware）。",
            ),
            (
                f"What host memory costs, on one DGX A100: the picture shows a ring of {format_bytes(fast.nbytes)} "
                f"that is staged, {format_time(staged.time)}. From GPU to GPU it takes {format_time(fast.time)}, "
                f"{_times(staged, fast)} times less. (Paths only; a backend's own software costs more.)",
                f"经过主机内存的代价，以一台 DGX A100 为例：图中 {format_bytes(fast.nbytes)} 的 ring 经主机中转，需 "
                f"{format_time(staged.time)}；GPU 直传只需 {format_time(fast.time)}，速度是前者的 "
                f"{_times(staged, fast)} 倍。（只计路径；后端软件自身的开销另算。）",
            ),
        ),
        _question_on_backends(),
        after=(
            (
                "In the table ✓ is there and – is not; ? only where MPI was built to take GPU memory.",
                "表中 ✓ 表示支持，– 表示不支持；? 表示仅当 MPI 编译时支持 GPU 显存才可用。",
            ),
        ),
        table=(
            (
                _same(""),
                *(
                    _named(name, what)
                    for name, what in (("NCCL", gpu), ("Gloo", cpu), ("Gloo", gpu), ("MPI", cpu), ("MPI", gpu))
                ),
            ),
            (_same("broadcast, all_reduce, reduce, all_gather"), yes, yes, yes, yes, built),
            (_same("gather, scatter, all_to_all"), yes, yes, yes, yes, built),
            (_same("reduce_scatter"), yes, yes, yes, no, built),
            (_same("send, recv, barrier"), yes, yes, no, yes, built),
        ),
    )


def _named(backend: str, tensors: Text) -> Text:
    return f"{backend}, {tensors[0]}", f"{backend}，{tensors[1]}"


CHAPTERS: dict[str, Callable[[], Chapter]] = {
    "gradients": gradients,
    "server": server,
    "ring": ring,
    "volume": volume,
    "trees": trees,
    "inside": inside,
    "between": between,
    "backends": backends,
}
