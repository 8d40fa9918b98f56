"""One collects, adds and hands out: two steps, and one cable that carries everything."""

from __future__ import annotations

from ...units import format_bytes, format_time
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, format_ratio, simulate_algorithm


def _build_server_facts() -> RunFacts:
    server, ring = (
        simulate_algorithm(name, build_switch()) for name in ("allreduce_parameter_server", "allreduce_ring")
    )
    server16, ring16 = (
        simulate_algorithm(name, build_switch(16)) for name in ("allreduce_parameter_server", "allreduce_ring")
    )
    return build_facts(
        server,
        t=server,
        ring=ring,
        more=server16,
        ring_more=ring16,
        worker=format_bytes(int(server.sent_bytes[1])),
        hot=format_bytes(int(server.link_bytes.max())),
        workers=server.schedule.ranks - 1,
        workers_more=server16.schedule.ranks - 1,
        half=format_time(server.time / 2),
        slower=format_ratio(server, ring),
        grown=format_ratio(server16, server),
        slower_more=format_ratio(server16, ring16),
    )


LESSON = Lesson(
    title=("The parameter server and its hot link", "参数服务器与它的热点链路"),
    notebook="02-parameter-server",
    exercises=("parameter-server", "sharded-server"),
    sections=(
        Section(
            "server",
            _build_server_facts,
            before=(
                (
                    "Rank 0 collects everything and hands the sum out: {t.steps} steps, {t.time}. Every worker sends "
                    "{worker}. Press play, and see what each cable carries.",
                    "rank 0 收集所有数据再发回总和：{t.steps} 步，{t.time}。每个 worker 发送 {worker}。"
                    "按播放键，看看每条线缆各传多少。",
                ),
            ),
            ask=(
                "With {more.ranks} ranks instead of {t.ranks}, still one server: how long does it take?",
                "rank 从 {t.ranks} 个增加到 {more.ranks} 个，服务器仍只有一台：需要多久？",
            ),
            choices=(
                choice(
                    "{half}",
                    (
                        "More ranks share nothing here: all of their bytes end at one cable.",
                        "多出来的 rank 并不分担：所有字节都汇到一条线缆。",
                    ),
                ),
                choice(
                    "{t.time}",
                    (
                        "Each worker sends as much as before, but the server's cable carries all of them.",
                        "每个 worker 发送的没变，但服务器的线缆要承载全部。",
                    ),
                ),
                choice(
                    "{more.time}",
                    (
                        "The server's cable sets the pace, and it has more to carry.",
                        "节奏由服务器的线缆决定，而它要传的更多了。",
                    ),
                ),
            ),
            right=2,
            explanation=(
                "{workers} workers send through one cable, then {workers_more}: {grown} times as long.",
                "先是 {workers} 个 worker 挤一条线缆，然后是 {workers_more} 个：时间是原来的 {grown} 倍。",
            ),
            after=(
                (
                    "{hot} go into the server's cable, and as much comes out of it: that is the hot link.",
                    "服务器那条线缆要进 {hot}，再出同样多：这就是热点链路。",
                ),
                (
                    "A ring on the same switch takes {ring.time}, {slower} times less, because all cables share the "
                    "work.",
                    "同一台交换机上的 ring 只需 {ring.time}，速度是服务器的 {slower} 倍，因为所有线缆分担了工作。",
                ),
                (
                    "With {ring_more.ranks} ranks the ring takes {ring_more.time}, {slower_more} times less than the "
                    "server.",
                    "{ring_more.ranks} 个 rank 时 ring 需要 {ring_more.time}，速度是服务器的 {slower_more} 倍。",
                ),
            ),
            view="logical",
        ),
    ),
)
