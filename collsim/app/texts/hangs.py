"""Words of the page Hangs, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
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
