"""Words about work that takes longer, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "work.queue": ("Waiting for a free processor: {count} before this one", "等待空闲的处理器：前面还有 {count} 项"),
    "work.start": ("Computing: about {about} s in all, {so_far} s so far", "计算中：共约 {about} 秒，已用 {so_far} 秒"),
    "work.run": ("Computing: about {about} s in all, {so_far} s so far", "计算中：共约 {about} 秒，已用 {so_far} 秒"),
    "work.unknown": ("Computing: {so_far} s so far", "计算中：已用 {so_far} 秒"),
    "work.late": (
        "Computing: {so_far} s so far, longer than the {about} s that were expected",
        "计算中：已用 {so_far} 秒，超过预计的 {about} 秒",
    ),
    "work.compile": (
        "Compiling the event engine, once on this machine: about {about} s, {so_far} s so far",
        "正在编译事件引擎（每台机器只需一次）：约 {about} 秒，已用 {so_far} 秒",
    ),
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
    "work.again": ("Run it after all", "重新运行"),
}
