"""What collsim says about a mistake, in the language of the page. Errors are written once, in English, where they arise;
the common ones have a Chinese form here, and one without it is shown as it is."""

from __future__ import annotations

import re

from collsim.errors import CollsimError

from .run import Refused
from .texts import Language, say

_CHINESE: list[tuple[str, str]] = [
    (
        r"(\w+)='?(.*?)'? is ambiguous: write (\S+) \(([\d,]+) bytes\) or (\S+) \(([\d,]+) bytes\)",
        r"“\2” 有歧义：请写 \3（\4 字节）或 \5（\6 字节）。",
    ),
    (r"(\w+)='?(.*?)'? is negative; .*", r"\1 不能为负数（现在是 \2）。"),
    (
        r"(\w+)='?(.*?)'? does not start with a number; write for example (.*)",
        r"\1 “\2” 不是以数字开头；请写例如 '64MiB'、'25GB/s' 或 '1.5us'。",
    ),
    (r"(\w+)='?(.*?)'? is ([\d.e+-]+) bytes; a size is a whole number of bytes", r"\1 “\2” 等于 \3 字节；数据量必须是整数字节。"),
    (r"(\w+)='?(.*?)'? is more than 1 EiB; is the unit right\?", r"\1 “\2” 超过 1 EiB；单位是否写对？"),
    (r"(\w+)='?(.*?)'?: unknown unit of time '(.*?)'; use .*", r"\1 “\2”：未知的时间单位 “\3”；请用 s、ms、us 或 ns。"),
    (r"(\w+)='?(.*?)'?: unknown unit '(.*?)'.*", r"\1 “\2”：未知的单位 “\3”；请用 B、kB、MB、GB、KiB、MiB、GiB，速率可用 Gbit/s。"),
    (r"(\w+)='?(.*?)'? has no time in its unit; write .*", r"\1 “\2” 缺少时间单位；请写例如 '25GB/s' 或 '400Gbit/s'。"),
    (r"(\w+)='?(.*?)'? must be more than 0 bytes per second", r"\1 “\2” 必须大于 0。"),
    (r"(\w+)='?(.*?)'? is not a finite number", r"\1 “\2” 不是有限的数。"),
    (r"(\w+)='?(.*?)'? is not a whole number", r"\1 “\2” 不是整数。"),
    (r"(\w+)='?(.*?)'? is too small; \w+ is at least (\d+)", r"\1=\2 太小；至少为 \3。"),
    (r"(\w+)='?(.*?)'? is too large; \w+ is at most (\d+) here", r"\1=\2 太大；这里最多为 \3。"),
    (r"root=(\d+) is not a rank; with (\d+) ranks it is 0 to (\d+)", r"root=\1 不是一个 rank；共 \2 个 rank 时可取 0 到 \3。"),
    (r"unknown ([\w ]+) '(.*?)'; did you mean (.*)\?", r"没有名为 “\2” 的 \1；您是不是要 \3？"),
    (r"unknown ([\w ]+) '(.*?)'; known: (.*)", r"没有名为 “\2” 的 \1；可选：\3。"),
    (r"unknown ([\w ]+) '(.*?)'", r"没有名为 “\2” 的 \1。"),
    (r"'(.*?)' is neither on nor off", r"“\1” 既不是 on 也不是 off。"),
    (r"it is an algorithm for (\w+), not for (\w+)", r"它是 \1 的算法，不是 \2 的。"),
    (r"(\d+) characters are too many\.", r"\1 个字符太长。"),
    (r"hypercube\((\d+)\): .*", r"hypercube 的 rank 数必须是 2 的幂；\1 不是。"),
    (
        r"([\w-]+) has no switch that reduces or multicasts.*",
        r"\1 没有能做归约或多播的交换机：NVLink SHARP 需要第三代 NVSwitch（dgx-h100 及以后）。",
    ),
    (r"sizes '(.*?)' must be .*", r"数据量范围 “\1” 应写成 '首个:最后一个:倍数'，例如 '1KiB:1GiB:4'。"),
    (r"sizes '(.*?)' need 0 < first <= last and a finite factor above 1", r"数据量范围 “\1” 要求 0 < 首个 ≤ 最后一个，且倍数大于 1。"),
    (r"sizes '(.*?)' are more than 200; use a larger factor", r"数据量范围 “\1” 多于 200 个；请用更大的倍数。"),
]


_MOST_NAMES = 20  # a longer list of what is known helps nobody; the menu shows it


def told(error: CollsimError | str, language: Language) -> str:
    """One sentence, with its full stop."""
    if isinstance(error, Refused):
        return say(language, error.key, **error.values)
    text = str(error)
    head, known, names = text.partition("; known: ")
    text = head if known and names.count(",") >= _MOST_NAMES else text
    if language == "zh":
        for pattern, chinese in _CHINESE:
            if (match := re.fullmatch(pattern, text, re.DOTALL)) is not None:
                return match.expand(chinese).replace("' or '", "'、'")
    text = text[:1].upper() + text[1:] if text.split(" ")[0].isalpha() else text
    return text if text.endswith((".", "?", "。", "？")) else text + "."
