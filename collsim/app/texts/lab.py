"""Words of the page Lab, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.lab": ("Lab", "实验"),
    "lab.what": ("What to run", "运行什么"),
    "lab.algorithm": ("Algorithm", "算法"),
    "lab.nbytes": ("Size", "大小"),
    "lab.ranks": ("Processes", "进程数"),
    "lab.network": ("The network to imitate", "模仿怎样的网络"),
    "lab.bandwidth": ("Bandwidth, each way", "带宽，单向"),
    "lab.alpha": ("Latency α of each message", "每条消息的延迟 α"),
    "lab.late": ("Make one rank late, by {time}", "让一个 rank 晚到 {time}"),
    "lab.slow": ("Make one cable slower, {factor} times", "让一根网线慢到 {factor} 分之一"),
    "lab.nobody": ("nobody", "没有"),
    "lab.often": ("How often", "多少次"),
    "lab.repeat": ("Runs", "次数"),
    "lab.run": ("Run", "运行"),
    "lab.again": ("Run it again", "再运行一次"),
    "lab.small": (
        "Processes of this computer, over its loopback address only. Every run is checked against replay, bit for bit.",
        "本机的进程，只经本机回环地址。每次运行都与 replay 逐位核对。",
    ),
    "lab.elsewhere": (
        "Only who sits at the computer that serves this page can start processes on it; here you see the prediction.",
        "只有坐在提供本页的计算机前的人才能在其上启动进程；这里只显示预测。",
    ),
    "lab.predicted": ("Predicted", "预测"),
    "lab.asked": ("on the network as asked", "按所要求的网络"),
    "lab.median": ("Measured, median", "实测，中位数"),
    "lab.longer": ("{runs} runs, {share} longer", "{runs} 次，长 {share}"),
    "lab.shorter": ("{runs} runs, {share} shorter", "{runs} 次，短 {share}"),
    "lab.calibrated": ("Predicted, calibrated", "校准后的预测"),
    "lab.too.short": ("{share} too short", "短了 {share}"),
    "lab.too.long": ("{share} too long", "长了 {share}"),
    "lab.why": ("Why", "原因"),
    "lab.nothing": ("Nothing is measured yet.", "还没有实测。"),
    "lab.says": (
        "Run starts {processes} processes on this computer and puts what they do below the prediction.",
        "“运行”会在本机启动 {processes} 个进程，把它们所做的放在预测下面。",
    ),
    "lab.other": (
        "The figures are of the last run; what you have chosen since is not measured yet.",
        "这些数字属于上一次运行；此后所选的还没有实测。",
    ),
    "lab.checked": (
        "{elements} elements checked: all as replay has them ({processes} processes on {cores} processors).",
        "已检查 {elements} 个元素：与 replay 全部相同（{cores} 个处理器上 {processes} 个进程）。",
    ),
}
