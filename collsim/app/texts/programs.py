"""Words of the page Bring your program, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.program": ("Bring your program", "带上你的程序"),
    "program.title": ("Bring your program", "带上你的程序"),
    "program.below": (
        "Paste what one rank does. All ranks run it; the result is checked, and who waits for whom is drawn.",
        "粘贴一个 rank 要做的事。所有 rank 都运行它；检查结果，并画出谁在等谁。",
    ),
    "program.editor": (
        "Source of the program; Escape, then Tab leaves the editor",
        "程序的源代码；先按 Esc 再按 Tab 可离开编辑器",
    ),
    "program.how": (
        "torch.distributed, mpi4py, threads, asyncio or numpy. It runs as you type, at once with Ctrl+Enter, in a "
        "sandbox without network.",
        "可用 torch.distributed、mpi4py、线程、asyncio 或 numpy。"
        "边写边运行（Ctrl+Enter 立即运行），在没有网络的沙箱里。",
    ),
    "program.start": ("Start from", "从这里开始"),
    "program.start.ring": ("The tutorial's ring", "教程里的环"),
    "program.start.send": ("Send, then receive", "先发送，再接收"),
    "program.start.farm": ("Task farm", "任务分发"),
    "program.start.own": ("Your own", "自己的程序"),
    "program.collective": ("It should be", "它应当是"),
    "program.none": ("anything", "任意"),
    "program.nbytes": ("Each rank brings", "每个 rank 带来"),
    "program.place": ("Machine", "机器"),
    "program.plain": ("Computers, 10 Gbit/s, 50 µs", "计算机，10 Gbit/s，50 µs"),
    "program.late": ("Late", "迟到"),
    "program.nobody": ("nobody", "无"),
    "program.late.rank": ("rank {rank}, 0.3 ms", "rank {rank}，0.3 ms"),
    "program.buffered": ("Messages are buffered up to", "消息缓冲的上限"),
    "program.library": ("the library's limit", "库的上限"),
    "program.unbuffered": ("none", "不缓冲"),
    "program.all": ("all", "全部"),
    # what came of it
    "program.notrun": ("This program is not run.", "这个程序没有运行。"),
    "program.verdict.right": ("Right", "正确"),
    "program.verdict.ends": ("It ends", "能结束"),
    "program.verdict.wrong": ("Wrong", "错误"),
    "program.verdict.hangs": ("Hangs", "死锁"),
    "program.verdict.error": ("An exception", "异常"),
    "program.verdict.race": ("By luck", "侥幸"),
    "program.facts": (
        "{messages} messages, {time}; the busiest rank sends {sent}.",
        "{messages} 条消息，{time}；最忙的 rank 发送 {sent}。",
    ),
    "program.facts.hangs": (
        "After {time} nothing moves. Messages that were sent: {messages}.",
        "{time} 之后再没有数据移动。已发出的消息：{messages} 条。",
    ),
    "program.facts.never": (
        "No message ever moves; {messages} were sent.",
        "没有一条消息移动过；已发出 {messages} 条。",
    ),
    "program.compare": (
        "It takes {share} times as long as the library's ring ({time}).",
        "用时是库中环形算法（{time}）的 {share} 倍。",
    ),
    "program.legend.wait": ("waits, in the call and line named", "等待，标出调用和行号"),
    "program.legend.message": ("message", "消息"),
    "program.legend.ever": ("waits for ever; arrows: for whom", "永远等待；箭头指向所等的 rank"),
    "program.table": ("As a table", "表格"),
    "program.rank": ("Rank", "rank"),
    "program.sent": ("sent", "发送"),
    "program.received": ("received", "接收"),
    "program.waited": ("waited", "等待"),
    "program.ever": ("for ever", "永远"),
    "program.single": (
        "No messages: one process holds the data of all, so there is nothing that ranks wait for.",
        "没有消息：一个进程持有全部数据，rank 之间没有等待。",
    ),
    "program.printed": ("It printed", "输出"),
    "program.results": ("Results", "结果"),
    "program.mend": ("Mend it", "修复"),
    "program.mend.note": (
        "Each was run, on {ranks} ranks; it takes {times}.",
        "每种都已实际运行（{ranks} 个 rank），用时 {times}。",
    ),
    "program.schedule": ("As a schedule", "作为 schedule"),
    "program.schedule.note": (
        "All sends and receives met: {steps} steps, {transfers} transfers.",
        "所有发送和接收都已配对：{steps} 步，{transfers} 次传输。",
    ),
    "program.noschedule": ("Its messages make no schedule: {reason}.", "它的消息不构成 schedule：{reason}。"),
}
