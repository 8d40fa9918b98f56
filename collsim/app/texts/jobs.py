"""Words about work that takes longer, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "work.queue": ("Waiting for a free processor: {count} before this one", "等待空闲的处理器：前面还有 {count} 项"),
    "work.about": ("{doing}: about {about} s in all, {so_far} s so far", "{doing}：共约 {about} 秒，已用 {so_far} 秒"),
    "work.unknown": ("{doing}: {so_far} s so far", "{doing}：已用 {so_far} 秒"),
    "work.late": (
        "{doing}: {so_far} s so far, longer than the {about} s that were expected",
        "{doing}：已用 {so_far} 秒，超过预计的 {about} 秒",
    ),
    "work.compile": (
        "Compiling the event engine, once on this machine: about {about} s, {so_far} s so far",
        "正在编译事件引擎（每台机器只需一次）：约 {about} 秒，已用 {so_far} 秒",
    ),
    # what is being done, by the stage that a computation tells
    "work.start": ("Computing", "计算中"),
    "work.run": ("Computing", "计算中"),
    "work.rates": ("Sharing the links among all pairs of ranks", "正在给所有 rank 对分配带宽"),
    "work.trees": ("Packing trees", "正在装树"),
    "work.timing": ("Timing the trees, whole and in pieces", "正在给整棵和切块的树计时"),
    "work.matching": ("Matching chunks and links", "正在匹配 chunk 与链路"),
    "work.solver": ("Looking for the fewest steps", "正在寻找最少的步数"),
    "work.library": ("Timing ring, tree and the like", "正在给环、树等算法计时"),
    "work.stop": ("Cancel", "取消"),
    "work.stopped": ("Stopped before it was done.", "已在完成前停止。"),
    "work.died": (
        "The computation ended by itself; most likely it ran out of memory.",
        "计算中途退出，很可能是内存不足。",
    ),
    "work.many": (
        "This device, or the class as a whole, has as many computations under way as the server takes.",
        "此设备或全班正在进行的计算已达服务器上限。",
    ),
    "server.busy": (
        "The server is busy, and this device has used much of it. The page goes on by itself in a few seconds.",
        "服务器繁忙，而且此设备用得较多。页面将在几秒后自动继续。",
    ),
    "work.again": ("Run it after all", "重新运行"),
}
