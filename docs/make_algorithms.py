"""Write docs/algorithms.md and docs/algorithms.zh.md from the registry: `python docs/make_algorithms.py`. A test checks
that they are current."""

from pathlib import Path

import numpy as np

import collsim as cs

#: A page for each language.
PAGES = [Path(__file__).with_name(name) for name in ("algorithms.md", "algorithms.zh.md")]
INTRODUCTIONS = (
    """\
# Algorithms

`make docs` makes this page from the registry. The tests check that it is current, that every schedule keeps the
promise of its collective for 1 to 33 ranks, and that steps, bytes and formula equal the costs of the schedule.

- n is the number of ranks, K the bytes of the operation (nccl-tests' size), c the number of chunks. α is seconds
  per message, β seconds per byte through one port in one direction, γ seconds per byte reduced.
- Formulas hold for one full-duplex port per rank (`switch`) unless another network is named. ≤ marks an upper bound
  that a schedule with many chunks approaches.
- **Sent** is the volume that the busiest endpoint sends, in buffers of K. It is counted in the schedule for n = 8,
  or for the nearest n that an algorithm accepts (then named). If that endpoint is a parameter server or a switch,
  the busiest rank follows.
- In the diagrams a row is an endpoint and a column a step: `+2←3` adds chunk 2 from rank 3, `=2←3` copies it, `2→6`
  reads slot 2 and writes slot 6.
""",
    """\
# 算法

本页由 `make docs` 根据注册表生成。测试检查本页是否最新，每个调度在 1 到 33 个 rank 上是否做到其集合通信所承诺的，
以及步数、字节和公式是否就是调度的真实代价。

- n 是 rank 数，K 是这次操作的字节数（nccl-tests 的 size），c 是 chunk 数。α 是每条消息的秒数，β 是每字节单向
  经过一个端口的秒数，γ 是归约每字节的秒数。
- 除非写明其他网络，公式适用于每个 rank 一个全双工端口的网络（`switch`）。≤ 表示上界，chunk 很多时与它接近。
- **发送**是最忙的端点所发送的量，以 K 的缓冲区计，在 n = 8 的调度中数出，或在算法能取的最接近的 n 上（这时写明）。
  最忙的是参数服务器或交换机时，后面是最忙的 rank。
- 图中一行是一个端点，一列是一步：`+2←3` 加上来自 rank 3 的 chunk 2，`=2←3` 复制它，`2→6` 读槽 2、写槽 6。
""",
)
HEADS = (
    ("algorithm", "steps, n = 8", "sent, n = 8", "cost", "best when"),
    ("算法", "步数，n = 8", "发送，n = 8", "代价", "何时最好"),
)
LABELS = (
    ("In a step", "Best when", "Options", "none", "Source", ": ", "; a rank "),
    ("一步之中", "何时最好", "选项", "无", "出处", "：", "；每个 rank "),
)

#: Behind a formula that is exact on another network than a switch.
NETWORKS = (" (on a {network})", "（在 {network} 上）")


def count_channels(entry: cs.Algorithm, n: int) -> int:
    """The nearest number of ranks that an algorithm takes, from n on."""
    return next(k for k in range(n, 8 * n) if entry.ranks is None or entry.ranks(k) is None)


def format_difference(n: int, usual: int) -> str:
    """A remark where a figure is not for the usual number of ranks."""
    return "" if n == usual else f" (n = {n})"


def format_formula(entry: cs.Algorithm, language: int) -> str:
    """The cost in words of that language."""
    formula = entry.formula[language]
    if entry.network == "switch":
        return formula
    return formula + NETWORKS[language].format(network=entry.network)


def measure_sent(entry: cs.Algorithm, n: int, language: int) -> str:
    """Buffers sent by the busiest endpoint, and by the busiest rank where that is another one."""
    s = entry(n)
    t = s.transfers[s.transfers["src"] != s.transfers["dst"]]
    shares = np.resize(s.shares or np.full(s.chunks, 1 / s.chunks), s.slots)
    busy = np.bincount(t["src"], shares[t["chunk"]], s.endpoints).tolist()
    text = f"{max(busy):.4g}"
    return text if max(busy) == max(busy[:n]) else f"{text}{LABELS[language][-1]}{max(busy[:n]):.4g}"


def build_row(entry: cs.Algorithm, language: int) -> str:
    """One line of a collective's table."""
    n = count_channels(entry, 8)
    cells = [
        f"[`{entry.name}`](#{entry.name})",
        f"{entry(n).steps}{format_difference(n, 8)}",
        measure_sent(entry, n, language),
        format_formula(entry, language),
        entry.when[language],
    ]
    return "| " + " | ".join(cells) + " |"


def build_section(entry: cs.Algorithm, language: int) -> str:
    """What one algorithm does, when to use it, its options, its source and its picture for n = 4. What its docstring
    says is English."""
    step, best, choices, none, source, colon, _ = LABELS[language]
    options = ", ".join(f"`{o.name}={o.default!r}`" for o in entry.options.values()) or none
    lines = [
        *([] if language else [entry.doc, ""]),
        f"- {step}{colon}{entry.summary[language]}",
        f"- {best}{colon}{entry.when[language]}",
        f"- {choices}{colon}{options}",
        f"- {source}{colon}{entry.source}",
    ]
    return "\n".join([f"### {entry.name}", "", *lines, "", "```text", str(entry(count_channels(entry, 4))), "```", ""])


def build_page(language: int = 0) -> str:
    """The whole page, in English (0) or Chinese (1)."""
    parts = [INTRODUCTIONS[language]]
    for name in cs.collectives():
        entries = list(cs.algorithms(name).values())
        if entries:
            head = [f"| {' | '.join(HEADS[language])} |", "|" + " --- |" * len(HEADS[language])]
            parts.append("\n".join([f"## {name}", "", *head, *(build_row(entry, language) for entry in entries), ""]))
            parts += [build_section(entry, language) for entry in entries]
    return "\n".join(parts)


if __name__ == "__main__":
    for number, path in enumerate(PAGES):
        path.write_text(build_page(number), encoding="utf-8")
