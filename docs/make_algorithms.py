"""Write docs/algorithms.md and docs/algorithms.zh.md from the registry: `python docs/make_algorithms.py`. A test checks
that they are current."""

import re
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

- n is the number of ranks, S the bytes of the operation (nccl-tests' size), c the number of chunks. α is seconds
  per message, β seconds per byte through one port in one direction, γ seconds per byte reduced.
- Formulas hold for one full-duplex port per rank (`switch`) unless another network is named. ≤ marks an upper bound
  that a schedule with many chunks approaches.
- **Sent** is the volume that the busiest endpoint sends, in buffers of S. It is counted in the schedule for n = 8,
  or for the nearest n that an algorithm accepts (then named). If that endpoint is a parameter server or a switch,
  the busiest rank follows.
- In the diagrams a row is an endpoint and a column a step: `+2←3` adds chunk 2 from rank 3, `=2←3` copies it, `2→6`
  reads slot 2 and writes slot 6.
""",
    """\
# 算法

本页由 `make docs` 根据注册表生成。测试检查本页是否最新，每个调度在 1 到 33 个 rank 上是否做到其集合通信所承诺的，
以及步数、字节和公式是否就是调度的真实代价。

- n 是 rank 数，S 是这次操作的字节数（nccl-tests 的 size），c 是 chunk 数。α 是每条消息的秒数，β 是每字节单向
  经过一个端口的秒数，γ 是归约每字节的秒数。
- 除非写明其他网络，公式适用于每个 rank 一个全双工端口的网络（`switch`）。≤ 表示上界，chunk 很多时与它接近。
- **发送**是最忙的端点所发送的量，以 S 的缓冲区计，在 n = 8 的调度中数出，或在算法能取的最接近的 n 上（这时写明）。
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
#: Words of the formulas in Chinese, the longer ones first.
WORDS = (
    (
        r" on a ring of full-duplex cables, n > 2 \(two ranks have one cable only\)",
        "，全双工线缆的环，n > 2（两个 rank 只有一根线缆）",
    ),
    (
        r" with W = n−1 workers \(server a rank\) or n \(server a separate host\)",
        "，W = n−1 个 worker（服务器是 rank）或 n 个（服务器另占一台主机）",
    ),
    (r" with k shards on ranks \(k = n: the ring's volume\)", "，k 个分片放在 rank 上（k = n 时字节与 ring 相同）"),
    (r" with k separate hosts", "，k 个分片另占主机"),
    (
        r" for a power of two; else the ones in 0\.\.n−1 count, each a block",
        "，n 为 2 的幂时；否则 0..n−1 的二进制中每个 1 计一块",
    ),
    (r"through a NIC only (\S+), in messages g times as large", r"经网卡的只有 \1，消息是 g 倍大"),
    (r"limited by the head, which serves chain and network", "受限于链头，它同时服务链和网络"),
    (r" inside \+ (\S+) through each GPU's NIC", r"（节点内）+ \1（经每个 GPU 的网卡）"),
    (r"(\S+) over NVLink, (\S+) through the NIC, of one port", r"NVLink 上 \1，网卡上 \2，按一个端口计"),
    (r"n not a power of two, p the one below", "n 不是 2 的幂时，p 为小于 n 的最大的 2 的幂"),
    (r"n not a power of two", "n 不是 2 的幂时"),
    (r" for n a power of b", "，n 为 b 的幂时"),
    (r"N nodes of g ranks", "N 个节点各有 g 个 rank"),
    (r"N nodes of g", "N 个节点各有 g 个"),
    (r"g ranks per node", "每个节点 g 个 rank"),
    (r" with one rank per node", "，每个节点一个 rank 时"),
    (r" for many chunks", "，chunk 很多时"),
    (r"in (c ≥ .+?) chunks", r"分成 \1 个 chunk 时"),
    (r"in c chunks", "分成 c 个 chunk 时"),
    (r"a rank sends and receives S, for any n", "每个 rank 收发 S，与 n 无关"),
    (r"with all 2D ports of (the|a) torus", "用 torus 的全部 2D 个端口时"),
    (r"with at most a blocks a message about", "每条消息至多 a 块时约为"),
    (r"\((\d)-D\)", r"（\1 维）"),
    (r" through one port", "，经一个端口"),
    (r"the root's port stays the bottleneck", "root 的端口仍是瓶颈"),
    (r"less where the last round is not full", "最后一轮不满时更少"),
    (r"equal on complete trees", "在完全树上取等号"),
    (r"(\S+) up, (\S+) down", r"上行 \1，下行 \2"),
    (r"fully aggregated", "完全聚合时"),
    (r"neighbours only", "只与邻居通信"),
    (r"all rings", "全部用 ring"),
    (r"k servers", "k 个服务器"),
    (r"s and r: share of the busiest rank", "s 和 r 为最忙 rank 的份额"),
    (r"m: share of the busiest rank", "m 为最忙 rank 的份额"),
    (r"mₖ: largest share", "mₖ 为最大份额"),
    (r"D = depth", "D 为深度"),
    (r"best c", "最好的 c"),
    (r"about ", "约 "),
    (r" \(on a (\w+)\)", r"（在 \1 上）"),
    (r", (?=(?:[Nk] )?[^\x00-\x7f])", "，"),
    (r"; ", "；"),
    (r": ", "："),
)


def count_channels(entry: cs.Algorithm, n: int) -> int:
    """The nearest number of ranks that an algorithm takes, from n on."""
    return next(k for k in range(n, 8 * n) if entry.ranks is None or entry.ranks(k) is None)


def format_difference(n: int, usual: int) -> str:
    """A remark where a figure is not for the usual number of ranks."""
    return "" if n == usual else f" (n = {n})"


def format_formula(entry: cs.Algorithm, language: int) -> str:
    """The cost in words of that language."""
    text = entry.formula + ("" if entry.network == "switch" else f" (on a {entry.network})")
    for english, chinese in WORDS if language else ():
        text = re.sub(english, chinese, text)
    return text


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
