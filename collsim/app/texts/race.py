"""Words of the Race page, and of what is synthesized and raced on others, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.race": ("Race", "竞速"),
    "race.title": ("One clock for all", "同一时钟，同场竞速"),
    "race.pick": ("Race", "竞速"),
    "race.ways": ("Ring, tree, parameter server", "环、树、参数服务器"),
    "race.p2p": ("GPUDirect P2P on and off", "GPUDirect P2P 开与关"),
    "race.gdr": ("GPUDirect RDMA on and off", "GPUDirect RDMA 开与关"),
    "race.links": ("NVLink and PCIe", "NVLink 与 PCIe"),
    "race.own": ("Your own", "自选"),
    "race.runners": ("Choose the runners", "选择参赛者"),
    "race.runner": ("Runner {number}", "参赛者 {number}"),
    "race.count": ("Runners", "参赛者数"),
    "race.on": ("{what} on", "{what} 开"),
    "race.off": ("{what} off", "{what} 关"),
    "race.nodes": ("{place}, {count} nodes", "{place}，{count} 个节点"),
    "race.network": (
        "{place}, {ranks} ranks, {bandwidth} and {alpha} per cable",
        "{place}，{ranks} 个 rank，每条线缆 {bandwidth}、{alpha}",
    ),
    "race.chunks": ("{count} chunks", "{count} 个 chunk"),
    "race.all": ("all that there are", "全部可用"),
    "race.server.rank": ("on rank 0", "在 rank 0 上"),
    "race.server.helper": ("on a machine of its own", "独占一台机器"),
    "race.large": (
        "{name}: {transfers} transfers are too many to race here (up to {limit} are). Use fewer ranks, chunks or "
        "channels.",
        "{name}：共 {transfers} 次传输，超出竞速的上限（{limit}）。请减少 rank、chunk 或 channel。",
    ),
    "race.failed": ("{name} cannot start: {why}", "{name} 无法出发：{why}"),
    "race.nobody": ("No runner is left; choose others.", "没有可以出发的参赛者；请另选。"),
    "race.cross": ("Up to {nbytes} {other} would be ahead of {first}.", "{nbytes} 以内，{other} 会快于 {first}。"),
    # a synthesized schedule against ring and tree
    "synthesis.show": ("What would close the gap?", "怎样缩小与下界的差距？"),
    "synthesis.show.help": (
        "Searches for the best schedule for this machine and size, and races it against ring and tree.",
        "为这台机器和这个数据量搜索最好的调度，并与环、树竞速。",
    ),
    "synthesis.title": ("Synthesized for this machine and size", "为这台机器和这个数据量合成"),
    "synthesis.close": ("Close", "关闭"),
    "synthesis.name": ("synthesized", "合成的调度"),
    "synthesis.run": ("{name}, as run above", "{name}（上面的运行）"),
    "synthesis.schedule": ("Schedule", "调度"),
    "synthesis.time": ("time, µs", "时间，µs"),
    "synthesis.busbw": ("busbw, GB/s", "busbw，GB/s"),
    "synthesis.times": ("{gap} × the lower bound", "下界的 {gap} 倍"),
    "synthesis.gap": ("× bound", "下界的倍数"),
    "synthesis.cut": ("at the cut, µs", "割上，µs"),
    "synthesis.chunks": ("waiting for chunks, µs", "等待 chunk，µs"),
    "synthesis.latency": ("latency, µs", "延迟，µs"),
    "synthesis.steps": ("steps", "步数"),
    "synthesis.parts": ("Where the time beyond the bound goes", "超出下界的时间花在哪里"),
    "synthesis.parts.note": (
        "Each time is the bound of {bound} and three parts, found by running again: the busiest link has more to carry "
        "than the bound asks of it (cut), it waits for chunks that are on their way, and latency. Ring and tree at "
        "their best channels and chunks.",
        "每个时间都是下界 {bound} 加上三部分，由重新运行得到：最忙的链路传送的比下界所需的多（割）、"
        "它等待尚在途中的 chunk、以及延迟。环和树取最佳的 channel 数与 chunk 数。",
    ),
    "synthesis.engine": ("All timed by the event engine.", "全部用 event 引擎计时。"),
    "synthesis.code": ("Take the schedule home", "把这个调度带走"),
    "synthesis.code.note": (
        "x.xml is a program of MSCCL; x.json and x.csv are read by collsim.",
        "x.xml 是 MSCCL 的程序；x.json 和 x.csv 可由 collsim 读取。",
    ),
    "synthesis.thinned": (
        "Played with {few} pieces per tree instead of {all}, so that the picture takes {time}.",
        "每棵树按 {few} 片播放，而不是 {all} 片，因此图中用时 {time}。",
    ),
    "synthesis.unplayed": (
        "Too many transfers to be played, timed all the same: {names}",
        "传输次数太多，无法播放，但已计时：{names}",
    ),
    "synthesis.add": ("Add the synthesized schedule", "加入合成的调度"),
    "synthesis.add.help": (
        "Finds the best schedule for this machine at every size; it takes a few seconds.",
        "为这台机器在每个数据量上寻找最好的调度；需要几秒钟。",
    ),
    "synthesis.at": ("Synthesized, at {nbytes}", "合成的调度，{nbytes}"),
    "synthesis.watch": ("Watch it on Explore", "在“探索”页上观看"),
    "race.nominal": ("Bandwidths: nominal, per direction.", "带宽均为标称值、单向。"),
}
