"""Sizes, rates, times and counts: `collsim.units`."""

TRANSLATIONS = {
    "{what}={value} is negative; a size is 0 bytes or more": "{what}={value} 不能为负数；数据量不小于 0 字节",
    "{what}={value} is more than 1 EiB; is the unit right?": "{what}={value} 超过 1 EiB；单位是否写对？",
    "{what}={value} is {size:g} bytes; a size is a whole number of bytes": (
        "{what}={value} 等于 {size:g} 字节；数据量必须是整数字节"
    ),
    "{what}={value} has no time in its unit; write for example '25GB/s' or '400Gbit/s'": (
        "{what}={value} 缺少时间单位；请写例如 '25GB/s' 或 '400Gbit/s'"
    ),
    "{what}={value} must be more than 0 bytes per second": "{what}={value} 必须大于 0 字节每秒",
    "{what}={value}: unknown unit of time {unit}; use s, ms, us or ns": (
        "{what}={value}：未知的时间单位 {unit}；请用 s、ms、us 或 ns"
    ),
    "{what}={value} is too long; a time is at most {most:g} s": "{what}={value} 太长；时间不超过 {most:g} s",
    "{what}={value} is negative; a time is 0 s or more": "{what}={value} 不能为负数；时间不小于 0 s",
    "{what}={value} is not a whole number": "{what}={value} 不是整数",
    "{what}={value} is too small; {what} is at least {least}": "{what}={value} 太小；{what} 至少为 {least}",
    "{what}={value} is too large; {what} is at most {most:,}": "{what}={value} 太大；{what} 最多为 {most:,}",
    "sizes {spec} must be 'first:last' or 'first:last:factor', for example '1KiB:1GiB:4'": (
        "数据量范围 {spec} 应写成 '首个:最后一个' 或 '首个:最后一个:倍数'，例如 '1KiB:1GiB:4'"
    ),
    "factor {part} in {spec} is not a number": "{spec} 中的倍数 {part} 不是数字",
    "sizes {spec} need 0 < first <= last and a finite factor above 1": (
        "数据量范围 {spec} 要求 0 < 首个 ≤ 最后一个，且倍数大于 1"
    ),
    "sizes {spec} make more than 10,000 sizes, or a million steps; use a larger factor": (
        "数据量范围 {spec} 产生的数据量多于 10,000 个，或需要一百万步；请用更大的倍数"
    ),
    "{what}={text} does not start with a number; write for example '64MiB', '25GB/s' or '1.5us'": (
        "{what}={text} 不是以数字开头；请写例如 '64MiB'、'25GB/s' 或 '1.5us'"
    ),
    "{what}={text} is not a finite number": "{what}={text} 不是有限的数",
    "{what}={text} has more than {most} digits in a row": "{what}={text} 的连续数字超过 {most} 位",
    "{what}={text} is ambiguous: write {example:g}{unit}B ({decimal:,.0f} bytes) or {example:g}{upper}iB "
    "({binary:,.0f} bytes)": (
        "{what}={text} 有歧义：请写 {example:g}{unit}B（{decimal:,.0f} 字节）或 {example:g}{upper}iB（{binary:,.0f} "
        "字节）"
    ),
    "{what}={text}: unknown unit {unit}{hint}; use B, kB, MB, GB, KiB, MiB, GiB, or Gbit/s for a rate": (
        "{what}={text}：未知的单位 {unit}{hint}；请用 B、kB、MB、GB、KiB、MiB、GiB，速率可用 Gbit/s"
    ),
    " (for bits write 'bit')": "（比特请写 'bit'）",
    "{what}={value} is a {kind}; give a number or a text with a unit": (
        "{what}={value} 是 {kind}；请给出数字，或带单位的文本"
    ),
    "{what}={value} is a {kind}; give a number": "{what}={value} 是 {kind}；请给出数字",
    "{what}={value} is too large a number": "{what}={value} 这个数太大",
    "{what}={value} is not one number": "{what}={value} 不是一个数",
    "{what}={value} is not a finite number": "{what}={value} 不是有限的数",
}
