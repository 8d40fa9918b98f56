"""Words of the What-if page, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.whatif": ("What-if", "假如"),
    "whatif.title": ("What if …", "假如……"),
    "whatif.kind": ("All links of a kind", "某一类链路"),
    "whatif.factor": ("become", "变为"),
    "whatif.cable": ("One cable", "某一条线缆"),
    "whatif.do": ("becomes", "变为"),
    "whatif.placement": ("Rank order", "Rank 顺序"),
    "whatif.placement.same": ("as it is", "不变"),
    "whatif.placement.round-robin": ("round-robin over the nodes", "在节点间轮转"),
    "whatif.oversubscription": ("Oversubscription", "超订比"),
    "whatif.oversubscription.help": (
        "Ports down over capacity up, in a leaf-spine fabric or a fat tree.",
        "叶脊或胖树结构中，下行端口与上行容量之比。",
    ),
    "whatif.same": ("as it is", "不变"),
    "whatif.on": ("on", "开"),
    "whatif.off": ("off", "关"),
    "whatif.none": ("none", "无"),
    "whatif.half": ("half as fast", "一半带宽"),
    "whatif.tenth": ("a tenth as fast", "十分之一带宽"),
    "whatif.double": ("twice as fast", "两倍带宽"),
    "whatif.four": ("four times as fast", "四倍带宽"),
    "whatif.cut": ("broken", "断开"),
    "whatif.before": ("Before", "之前"),
    "whatif.after": ("After", "之后"),
    "whatif.times": ("{before} becomes {after}", "{before} 变为 {after}"),
    "whatif.faster": ("{times}\N{NO-BREAK SPACE}times faster", "速度是原来的 {times}\N{NO-BREAK SPACE}倍"),
    "whatif.slower": ("{times}\N{NO-BREAK SPACE}times slower", "用时是原来的 {times}\N{NO-BREAK SPACE}倍"),
    "whatif.equal": ("The same time", "用时相同"),
    "whatif.nothing": ("Nothing is changed yet: choose a change above.", "尚未改动：请在上方选择一项。"),
    "whatif.crossings": (
        "In a ring {before} of {all} neighbours are in different nodes before, {after} after.",
        "环上 {all} 对相邻 rank 中，之前有 {before} 对跨节点，之后有 {after} 对。",
    ),
    "whatif.straggler": ("Straggler", "掉队者"),
    "whatif.straggler.help": (
        "One slow rank: all cables of its GPU are slower, or it joins late.",
        "一个慢 rank：它的 GPU 的所有线缆变慢，或者它晚到。",
    ),
    "whatif.how": ("is", "的情况"),
    "whatif.slow2": ("half as fast", "一半带宽"),
    "whatif.slow10": ("a tenth as fast", "十分之一带宽"),
    "whatif.late100us": ("100 µs late", "晚到 100 µs"),
    "whatif.late1ms": ("1 ms late", "晚到 1 ms"),
    "whatif.jitter": ("Jitter", "抖动"),
    "whatif.jitter.help": (
        "Mean extra delay of every transfer, exponentially distributed. The pictures show the run with seed 0.",
        "每次传输的平均额外延迟，服从指数分布。图中是种子为 0 的那次运行。",
    ),
    "whatif.traffic": ("Other traffic", "背景流量"),
    "whatif.traffic.help": (
        "Another job: from rank 0, or from every rank, to the rank half the ranks further on, as many bytes as this "
        "run has, from the start.",
        "另一个作业：从 rank 0（或每个 rank）发往相隔半数 rank 的那个 rank，字节数与本次运行的数据量相同，"
        "从一开始就发送。",
    ),
    "whatif.traffic.one": ("from rank 0", "来自 rank 0"),
    "whatif.traffic.all": ("from every rank", "来自每个 rank"),
    "whatif.beside": ("Another collective", "另一个集合通信"),
    "whatif.beside.help": (
        "At the same time, of the same size: the same again (two jobs on one machine), or allreduce rings over "
        "groups of ranks, as tensor parallelism (inside each node) or data parallelism (across the nodes) has them.",
        "同时运行、数据量相同：再来一个同样的（两个作业共用一台机器），或在 rank 分组上做 ring allreduce，"
        "即张量并行（每个节点内）或数据并行（跨节点）的分组。",
    ),
    "whatif.beside.again": ("the same again", "再来一个"),
    "whatif.beside.tensor": ("tensor-parallel", "张量并行"),
    "whatif.beside.data": ("data-parallel", "数据并行"),
    "whatif.several": (
        "{count} collectives at once: this run (A) takes {time} instead of {alone} alone, {factor} times as long",
        "{count} 个集合通信同时运行：本次运行（A）用时 {time}，单独运行为 {alone}，是其 {factor} 倍",
    ),
    "whatif.several.free": (
        "{count} collectives at once: this run (A) takes {time}, as long as alone",
        "{count} 个集合通信同时运行：本次运行（A）用时 {time}，与单独运行相同",
    ),
    "whatif.several.others": (
        "Those beside it take {low} to {high} times as long as alone.",
        "与它同时运行的各项，用时为单独运行的 {low} 到 {high} 倍。",
    ),
    "whatif.several.other": (
        "What runs beside it takes {low} times as long as alone.",
        "与它同时运行的，用时为单独运行的 {low} 倍。",
    ),
    "whatif.several.other.free": (
        "What runs beside it takes as long as alone.",
        "与它同时运行的，用时与单独运行相同。",
    ),
    "whatif.event": (
        "With trouble there is no barrier after a step: both runs are of the event engine.",
        "有故障或干扰时，各步之后没有 barrier：两次运行都用 event 引擎。",
    ),
    "whatif.spread": (
        "{runs} runs, seeds 0 to {last}: median {median}, nine in ten between {low} and {high}; before, {before}",
        "{runs} 次运行，种子 0 到 {last}：中位数 {median}，九成在 {low} 与 {high} 之间；改动之前 {before}",
    ),
    "whatif.runs": ("runs", "次数"),
    "whatif.nocli": (
        "Other traffic has no option on the command line either: take the Python.",
        "背景流量在命令行中也没有选项：请用 Python。",
    ),
    "whatif.links": ("What moved, link by link", "逐条链路的变化"),
    "whatif.links.none": ("No link carries more or less.", "没有链路的流量发生变化。"),
    "whatif.mib.before": ("MiB before", "之前 MiB"),
    "whatif.mib.after": ("MiB after", "之后 MiB"),
    "whatif.busy.before": ("Busy before", "之前占用"),
    "whatif.busy.after": ("Busy after", "之后占用"),
    "whatif.tornado": ("What it would pay to make faster, after the change", "改动之后，加快哪里才有收益"),
    "whatif.tornado.note": (
        "Each bar: the share of the time that twice the bandwidth of this kind, or of this one cable, would save; "
        "each was run again.",
        "每一条：该类链路或该线缆带宽加倍后可省的时间占比；每一项都重新运行过。",
    ),
    "whatif.saves": ("time saved by doubling", "加倍可省的时间"),
    "whatif.large": (
        "This run has {transfers} transfers; what-if shows up to {limit}. Use fewer ranks, channels or chunks.",
        "这次运行有 {transfers} 次传输，超出本页的上限（{limit}）。请减少 rank、channel 或 chunk。",
    ),
}
