"""Words of the Machines page, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.machines": ("Machines", "机器"),
    "machines.title": ("How rank {a} reaches rank {b}", "rank {a} 如何到达 rank {b}"),
    "machines.note": (
        "Click two ranks in a picture, or choose them above. Bandwidths: nominal, per direction.",
        "点击图中的两个 rank，或在上方选择。带宽均为标称值、单向。",
    ),
    "machines.place": ("Machine", "机器"),
    "machines.from": ("From", "从"),
    "machines.to": ("To", "到"),
    "machines.switch": ("Side by side", "并排比较"),
    "machines.p2p": ("P2P on, off", "P2P 开、关"),
    "machines.gdr": ("RDMA on, off", "RDMA 开、关"),
    "machines.says": (
        "{hops} links, {latency} of latency; alone it is limited to {rate} by {cable}.",
        "共 {hops} 段链路，延迟 {latency}；单独传输时受 {cable} 限制，最高 {rate}。",
    ),
    "machines.says.one": (
        "One link, {latency} of latency; alone it is limited to {rate} by {cable}.",
        "只有一段链路，延迟 {latency}；单独传输时受 {cable} 限制，最高 {rate}。",
    ),
    "machines.self": (
        "A rank reaches itself without any link; choose two.",
        "rank 到自身不经过任何链路；请选两个不同的。",
    ),
    "machines.hop": ("hop", "经过"),
    "machines.cable": ("link", "链路"),
    "machines.rate": ("GB/s", "GB/s"),
    "machines.latency": ("latency", "延迟"),
    "machines.used": ("used in the ring", "环中占用"),
    "machines.memory": (
        "The data cross host memory {count} times: written and read again.",
        "数据 {count} 次经过主机内存的链路：先写入，再读出。",
    ),
    "machines.direct": ("Host memory carries nothing.", "主机内存不承担任何传输。"),
    "machines.same": (
        "Both take the same way here: the switch changes nothing for these two.",
        "两种情况走同一条路：对这两个 rank 没有区别。",
    ),
    "machines.none": ("{what}: no way. {why}", "{what}：无路可走。{why}"),
    "machines.alone": (
        "{nbytes} from rank {a} to rank {b}, nothing else running",
        "{nbytes} 从 rank {a} 到 rank {b}，无其他传输",
    ),
    "machines.ring": ("{nbytes} ring allreduce over all {ranks} ranks", "{ranks} 个 rank 的 {nbytes} 环形 allreduce"),
    "machines.cost": (
        "Alone, off takes {alone} × the time; in a ring over all ranks {ring} ×.",
        "单独传输时，关闭后用时是 {alone} 倍；所有 rank 跑环时是 {ring} 倍。",
    ),
    "machines.cost.same": (
        "Alone, off costs next to nothing; in a ring over all ranks {ring} × the time.",
        "单独传输时，关闭后几乎没有代价；所有 rank 跑环时用时是 {ring} 倍。",
    ),
    "machines.cost.none": (
        "Off costs next to nothing: not alone, and not in a ring over all ranks.",
        "关闭几乎没有代价：单独传输如此，所有 rank 跑环也如此。",
    ),
    "machines.play": ("Play", "播放"),
    "machines.pause": ("Pause", "暂停"),
    "machines.paste": ("Your own machine", "您自己的机器"),
    "machines.large": (
        "{ranks} ranks are more than this page draws ({limit}); use fewer nodes.",
        "{ranks} 个 rank 超出本页的上限（{limit}）；请减少节点。",
    ),
    "machines.open_in": ("Use this machine in", "用这台机器："),
    "machines.break": ("Break the cable {cable}: which schedule then?", "断开线缆 {cable}：该用哪种调度？"),
    "machines.about": ("About this machine", "关于这台机器"),
}
