"""Which backend when, and the same in C. The facts about PyTorch are those of 2.13 (docs/source/distributed.md,
distributed_c10d.py, csrc/distributed/c10d/ProcessGroupNCCL.cpp), those about NCCL are of its nccl.h.in."""

from __future__ import annotations

from ...locale import Text
from ...topology import machine
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, format_ratio, repeat_text, simulate_algorithm


def _build_backend_facts() -> RunFacts:
    direct, staged = (simulate_algorithm("allreduce_ring", machine("dgx-a100", p2p=p2p)) for p2p in (True, False))
    return build_facts(staged, direct=direct, staged=staged, faster=format_ratio(staged, direct))


def _write_head(backend: str, tensors: Text) -> Text:
    return f"{backend}, {tensors[0]}", f"{backend}，{tensors[1]}"


_CPU, _GPU = ("CPU tensors", "CPU 张量"), ("GPU tensors", "GPU 张量")
_YES, _NO, _BUILT = repeat_text("✓"), repeat_text("–"), repeat_text("?")


def _build_call_facts() -> RunFacts:
    """Every rank sends to the next one, as nccl-tests' sendrecv does."""
    box = machine("dgx-a100")
    pair, ring = simulate_algorithm("sendrecv_direct", box), simulate_algorithm("allreduce_ring", box)
    return build_facts(pair, pair=pair, ring=ring, ranks=pair.schedule.ranks)


def _pair_calls(torch: str, c: str) -> tuple[Text, Text]:
    return repeat_text(torch), repeat_text(c)


_GROUP = "ncclSend, ncclRecv between ncclGroupStart, ncclGroupEnd"

