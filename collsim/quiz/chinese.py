"""The sentences of `verify` and of schedules that cannot be, in Chinese; one without a Chinese form stays English."""

from __future__ import annotations

import re

_PATTERNS: list[tuple[str, str]] = [
    (
        r"(\S+), step (\d+): (.+?) sends chunk (\d+) to (.+?), but holds nothing in it yet",
        r"\1，第 \2 步：\3 要把 chunk \4 发给 \5，但它那里还没有数据",
    ),
    (
        r"(\S+): after the last step (.+?) has chunk (\d+) = (.+), but (\S+) wants (.+?)\. First wrong in step (\d+)\.",
        r"\1：最后一步之后，\2 的 chunk \3 = \4，而 \5 要求 \6。第 \7 步首次出错。",
    ),
    (
        r"(\S+): after the last step (.+?) has chunk (\d+) = (.+), but (\S+) wants (.+?)\. The last step that writes it is step (\d+)\.",
        r"\1：最后一步之后，\2 的 chunk \3 = \4，而 \5 要求 \6。最后写入它的是第 \7 步。",
    ),
    (
        r"(\S+): after the last step (.+?) has chunk (\d+) = (.+), but (\S+) wants (.+?)\. (?:No step writes it|It was never replaced)\.",
        r"\1：最后一步之后，\2 的 chunk \3 = \4，而 \5 要求 \6。没有任何一步写入它。",
    ),
    (
        r"(\S+?)(?: at line (\d+) of .+?)?: (?:\S+, )?step (\d+): (copy|reduce) of chunk (\d+) from (.+?) to (.+?): (.+)",
        r"\1：第 \3 步，从 \6 到 \7 的 chunk \5（\4）：\8",
    ),
    (
        r"(.+) yields more than ([\d,]+) (steps|transfers) and has not ended; does a loop never stop\?",
        r"\1 已产生超过 \2 个 \3 仍未结束；是不是有循环停不下来？",
    ),
    (r"the function did not end within (\S+) seconds; does a loop never stop\?", r"函数在 \1 秒内没有结束；是不是有循环停不下来？"),
    (r"(.+) returned (.+); it must yield its steps: .*", r"\1 返回了 \2；它必须逐步 yield：yield copy(...)、yield reduce(...)"),
    (
        r"(.+) yields (.+); a step is made with copy\(\.\.\.\) or reduce\(\.\.\.\), or a list of them",
        r"\1 产生了 \2；一步要用 copy(...) 或 reduce(...) 生成，或由它们组成的列表",
    ),
    (r"(\S+) failed at line (\d+) of (.+?): (.+)", r"\1 在 \3 第 \2 行出错：\4"),
    (r"(\S+) failed: (.+)", r"\1 出错：\2"),
    (r"the function needs more memory than it may use; .*", r"函数需要的内存超过限制；它产生了多少次传输？"),
    (r"the function ends the program \(exit\); .*", r"函数结束了整个程序（exit）；它只应产生各步"),
    (r"the process of the function ended before .*", r"函数所在的进程提前结束（exit，或内存超过限制）"),
]


def chinese(sentence: str) -> str:
    """The sentence in Chinese where it is known."""
    for pattern, form in _PATTERNS:
        match = re.fullmatch(pattern, sentence, re.DOTALL)
        if match is not None:
            return match.expand(form)
    return sentence
