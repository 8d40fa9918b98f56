"""Real wiring: six links per GPU on a DGX-1, and two machines joined by one NIC per GPU."""

from __future__ import annotations

from ....topology import machine
from .task import Task

TASKS = (
    Task(
        name="dgx-1-allgather",
        collective="allgather",
        title=("Allgather on a DGX-1", "DGX-1 上的 allgather"),
        ask=(
            "Eight V100 with six NVLinks each, joined as a hybrid cube mesh. Seven blocks must come in over six "
            "links, so nothing beats 7/6 of a block's time. Come close: your algorithm knows the wiring, "
            "`cs.machine('dgx-1v')`.",
            "八块 V100，每块六条 NVLink，按混合立方网格互连。七个块要从六条链路进来，因此下界是一块时间的 7/6。"
            "请接近它：接线见 cs.machine('dgx-1v')。",
        ),
        hints=(
            (
                "One ring uses one link of every GPU. How many rings fit without sharing a link? "
                "cs.machine('dgx-1v').orders lists orders of ranks.",
                "一个环只用每块 GPU 的一条链路。互不共享链路的环能放几个？cs.machine('dgx-1v').orders 给出各环的 "
                "rank 次序。",
            ),
            (
                "Cut each block into six pieces, chunk = block * 6 + piece, and let piece j travel around ring j, "
                "all six at once.",
                "把每块切成六片，chunk = 块号 * 6 + 片号，让第 j 片沿第 j 个环走，六个环同时进行。",
            ),
            (
                "For order o (an array) of ring j, a step for each k in range(7): cs.copy(o, np.roll(o, -1), "
                "chunk=np.roll(o, k) * 6 + j, channel=j); yield the list of the six",
                "对第 j 个环的次序 o（数组），k 取 range(7)，每个 k 一步：cs.copy(o, np.roll(o, -1), "
                "chunk=np.roll(o, k) * 6 + j, channel=j)；六个组成列表一起 yield",
            ),
        ),
        ranks=(8,),
        network=lambda n: machine("dgx-1v"),
        nbytes="64MiB",
        within=1.15,
    ),
    Task(
        name="hierarchical-2x8",
        collective="allreduce",
        title=("Two machines of eight, within 1.1 of the bound", "两台八卡机器，不超过下界的 1.1 倍"),
        ask=(
            "Two DGX A100, 16 ranks, a NIC per GPU. Allreduce 1 GiB within 1.1 of the bound: NVLink must never wait "
            "for InfiniBand.",
            "两台 DGX A100，16 个 rank，每块 GPU 一张网卡。allreduce 1 GiB，时间不超过下界的 1.1 倍：NVLink "
            "不能干等 InfiniBand。",
        ),
        hints=(
            (
                "Reduce-scatter inside each machine, exchange between machines, allgather inside. What idles during "
                "each of the three?",
                "机内 reduce-scatter、机间交换、机内 allgather。三个阶段里分别是谁在闲着？",
            ),
            (
                "Each of the three by direct sends is one or two steps. Cut the buffer into many parts and pipeline "
                "them: while one part is on InfiniBand, the parts before and after it are on NVLink.",
                "三个阶段用直接发送各只需一两步。把数据切成许多份做流水：一份走 InfiniBand 时，前后两份正走 NVLink。",
            ),
            (
                "16 chunks per part: local rank l and half h is chunk 2l + h. Round 0: reduce chunks 2p, 2p+1 to "
                "each local peer p. Round 1: reduce the half of the other machine to it. Round 2: copy your own "
                "half back. Round 3: copy 2l, 2l+1 to all local peers. In step t part c is in round t - c; 16 to 64 "
                "parts.",
                "每份 16 个 chunk：本地编号 l 的第 h 半是 chunk 2l + h。第 0 轮：把 2p、2p+1 reduce 给每个本地伙伴 "
                "p。第 1 轮：把对方那一半 reduce 给对方。第 2 轮：把自己那一半 copy 回去。第 3 轮：把 2l、2l+1 copy "
                "给所有本地伙伴。第 t 步，第 c 份处于第 t - c 轮；取 16 到 64 份。",
            ),
        ),
        ranks=(16,),
        network=lambda n: machine("dgx-a100", nodes=2),
        compared_ranks=16,
        nbytes="1GiB",
        within=1.1,
    ),
)
