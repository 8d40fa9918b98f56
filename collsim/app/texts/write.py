"""Words of the pages Write your own and Bring your program, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.write": ("Write your own", "自己编写"),
    "write.title": ("Write a collective, and see whether it is one", "自己写一个集合通信，看它对不对"),
    "write.how": (
        "A function of n that yields steps. `cs.copy(src, dst, chunk)` replaces, `cs.reduce(src, dst, chunk)` adds; "
        "all transfers of one yield run at the same moment. It is checked as you type (at once with Ctrl+Enter).",
        "写一个关于 n 的函数，逐步 yield。`cs.copy(src, dst, chunk)` 覆盖，`cs.reduce(src, dst, chunk)` 相加；"
        "同一个 yield 中的传输同时进行。边写边检查（Ctrl+Enter 立即检查）。",
    ),
    "write.start": ("Start from", "从这里开始"),
    "write.start.ring": ("Ring", "环（ring）"),
    "write.start.short": ("Ring, one step too few", "环，少了一步"),
    "write.start.double": ("Ring that adds twice", "环，重复相加"),
    "write.start.naive": ("One after another", "逐个收发"),
    "write.start.server": ("Parameter server", "参数服务器"),
    "write.start.broadcast": ("Broadcast, doubling", "广播，逐次翻倍"),
    "write.start.own": ("Your own", "自己的代码"),
    "write.place": ("Run it on", "运行在"),
    "write.editor": (
        "Code of the algorithm; Escape, then Tab leaves the editor",
        "算法的代码；先按 Esc 再按 Tab 可离开编辑器",
    ),
    "write.cables": ("Cables of 25 GB/s and 1 µs, nominal, per direction.", "每条线缆 25 GB/s、1 µs（标称值，单向）。"),
    # verdict
    "write.right": (
        "Right: {ranks} ranks hold what {collective} asks for.",
        "正确：{ranks} 个 rank 都得到了 {collective} 要求的结果。",
    ),
    "write.others": ("It is also right for {others} ranks.", "对 {others} 个 rank 也正确。"),
    "write.otherwrong": ("With {failed} ranks it is not right:", "但 {failed} 个 rank 时不正确："),
    "write.wrong": (
        "Not right yet: look at {who}, chunk {chunk}, step {step}.",
        "还不对：请看 {who} 的 chunk {chunk}，第 {step} 步。",
    ),
    "write.where": ("Not right yet: look at {who}, chunk {chunk}.", "还不对：请看 {who} 的 chunk {chunk}。"),
    "write.noplace": ("Not right yet.", "还不对。"),
    "write.line": ("Line {line}: ", "第 {line} 行："),
    "write.notrun": ("This code is not run.", "这段代码没有运行。"),
    "write.diagram": ("The steps, as text", "各步的文字图"),
    "write.legend": (
        "+2←3 adds what comes in chunk 2 from rank 3, =2←3 replaces; steps count from 1, as in the player.",
        "+2←3：加上来自 rank 3 的 chunk 2；=2←3：用它覆盖。步从 1 数起，与播放器一致。",
    ),
    "write.more": (
        "{steps} steps in all; steps {first} to {last} are shown.",
        "共 {steps} 步；这里显示第 {first} 到 {last} 步。",
    ),
    "write.printed": ("Your code printed", "代码的输出"),
    "write.sent": ("The busiest sends", "最忙的 rank 发送"),
    "write.sent.note": ("{share} of its buffer", "缓冲区的 {share} 倍"),
    "write.steps": ("Steps", "步数"),
    "write.steps.note": ("{transfers} transfers", "共 {transfers} 次传输"),
    "write.cannot": ("These steps cannot be played: {why}", "这些步无法播放：{why}"),
    "write.kept": ("The picture still shows the last code that ran.", "图中仍是上一次能运行的代码。"),
    "write.nosteps": ("As soon as the code yields steps, they play here.", "代码一旦给出步，就会在这里播放。"),
    # safety
    "write.safe": ("What runs here, what may not, and why that is safe", "这里能运行什么、不能运行什么、为什么安全"),
    "write.safe.text": (
        "**Read before it runs.** The code is restricted Python: loops, arithmetic, functions, lists, numpy's array "
        "functions and "
        "collsim's {steps}. Any other import, any name with a leading underscore and any attribute that is not on a "
        "list is refused, with "
        "its line, before anything runs. That keeps mistakes short; it is not what keeps the server safe.\n\n"
        "**Shown before it runs.** Code that came in a link runs only after a click.\n\n"
        "**A process of its own.** What passes runs in a fresh Python process with an empty environment, for at most "
        "{seconds} seconds, "
        "with {memory} of memory, {stepcount} steps and {transfers} transfers. Then it is "
        "ended.\n\n"
        "**Only a table comes back.** The process sends transfers, never a verdict and never an object. They are "
        "checked here, so code "
        "cannot claim to be right.",
        "**先读，后运行。**代码是受限的 Python：循环、算术、函数、列表、numpy 的数组函数，以及 collsim 的 {steps}。"
        "其他 import、以下划线开头的名字、不在清单上的属性，都会在运行之前被拒绝，并指出所在的行。"
        "这样错误更容易看懂；但保证服务器安全的不是这份清单。\n\n"
        "**先显示，后运行。**链接里带来的代码，点击之后才会运行。\n\n"
        "**独立的进程。**通过检查的代码在一个全新的 Python 进程中运行，环境变量为空，最多 {seconds} 秒、{memory} "
        "内存；最多 "
        "{stepcount} 步、{transfers} 次传输。之后进程即被结束。\n\n"
        "**只有一张表传回来。**进程传回的是传输表，不是结论，也不是对象。检查在这里进行，所以代码无法谎称自己正确。",
    ),
    "write.isolation": (
        "**A sandbox.** The Linux kernel holds that process: it computes and answers, and that is all. It "
        "opens no file but Python's own, writes nowhere, starts nothing, signals nobody and reaches no network "
        "(seccomp and Landlock). Where bubblewrap works, it besides sees no other file, process or network at all.",
        "**沙箱。**Linux 内核限制该进程：它只能计算和回答。除 Python 自身的文件外不能打开任何文件，不能写入，"
        "不能启动进程，不能发信号，不能访问网络（seccomp 与 Landlock）。在 bubblewrap 可用的系统上，它连其他文件、"
        "进程和网络都看不到。",
    ),
    "write.isolation.bubblewrap": (
        "This server has all three: bubblewrap, seccomp and Landlock.",
        "本服务器三者都有：bubblewrap、seccomp 和 Landlock。",
    ),
    "write.isolation.landlock": (
        "This server has seccomp and Landlock; bubblewrap does not work here.",
        "本服务器有 seccomp 和 Landlock；bubblewrap 在此不可用。",
    ),
    "write.isolation.none": (
        "This server has no sandbox; code runs here only after somebody at this computer has agreed.",
        "本服务器没有沙箱；只有本机的使用者同意之后，代码才会在这里运行。",
    ),
    # before it runs
    "write.link": (
        "This code came in a link and has not run. Read it; run it if you want to. Whoever made the link wrote it.",
        "这段代码来自一个链接，尚未运行。请先阅读，再决定是否运行。代码是制作链接的人写的。",
    ),
    "write.link.run": ("Run the code from the link", "运行链接中的代码"),
    "write.unsandboxed": (
        "This system has no sandbox for code (neither bubblewrap nor Landlock with seccomp), so it is not run.",
        "本系统没有可用的隔离手段（没有 bubblewrap，也没有 Landlock 加 seccomp），因此不运行代码。",
    ),
    "write.unsandboxed.ask": (
        "What runs here may do all that your account may: read and delete your files, use the network. Agree only "
        "if you run your own code. It holds until the app ends.",
        "在这里运行的代码可以做您的账户能做的一切：读取和删除您的文件、访问网络。只有在运行自己的代码时才应同意。"
        "同意在应用结束前有效。",
    ),
    "write.unsandboxed.agree": ("Run my code without a sandbox", "不加隔离，运行我的代码"),
    "write.unsandboxed.open": (
        "This server can be reached by others, so that cannot be changed here; on Linux, install bubblewrap.",
        "本服务器可被他人访问，因此不能在这里更改；在 Linux 上请安装 bubblewrap。",
    ),
    "write.keep": ("Download my_algorithm.py", "下载 my_algorithm.py"),
    "write.keep.note": ("On your own machine, for 2 to 32 ranks:", "在自己的机器上，检查 2 到 32 个 rank："),
    "write.take": ("Take it with you", "带走这段代码"),
    # refusals of allowed.py
    "write.long": (
        "The code has {characters} characters; at most {limit} are run here.",
        "代码有 {characters} 个字符；这里最多运行 {limit} 个。",
    ),
    "write.syntax": ("Python cannot read this: {why}.", "Python 读不懂这里：{why}。"),
    "write.deep": ("The code is nested too deeply.", "代码嵌套过深。"),
    "write.nofunction": (
        "There is no function yet; begin with def my_allreduce(n): and yield steps in it.",
        "还没有函数；请以 def my_allreduce(n): 开头，并在其中 yield 各步。",
    ),
    "write.noargument": (
        "{name}() must take the number of ranks: def {name}(n).",
        "{name}() 必须接收 rank 数：def {name}(n)。",
    ),
    "write.import": (
        "{name} cannot be imported here; there are numpy and collsim's step functions.",
        "这里不能 import {name}；可用的有 numpy 和 collsim 写步的函数。",
    ),
    "write.name": ("{name} cannot be used here.", "这里不能使用 {name}。"),
    "write.statement": ("a {name} statement cannot be used here.", "这里不能使用 {name} 语句。"),
    "write.underscore": (
        "{name} begins with an underscore; such names cannot be used here.",
        "{name} 以下划线开头；这里不能使用这样的名字。",
    ),
    "write.attribute": ("{name} is not on the list of what can be used here.", "{name} 不在可用清单上。"),
    # the page Bring your program
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
    "program.ranks": ("{count} ranks", "{count} 个 rank"),
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
    # the page Hangs
    "page.hangs": ("Hangs", "作业挂起"),
    "hangs.list": ("Twelve ways to hang a job", "让作业挂起的十二种方式"),
    "hangs.count": ("Hang {number} of {all} · {library}", "第 {number} 种，共 {all} 种 · {library}"),
    "hangs.signs": ("What a cluster shows", "集群上看到什么"),
    "hangs.stacks": (
        "Stacks as Python's faulthandler prints them, without the frames inside of the library:",
        "Python faulthandler 打印的调用栈（略去库内部的帧）：",
    ),
    "hangs.difference": ("How to tell it apart", "怎样区分"),
    "hangs.mend": ("The mend", "修复"),
    "hangs.mended": ("It was run, on {ranks} ranks: {text}", "已实际运行（{ranks} 个 rank）：{text}"),
    "hangs.open": ("Change it in Bring your program", "在“带上你的程序”中修改"),
    "hangs.open.mended": ("Open the repaired program", "打开修复后的程序"),
}
