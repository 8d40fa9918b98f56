"""Words of files, out and in, in English and Chinese. A format without an entry here shows what its own file says about
it."""

TEXTS: dict[str, tuple[str, str]] = {
    "tab.files": ("Files", "文件"),
    "files.format": ("Take this run along as", "把这次运行存为"),
    "files.of": ("Of", "对象"),
    "files.race": ("the race as a table, a row for each", "整场竞速的表格，每方一行"),
    "files.nofilm": (
        "MP4 is not on offer: it needs the program ffmpeg, which this server does not have. GIF holds the same film.",
        "没有 MP4 选项：它需要 ffmpeg 程序，而本服务器未安装。GIF 是同样的动画。",
    ),
    "files.make": ("Make the file", "生成文件"),
    "files.take": ("Download {name}, {nbytes}", "下载 {name}，{nbytes}"),
    "files.trace": ("run", "运行"),
    "files.schedule": ("schedule", "调度"),
    "files.table": ("table over sizes", "各数据量的表格"),
    "files.topology": ("machine", "机器"),
    "files.give": ("Your own schedule …", "使用自己的调度……"),
    "files.change": ("From a file: {name}", "来自文件：{name}"),
    "files.note": (
        "MSCCL XML, JSON, CSV, TE-CCL, or the log of an NCCL job (NCCL_DEBUG=INFO), up to 2 MB. It is checked, "
        "timed on the machine below and played; it stays in this tab and is not part of the address.",
        "MSCCL XML、JSON、CSV、TE-CCL，或 NCCL 作业日志（NCCL_DEBUG=INFO），最大 2 MB。程序会检查它，"
        "在下方的机器上计时并播放；文件只留在本标签页，不进入链接。",
    ),
    "files.file": ("Schedule file", "调度文件"),
    "files.drop": ("Back to the algorithms", "回到算法列表"),
    "files.right": ("{name}: {label} is right.", "{name}：{label}，正确。"),
    "files.wrong": ("{name} does not do what it promises: {why}", "{name} 没有做到它所承诺的：{why}"),
    "format.chakra": (
        "Chakra execution traces for ASTRA-sim, one per rank",
        "供 ASTRA-sim 使用的 Chakra 执行轨迹，每个 rank 一个",
    ),
    "format.chrome-trace": ("Perfetto timeline, for ui.perfetto.dev", "Perfetto 时间线，用 ui.perfetto.dev 打开"),
    "format.csv": ("CSV, a row per transfer", "CSV，每次传输一行"),
    "format.html": ("the player in one page that needs no network", "单页播放器，无需联网"),
    "format.json": ("JSON, repeated steps kept short", "JSON，重复的步保持简短"),
    "format.latex": ("LaTeX table", "LaTeX 表格"),
    "format.markdown": ("Markdown table", "Markdown 表格"),
    "format.mp4": ("film of the run", "运行的影片"),
    "format.msccl": ("MSCCL XML, runs on real GPUs", "MSCCL XML，可在真实 GPU 上运行"),
    "format.nccl-tests": ("as nccl-tests prints it", "nccl-tests 的输出格式"),
    "format.nccl-tests-json": ("JSON of nccl-tests", "nccl-tests 的 JSON"),
    "format.svg": ("the same picture, to scale", "同一张图，矢量"),
    "format.timeline": ("what the player plays, as JSON", "播放器所播放的内容，JSON"),
    "format.topology-yaml": ("collsim's YAML", "collsim 的 YAML"),
    "format.astra-sim": ("ASTRA-sim network YAML", "ASTRA-sim 网络 YAML"),
}
