"""Programs and hangs: what one rank runs, run for all; and why it may never end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ...programs import Hang, ProgramRun, list_hangs
from ...programs.program import program
from ...rank_engine.start import MPICH_EAGER_LIMIT
from ...registry import schedule
from ...schedule import Schedule
from ...simulate import Trace
from ...topology import Topology
from ...viz.program.still import ProgramPicture
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, format_ratio, simulate_schedule

_RANKS, _SIZE, _SMALL = 4, "1MiB", "1KiB"
_FEW, _MANY = "4KiB", "64KiB"


@cache
def _run_ring() -> ProgramRun:
    """The ring of whole buffers."""
    return list_hangs()["send_first"].run_mended(_RANKS)


def _simulate_ring(nbytes: str) -> tuple[Trace, Trace]:
    """The program's schedule and the library's ring on the same network."""
    run = _run_ring()
    assert isinstance(run.schedule, Schedule)
    network: Topology = run.topology
    return (
        simulate_schedule(run.schedule, network, nbytes),
        simulate_schedule(schedule("allreduce_ring", ranks=_RANKS), network, nbytes),
    )


def _build_program_facts() -> RunFacts:
    whole, ring = _simulate_ring(_SIZE)
    small, small_ring = _simulate_ring(_SMALL)
    return build_facts(
        whole,
        program=whole,
        ring=ring,
        small=small,
        small_ring=small_ring,
        ranks=_RANKS,
        ratio=format_ratio(whole, ring),
    )


@cache
def _run_hang() -> ProgramRun:
    return list_hangs()["send_first"].run(_RANKS)


def _ends(hang: Hang, nbytes: str) -> bool:
    return program(hang.source, _RANKS, hang.collective, nbytes=nbytes, allow_unsandboxed=True).is_right


def _build_hang_facts() -> RunFacts:
    run = _run_hang()
    assert run.cycle is not None
    lucky = list_hangs()["large_messages"]
    assert (_ends(lucky, _FEW), _ends(lucky, _MANY)) == (True, False)
    whole, _ = _simulate_ring(_SIZE)
    return build_facts(
        whole,
        lanes=(ProgramPicture(replace(run, rerun=None)),),  # without it a picture can be pickled: pages cache it
        line=run.waits[0].line,
        cycle=" → ".join(map(str, (*run.cycle, run.cycle[0]))),
        last=_RANKS - 1,
        limit=f"{MPICH_EAGER_LIMIT:,} B",
        few=_FEW.replace("KiB", " KiB"),
        many=_MANY.replace("KiB", " KiB"),
        count=len(list_hangs()),
    )


_PROGRAM = Section(
    "program",
    _build_program_facts,
    title=("What one rank runs", "一个 rank 运行什么"),
    before=(
        (
            "A rank program says what one rank does, and all {ranks} ranks run it. In this one each rank sends a "
            "buffer to "
            "its right neighbour and receives one from its left, {program.steps} times: first its own, then always "
            "the "
            "one that it received last. It adds up what comes in, so that all end with the sum. The picture plays "
            "the "
            "schedule that its messages make.",
            "rank 程序描述一个 rank 要做的事，{ranks} 个 rank 都运行它。在这个程序里，每个 rank "
            "把一份缓冲区发给右邻居，"
            "再从左邻居接收一份，共 {program.steps} 次：先发自己的，之后总是发刚收到的。它把收到的累加起来，"
            "于是所有 rank "
            "都得到总和。图中播放的是它的消息构成的 schedule。",
        ),
    ),
    ask=(
        "How many buffers does each rank send here, and how many in the library's ring?",
        "这里每个 rank 发送几份缓冲区？库中的环形算法呢？",
    ),
    choices=(
        choice(
            "{program.share}, {program.share}",
            ("The library's ring does not send whole buffers.", "库中的环不发送整份缓冲区。"),
        ),
        choice(
            "{program.share}, {ring.share}",
            (
                "Here a whole buffer in every step; there one part of {ranks} in each of {ring.steps} steps.",
                "这里每步一整份；那里 {ring.steps} 步，每步 {ranks} 分之一。",
            ),
        ),
        choice(
            "{ring.share}, {program.share}",
            ("The other way round: it is this program that passes on whole buffers.", "反了：传整份的是这个程序。"),
        ),
    ),
    right=1,
    explanation=(
        "For {program.size} the program takes {program.time}, the library's ring {ring.time}: {ratio} times as long.",
        "传 {program.size} 时，这个程序用 {program.time}，库中的环用 {ring.time}：是它的 {ratio} 倍。",
    ),
    after=(
        (
            "With {small.size} it is the other way round: {small.time} and {small_ring.time}. The program has half "
            "of the "
            "steps, and a short message costs latency only.",
            "只传 {small.size} 时正好相反：{small.time} 与 {small_ring.time}。这个程序的步数只有一半，"
            "而短消息只有延迟。",
        ),
    ),
)

_HANG = Section(
    "hang",
    _build_hang_facts,
    title=("Who waits for whom", "谁在等谁"),
    before=(
        (
            "Now send in place of isend. A send returns when its receive has taken the data. All ranks are in line "
            "{line}, "
            "and nobody has called recv.",
            "现在把 isend 换成 send。send 要等接收方取走数据才返回。所有 rank 都停在第 {line} 行，没有人调用过 recv。",
        ),
    ),
    ask=("Which rank goes on?", "哪个 rank 能继续？"),
    choices=(
        choice(("rank 0", "rank 0"), ("It waits for the receive of its right neighbour.", "它在等右邻居接收。")),
        choice(
            ("rank {last}", "rank {last}"),
            ("Its right neighbour is rank 0, which is in a send, too.", "它的右邻居是 rank 0，也停在 send。"),
        ),
        choice(
            ("none", "没有"),
            ("Each waits for one that waits: {cycle}.", "每个都在等另一个等待者：{cycle}。"),
        ),
    ),
    right=2,
    explanation=(
        "The arrows of the picture make a circle: {cycle}. A timeout ends the job, and does not say so.",
        "图中的箭头构成一个环：{cycle}。超时只会结束作业，不会说明原因。",
    ),
    after=(
        (
            "MPI buffers small messages, MPICH up to {limit} within a node. A program of mpi4py that sends first "
            "therefore ends with "
            "{few} and hangs with {many}: right by luck.",
            "MPI 会缓冲小消息，MPICH 在节点内最多 {limit}。因此先发送的 mpi4py 程序在 {few} 时能结束，在 {many} "
            "时挂起：只是侥幸。",
        ),
        (
            "The page Hangs shows {count} ways to hang a job, how to tell them apart, and a mend of each. In the "
            "exercises you make one hang and one right.",
            "“作业挂起”页列出 {count} 种让作业挂起的方式、区分方法和各自的修复。练习中请您让一个程序挂起，"
            "再让一个程序正确。",
        ),
    ),
)

LESSON = Lesson(
    title=("Programs and hangs", "程序与挂起"),
    notebook="18-programs-and-hangs",
    exercises=("make-it-hang", "make-it-right", "one-and-a-half-buffers"),
    sections=(_PROGRAM, _HANG),
)
