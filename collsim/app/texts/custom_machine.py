"""Words of a machine of one's own, wherever it can be chosen, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "own.give": ("Your own machine …", "使用自己的机器……"),
    "own.change": ("My machine: {file}", "我的机器：{file}"),
    "own.place": ("mine: {file}", "我的：{file}"),
    "own.note": (
        "Paste what nvidia-smi topo -m prints, an NCCL topology XML (NCCL_TOPO_DUMP_FILE), collsim's or ASTRA-sim's "
        "YAML, or give the file. It stays in the address of the page and goes nowhere else; Explore, Race, Compare, "
        "What-if and Machines use it.",
        "粘贴 nvidia-smi topo -m 的输出、NCCL 拓扑 XML（NCCL_TOPO_DUMP_FILE）、collsim 或 ASTRA-sim 的 YAML，"
        "也可以上传文件。内容只保存在网页链接中，不会发往别处；探索、竞速、对比、假如和机器各页都可使用。",
    ),
    "own.text": ("Topology text", "拓扑文本"),
    "own.file": ("Or a file", "或上传文件"),
    "own.use": ("Use it", "使用"),
    "own.drop": ("Back to the catalogue", "回到机器目录"),
    "own.download": ("Download {file}", "下载 {file}"),
    "own.long": (
        "{count} characters are too many for an address: the machine is used here, but a link to it cannot be shared.",
        "{count} 个字符太长，无法放进链接：机器可在此使用，但无法用链接分享。",
    ),
    "own.empty": ("Paste a topology, or give a file, first.", "请先粘贴拓扑文本或上传文件。"),
    "own.notes": ("What the text does not say, and what was assumed", "文本没有说明、因而作出假设的内容"),
    "own.alone": (
        "The text shows no network card, so there is one node.",
        "文本中没有网卡，因此只有一个节点。",
    ),
}