LESSON = Lesson(
    title=("From algorithm to library: NCCL, Gloo, MPI", "从算法到库：NCCL、Gloo 与 MPI"),
    notebook="08-from-algorithm-to-library",
    exercises=("reduce-to-root",),
    sources={
        "2.13": "of PyTorch: docs/source/distributed.md and torch/distributed/distributed_c10d.py",
    },
    sections=(
        Section(
            "backends",
            _build_backend_facts,
            title=("Which backend when", "什么时候用哪个后端"),
            before=(
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
                    "What host memory costs, on one DGX A100: the picture shows a ring of {direct.size} that is "
                    "staged, {staged.time}. From GPU to GPU it takes {direct.time}, {faster} times less. (Paths only; "
                    "a backend's own software costs more.)",
                    "经过主机内存的代价，以一台 DGX A100 为例：图中 {direct.size} 的 ring 经主机中转，需 "
                    "{staged.time}；GPU 直传只需 {direct.time}，速度是前者的 {faster} 倍。（只计路径；后端软件自身的开"
                    "销另算。）",
                ),
            ),
            ask=(
                "init_process_group() on a CUDA machine, without backend= and device_id=: which backend serves CUDA "
                "tensors?",
                "在有 CUDA 的机器上调用 init_process_group()，不写 backend= 和 device_id=：CUDA 张量由哪个后端处理？",
            ),
            choices=(
                choice("NCCL", ("The default follows the device.", "默认后端取决于设备类型。")),
                choice(
                    "Gloo",
                    ("Gloo is the default where there is only a CPU.", "只有 CPU 的机器才默认使用 Gloo。"),
                ),
                choice(
                    ("NCCL with several GPUs, Gloo with one", "多块 GPU 用 NCCL，一块用 Gloo"),
                    ("Often written, but there is no such rule.", "常见说法，但并没有这条规则。"),
                ),
                choice("MPI", ("MPI has to be asked for, and built in.", "MPI 需要编译时启用，并显式指定。")),
            ),
            right=0,
            explanation=(
                "PyTorch 2.13 goes by the type of device it finds: cuda takes nccl, a machine without an accelerator "
                "takes gloo. The version of NCCL and the number of GPUs play no part.",
                "PyTorch 2.13 按检测到的设备类型选择：cuda 用 nccl，没有加速器的机器用 gloo。与 NCCL 版本和 GPU "
                "数量无关。",
            ),
            after=(
                (
                    "In the table ✓ is there and – is not; ? only where MPI was built to take GPU memory.",
                    "表中 ✓ 表示支持，– 表示不支持；? 表示仅当 MPI 编译时支持 GPU 显存才可用。",
                ),
            ),
            table=(
                (
                    repeat_text(""),
                    _write_head("NCCL", _GPU),
                    _write_head("Gloo", _CPU),
                    _write_head("Gloo", _GPU),
                    _write_head("MPI", _CPU),
                    _write_head("MPI", _GPU),
                ),
                (repeat_text("broadcast, all_reduce, reduce, all_gather"), _YES, _YES, _YES, _YES, _BUILT),
                (repeat_text("gather, scatter, all_to_all"), _YES, _YES, _YES, _YES, _BUILT),
                (repeat_text("reduce_scatter"), _YES, _YES, _YES, _NO, _BUILT),
                (repeat_text("send, recv, barrier"), _YES, _YES, _NO, _YES, _BUILT),
            ),
        ),
        Section(
            "calls",
            _build_call_facts,
            title=("The same in C", "用 C 来写"),
            before=(
                (
                    "Below torch.distributed NCCL is a library for C: a communicator, and one function for each "
                    "collective. ncclSend and ncclRecv move data between two ranks; each call says only its own half. "
                    "Calls between ncclGroupStart and ncclGroupEnd are launched together: without the group a rank "
                    "that sends first and receives later may wait for one that does the same.",
                    "torch.distributed 之下，NCCL 是一个 C 库：先有 communicator，每种集合通信对应一个函数。ncclSend 和"
                    " ncclRecv 在两个 rank 之间传数据，每次调用只说自己这一半。放在 ncclGroupStart 与 ncclGroupEnd 之间"
                    "的调用一起启动：不成组时，先发后收的 rank 可能在等另一个同样先发后收的 rank。",
                ),
                (
                    "The picture: {ranks} ranks of a DGX A100, each sends {pair.size} to the next one in a group of "
                    "two calls, {pair.time}; a ring allreduce of as much takes {ring.time}.",
                    "图中是 DGX A100 的 {ranks} 个 rank，每个用一组两次调用把 {pair.size} 发给下一个：{pair.time}；同样"
                    "大小的 ring allreduce 需要 {ring.time}。",
                ),
            ),
            ask=(
                "A tensor of torch.bool goes through all_reduce on the backend nccl. As which type of NCCL?",
                "在 nccl 后端上对 torch.bool 张量做 all_reduce，用的是 NCCL 的哪种类型？",
            ),
            choices=(
                choice(
                    "ncclBool",
                    (
                        "Often listed, but nccl.h has no such type.",
                        "常见于各种列表，但 nccl.h 里没有这个类型。",
                    ),
                ),
                choice(
                    "ncclUint8",
                    ("A bool of torch is one byte.", "torch 的 bool 占一个字节。"),
                ),
                choice(
                    "ncclFloat16",
                    ("Nothing is converted on the way.", "传输途中不做任何转换。"),
                ),
            ),
            right=1,
            explanation=(
                "ProcessGroupNCCL maps kBool to ncclUint8; NCCL itself knows integers of several widths, half, float, "
                "double, bfloat16 and two kinds of float8, and no bool.",
                "ProcessGroupNCCL 把 kBool 对应到 ncclUint8；NCCL "
                "自己只有几种宽度的整数、half、float、double、bfloat16 和两种 float8，没有 bool。",
            ),
            after=(
                (
                    "Another name that is often written and does not exist: dist.reduce_grad. Gradients are reduced by "
                    "DistributedDataParallel in the backward pass, or by all_reduce on each of them.",
                    "另一个常被写出、其实并不存在的名字：dist.reduce_grad。梯度由 DistributedDataParallel 在反向传播中"
                    "归约，或者对每个梯度调用 all_reduce。",
                ),
            ),
            table=(
                _pair_calls("torch.distributed", "NCCL"),
                _pair_calls("all_reduce", "ncclAllReduce"),
                _pair_calls("broadcast, reduce", "ncclBroadcast, ncclReduce"),
                _pair_calls("all_gather_into_tensor", "ncclAllGather"),
                _pair_calls("reduce_scatter_tensor", "ncclReduceScatter"),
                _pair_calls("send, recv", "ncclSend, ncclRecv"),
                _pair_calls("all_to_all_single, gather, scatter", _GROUP),
                _pair_calls("barrier", "ncclAllReduce"),
            ),
        ),
    ),
)
