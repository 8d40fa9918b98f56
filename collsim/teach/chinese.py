"""What collsim says about a mistake, in Chinese: one table for lessons, exercises and the app.

Errors are written once, in English, where they arise. A sentence that begins with a place (file, line, network) is read
from the left: the place, then what is wrong there. One that is not in the table keeps its English words after a Chinese
beginning.
"""

from __future__ import annotations

import re

_AT = r"(?P<name>\S+\(\d+\))(?: at line (?P<line>\d+) of editor\.py)?(?:: \S+)?"
_MOVE = (
    r", step (?P<step>\d+): (?P<what>copy|reduce) of chunk (?P<chunk>-?\d+) from (?P<a>\w+ \d+) to (?P<b>\w+ "
    r"\d+)(?: into slot \d+)?: "
)
_BEGINS, _BEGINS_ZH = r"It begins in step (\d+): ", r"从第 \1 步开始出错："
_SAID = r"，第 \g<step> 步，从 \g<a> 到 \g<b> 的 \g<what>（chunk \g<chunk>）："
#: Sentences, the special before the general. A group `rest` is a sentence of its own.
_PATTERNS: list[tuple[str, str]] = [
    (
        _AT + r": (\w+) must be whole numbers, got (.+); for division use // instead of /",
        r"\g<name>：\3 必须是整数，现在是 \4；整除请用 //",
    ),
    (
        _AT + _MOVE + r"(\w+)=(-?\d+) does not exist; (?:ranks|slots) are (\d+) to (\d+).*",
        r"\g<name>" + _SAID + r"\8=\9 不存在；可取 \10 到 \11",
    ),
    (_AT + _MOVE + r"an endpoint sends a chunk to itself", r"\g<name>" + _SAID + "不能发给自己"),
    (
        _AT + _MOVE + r"(.+) writes the same slot in this step; .*",
        r"\g<name>" + _SAID + r"\8 在同一步也写入这里，结果不确定",
    ),
    (r"(?P<rest>[^.]+ nothing (?:in it )?yet[^.]*)\. (?P<more>(?:It begins in|Step \d+ is) .+)", r"\g<rest>。\g<more>"),
    (
        _AT + r", step (?P<step>\d+): (.+) sends chunk (\d+) to (.+), but holds nothing in it yet",
        r"\g<name>，第 \g<step> 步：\4 向 \6 发送 chunk \5，但自己还没有它的数据",
    ),
    (
        _AT + r", step (?P<step>\d+): (.+) reduces into chunk (\d+) of rank (\d+), which holds nothing yet; .*",
        r"\g<name>，第 \g<step> 步：\4 要加到 rank \6 的 chunk \5 上，但那里还没有数据；第一次请用 copy",
    ),
    (r"(\S+) failed at line (\d+) of editor\.py: it needs more memory.*", r"\1 在第 \2 行需要的内存超过限制"),
    (r"(\S+) failed at line (\d+) of editor\.py: (.+)", r"\1 在第 \2 行出错：\3"),
    (
        r"(\S+), step (\d+): (.+?) sends chunk (\d+) to (.+?), but holds nothing in it yet",
        r"\1，第 \2 步：\3 要把 chunk \4 发给 \5，但它那里还没有数据",
    ),
    (
        r"(\S+): after the last step (.+?) has chunk (\d+) = (.+), but (\S+) wants (.+?)\. (?P<rest>\S.+)",
        r"\1：最后一步之后，\2 的 chunk \3 = \4，而 \5 要求 \6。\g<rest>",
    ),
    (r"No step writes it\.", r"没有任何一步写入它。"),
    (r"It was never replaced\.", r"没有任何一步替换它。"),
    (
        r"Step (\d+) is missing: (.+) gets nothing more into chunk (\d+)\.",
        r"缺少第 \1 步：\2 的 chunk \3 不再收到数据。",
    ),
    (r"No step brings the rest into chunk (\d+) of (.+)\.", r"没有任何一步把其余部分送到 \2 的 chunk \1。"),
    (_BEGINS + r"(.+) gets nothing into chunk (\d+)\.", _BEGINS_ZH + r"\2 的 chunk \3 没有收到数据。"),
    (_BEGINS + r"(.+) gets something too much into chunk (\d+)\.", _BEGINS_ZH + r"\2 的 chunk \3 多收到一次数据。"),
    (_BEGINS + r"(.+) gets the wrong data into chunk (\d+)\.", _BEGINS_ZH + r"\2 的 chunk \3 收到的数据不对。"),
    (_BEGINS + r"(.+) sends chunk (\d+) on too early\.", _BEGINS_ZH + r"\2 过早地把 chunk \3 发了出去。"),
    (
        r"(\S+?)(?: at line (\d+) of .+?)?: (?:\S+, )?step (\d+): (copy|reduce) of chunk (\d+) from (.+?) to (.+?): "
        r"(.+)",
        r"\1：第 \3 步，从 \6 到 \7 的 chunk \5（\4）：\8",
    ),
    (
        r"(.+) yields more than ([\d,]+) (steps|transfers) and has not ended; does a loop never stop\?",
        r"\1 已产生超过 \2 个 \3 仍未结束；是不是有循环停不下来？",
    ),
    (
        r"the function did not end within (\S+) seconds; does a loop never stop\?",
        r"函数在 \1 秒内没有结束；是不是有循环停不下来？",
    ),
    (
        r"(.+) returned (.+); it must yield its steps: .*",
        r"\1 返回了 \2；它必须逐步 yield：yield copy(...)、yield reduce(...)",
    ),
    (
        r"(.+) yields (.+); a step is made with copy\(\.\.\.\) or reduce\(\.\.\.\), or a list of them",
        r"\1 产生了 \2；一步要用 copy(...) 或 reduce(...) 生成，或由它们组成的列表",
    ),
    (r"(\S+) failed at line (\d+) of (.+?): (.+)", r"\1 在 \3 第 \2 行出错：\4"),
    (
        r"(\w+) holds steps of a schedule that was made before; write the steps yourself",
        r"\1 里是事先做好的调度的步骤；请自己写出各步。",
    ),
    (
        r"(\w+)\(\) reads a schedule that was made before; write the steps yourself",
        r"\1() 读取的是事先做好的调度；请自己写出各步。",
    ),
    (
        r"sys\.setprofile hides steps from the check; write the steps yourself",
        r"sys.setprofile 会避开检查；请自己写出各步。",
    ),
    (r"(\w+) is an algorithm of the library; write the steps yourself", r"\1 是库里的算法；请自己写出各步。"),
    (r"(\S+) failed: (.+)", r"\1 出错：\2"),
    (r"the function needs more memory than it may use; .*", r"函数需要的内存超过限制；它产生了多少次传输？"),
    (r"the function ends the program \(exit\); .*", r"函数结束了整个程序（exit）；它只应产生各步"),
    (r"the process of the function ended before .*", r"函数所在的进程提前结束（exit，或内存超过限制）"),
    (r"the process of the function was ended by signal (\d+)", r"函数所在的进程被信号 \1 结束"),
    (r"the process of the function sent more than is read", r"函数所在的进程送出的数据超过限制"),
    (r"the process of the function sent something that is not .*", r"函数所在的进程送出的不是传输表"),
    (
        r"more than ([\d,-]+) transfers or ([\d,-]+) steps, which is what is left .*",
        r"超过 \1 次传输或 \2 步；这是所有 rank 数合计的剩余限额",
    ),
    (r"a pattern is repeated with shift or modulus above ([\d,]+)", r"重复的模式中 shift 或 modulus 超过 \1"),
    (r"a channel is a number from 0 to ([\d,]+)", r"channel 应为 0 到 \1"),
    (
        r"(\w+)='?(.*?)'? is ambiguous: write (\S+) \(([\d,]+) bytes\) or (\S+) \(([\d,]+) bytes\)",
        r"“\2” 有歧义：请写 \3（\4 字节）或 \5（\6 字节）。",
    ),
    (r"(\w+)='?(.*?)'? is negative; .*", r"\1 不能为负数（现在是 \2）。"),
    (
        r"(\w+)='?(.*?)'? does not start with a number; write for example (.*)",
        r"\1 “\2” 不是以数字开头；请写例如 '64MiB'、'25GB/s' 或 '1.5us'。",
    ),
    (
        r"(\w+)='?(.*?)'? is ([\d.e+-]+) bytes; a size is a whole number of bytes",
        r"\1 “\2” 等于 \3 字节；数据量必须是整数字节。",
    ),
    (r"(\w+)='?(.*?)'? is more than 1 EiB; is the unit right\?", r"\1 “\2” 超过 1 EiB；单位是否写对？"),
    (r"(\w+)='?(.*?)'?: unknown unit of time '(.*?)'; use .*", r"\1 “\2”：未知的时间单位 “\3”；请用 s、ms、us 或 ns。"),
    (
        r"(\w+)='?(.*?)'?: unknown unit '(.*?)'.*",
        r"\1 “\2”：未知的单位 “\3”；请用 B、kB、MB、GB、KiB、MiB、GiB，速率可用 Gbit/s。",
    ),
    (r"(\w+)='?(.*?)'? has no time in its unit; write .*", r"\1 “\2” 缺少时间单位；请写例如 '25GB/s' 或 '400Gbit/s'。"),
    (r"(\w+)='?(.*?)'? must be more than 0 bytes per second", r"\1 “\2” 必须大于 0。"),
    (r"(\w+)='?(.*?)'? is not a finite number", r"\1 “\2” 不是有限的数。"),
    (r"(\w+)='?(.*?)'? is not a whole number", r"\1 “\2” 不是整数。"),
    (r"(\w+)='?(.*?)'? is too small; \w+ is at least (\d+)", r"\1=\2 太小；至少为 \3。"),
    (r"(\w+)='?(.*?)'? is too large; \w+ is at most (\d+) here", r"\1=\2 太大；这里最多为 \3。"),
    (
        r"(\w+)=(\d+) is not a rank; with (\d+) ranks it is 0 to (\d+)",
        r"\1=\2 不是一个 rank；共 \3 个 rank 时可取 0 到 \4。",
    ),
    (r"the code of a class is four letters\.?", "课堂代码是四个字母。"),
    (r"it is not name:value", "应写成 名称:值。"),
    (r"(\w+) is not there; runners are counted from 1 without a gap", r"没有 \1；参赛者从 1 开始连续编号。"),
    (r"unknown ([\w ]+) '(.*?)'; did you mean (.*)\?", r"没有名为 “\2” 的 \1；您是不是要 \3？"),
    (r"unknown ([\w ]+) '(.*?)'; known: (.*)", r"没有名为 “\2” 的 \1；可选：\3。"),
    (r"unknown ([\w ]+) '(.*?)'", r"没有名为 “\2” 的 \1。"),
    (r"'(.*?)' is neither on nor off", r"“\1” 既不是 on 也不是 off。"),
    (r"(\w+) has no option (\w+)", r"\1 没有选项 \2。"),
    (r"it is an algorithm for (\w+), not for (\w+)", r"它是 \1 的算法，不是 \2 的。"),
    (r"(\d+) characters are too many\.", r"\1 个字符太长。"),
    (r"hypercube\((\d+)\): .*", r"hypercube 的 rank 数必须是 2 的幂；\1 不是。"),
    (
        r"([\w-]+) has no switch that reduces or multicasts.*",
        r"\1 没有能做归约或多播的交换机：NVLink SHARP 需要第三代 NVSwitch（dgx-h100 及以后）。",
    ),
    (r"sizes '(.*?)' must be .*", r"数据量范围 “\1” 应写成 '首个:最后一个:倍数'，例如 '1KiB:1GiB:4'。"),
    (
        r"sizes '(.*?)' need 0 < first <= last and a finite factor above 1",
        r"数据量范围 “\1” 要求 0 < 首个 ≤ 最后一个，且倍数大于 1。",
    ),
    (r"sizes '(.*?)' are more than 200; use a larger factor", r"数据量范围 “\1” 多于 200 个；请用更大的倍数。"),
    (
        r"(\S+): ranks=(\d+): it needs a power of two; the nearest are (\d+) and (\d+)",
        r"\1：rank 数 \2 不是 2 的幂；最接近的是 \3 和 \4。",
    ),
    (
        r"(\S+): ranks=(\d+): it needs an even number; use (\d+) or (\d+).*",
        r"\1：rank 数 \2 必须是偶数；请用 \3 或 \4。",
    ),
    (r"(\S+): ranks=(\d+): it needs (.+)", r"\1：rank 数 \2 不满足要求：需要 \3。"),
    (r"(\S+): dims='?(.*?)'? do not make (\d+) ranks; .*", r"\1：各边 \2 的乘积不是 \3；例如 16 个 rank 可写 '4x4'。"),
    (r"(\S+): (\w+)=(-?\d+) makes no tree; use 2 or more", r"\1：\2=\3 构不成树；请用 2 或更大。"),
    (
        r"(\S+): servers=(\d+) do not fit on (\d+) ranks; .*",
        r"\1：\3 个 rank 放不下 \2 个服务器；最多 \3 个，或用 server='helper'。",
    ),
    (
        r"planes=(\d+) is more than the (\d+) network cards of a node; .*",
        r"平面数 \1 超过每个节点的网卡数 \2；每个平面需要一块网卡。",
    ),
    (
        r"(?:an? )?(.+?) would take (\S+ \S+) of memory \(.*\); (\S+ \S+) is the most here, so .*",
        r"\1 需要约 \2 内存；这里最多 \3，请缩小规模。",
    ),
    (r"([\d,]+) (\w[\w ]*) in a sweep; ([\d,]+) is the most, so .*", r"一次扫描中有 \1 个 \2；最多 \3 个。"),
    (r"a value that does not fit its tag \((.*)\)", r"值与其标签不符（\1）。"),
    (r"(.+) is too long for a number", r"\1 太长，不是数字。"),
    (r"refused, merge keys \(<<\) are not taken here", r"拒绝读取：不接受合并键（<<）。"),
    (r"more than (\d+) MiB without an element", r"超过 \1 MiB 没有任何元素。"),
    (r"sizes '(.*?)' begin with 0 bytes, .*", r"数据量 “\1” 从 0 字节开始，对数坐标轴上没有它的位置；请从 1 字节起。"),
    (r"no cable carries a byte in this run, .*", r"这次运行中没有链路传输任何字节，无从选出最忙的；请增大 nbytes。"),
    (r"(.+)=(.+) is too large; \1 is at most ([\d,]+)", r"\1=\2 太大；最大为 \3。"),
    (r"(.+)=(.+) is too large a number", r"\1=\2 这个数太大。"),
    (r"machine '(.*?)' has no network card, so .*", r"机器 \1 没有网卡，因此不能有多个节点；请用 nodes=1。"),
    (r"fat_tree\((\d+)\): .* must be even; use (\d+)", r"fat_tree(\1)：交换机端口数必须是偶数；请用 \2。"),
    (r"topology '(.*?)': (?:too many|missing|got an|multiple).*", r"网络 “\1” 的参数个数不对。"),
    (r"topology '(.*?)' is not of the form '(.*)'", r"网络 “\1” 应写成 \2 的形式。"),
    (
        r"([\d,]+) ranks are more than this page computes from a file; (\d+) is the most",
        r"文件描述了 \1 个 rank，超出本页的上限 \2。",
    ),
    (r"([\d,]+) characters are more than a topology here may have \(([\d,]+)\)", r"\1 个字符，超出拓扑文本的上限 \2。"),
    (
        r"([\d,]+) bytes are too many; a schedule file here has at most ([\d,]+)",
        r"文件有 \1 字节；这里的调度文件最多 \2 字节。",
    ),
    (r"option (\S+)=(\S+) is too large; (\d+) is the most here", r"选项 \1=\2 太大；这里最多为 \3。"),
    (r"the address does not hold the machine", r"链接中没有包含这台机器。"),
    (r"the topology in the address cannot be read", r"链接中的拓扑无法读取。"),
    (r"the topology in the address is cut short or too long", r"链接中的拓扑不完整或过长。"),
    (
        r"the file does not hold a schedule, but something else that collsim reads",
        r"文件中不是调度，而是 collsim 能读的其他内容。",
    ),
    (r"(\S+) has no links of that kind: (?P<rest>.+)", r"\1 没有这类链路：\g<rest>"),
    (r"([\w(),= -]+?): (?P<rest>unknown (?:device|link|kind) .+)", r"\1：\g<rest>"),
    (
        r"(.+) has (\d+) helper endpoints; MSCCL runs on the ranks alone",
        r"\1 有 \2 个辅助端点；MSCCL 只在 rank 上运行。",
    ),
    (
        r"ASTRA-sim has no words for (\S+); .*",
        r"ASTRA-sim 无法描述 \1；它只有环、交换机、全连接以及由它们组成的 torus。",
    ),
    (
        r"(.+) has (\d+) bandwidths and (\d+) alphas; .*",
        r"\1 有 \2 种带宽和 \3 种 alpha；ASTRA-sim 的网络每一维只有一种。",
    ),
    (
        r"(.+?)(?:, after removing .*)? is not connected: (.+) cannot reach each other.*",
        r"\1 不连通：\2 之间无法到达。",
    ),
    (r"(\S+) has no link between (.+?); (\S+) is joined to (.+)", r"\1 在 \2 之间没有链路；\3 连到 \4。"),
    # files: place first, then what is wrong there
    (r"(\S+\.\w+), line (\d+): (?P<rest>.+)", r"\1 第 \2 行：\g<rest>"),
    (r"(\S+\.\w+), (<\w+>|element <\w+>): (?P<rest>.+)", r"\1，\2：\g<rest>"),
    (r"(\S+\.\w+), (gpu \d+(?:, thread block \d+)?(?:, step \d+)?): (?P<rest>.+)", r"\1，\2：\g<rest>"),
    (r"(\S+\.(?:xml|yaml|yml|txt|json|csv|log|out)): (?P<rest>.+)", r"\1：\g<rest>"),
    (r"(machine|network|topology|links|options|collsim): (?P<rest>.+)", r"\1：\g<rest>"),
    (
        r"(ring|line|star|switch|fully_connected|tree|torus|mesh|hypercube|fat_tree|dragonfly): (?P<rest>.+)",
        r"\1：\g<rest>",
    ),
    (r"(\S+) is empty; expected .*", r"\1 是空的；应为 nvidia-smi topo -m 文本、NCCL 拓扑 XML 或 YAML。"),
    (
        r"(\S+) is not a topology: expected .*",
        r"\1 不是拓扑：应为 topo -m 文本、NCCL XML、ASTRA-sim 或 collsim 的 YAML。",
    ),
    (r"(\S+?)(?:, line (\d+))? is not YAML.*", r"\1 不是合法的 YAML。"),
    (r"(\S+) is not well-formed XML: .*", r"\1 不是格式良好的 XML。"),
    (r"not well-formed XML \((.*)\); is the file truncated\?", r"不是格式良好的 XML（\1）；文件是否被截断？"),
    (r"not JSON: (.*); is the file truncated\?", r"不是合法的 JSON（\1）；文件是否被截断？"),
    (r"version '?(.*?)'? is unknown; this collsim reads version 1", r"未知版本 \1；此 collsim 读取版本 1。"),
    (
        r"give one of machine, network and links; it has (.*)",
        r"machine、network、links 三者须给出且只给一个；现在是：\1。",
    ),
    (r"the graph has no rank: .*", r"图中没有 rank：至少给一个节点写 kind='gpu'。"),
    (r"no GPU in it, so there is nothing to simulate", r"其中没有 GPU，无从仿真。"),
    (r"the outermost element is <(.*)>; NCCL .*", r"最外层元素是 <\1>；NCCL 拓扑文件以 <system version=...> 开头。"),
    (r"the header has (\S+), but there is no row for it", r"表头有 \1，但没有它的那一行。"),
    (r"(\S+) to (\S+) is '(.*?)'; expected .*", r"\1 到 \2 写的是 “\3”；应为 X、NV#、PIX、PXB、PHB、NODE 或 SYS。"),
    (r"topology of dimension (\d+) is '?(.*?)'?; known: (.*)", r"第 \1 维的 topology 是 “\2”；可选：\3。"),
    (r"(\w+) must be a list with an entry per dimension.*", r"\1 必须是列表，每一维一项，例如 [ 8 ]。"),
    (r"(?:refused, )?.*(?:document type|entit).*", r"拒绝读取：不接受文档类型声明和实体。"),
    (r"refused, .*alias.*", r"拒绝读取：不接受别名（*name），请直接写出值。"),
    (r"refused, nested more than (\d+) deep", r"拒绝读取：嵌套超过 \1 层。"),
    (r"nested too deep", r"嵌套过深。"),
    (r"its beginning does not look like any of: (.*); say which with format=", r"开头不像以下任何一种格式：\1。"),
    (r"the header is '(.*?)'; expected (.*)", r"表头是 “\1”；应为 \2。"),
    (r"expected '# \{\.\.\.\}' with the schedule's facts as JSON", r"第一行应为 '# {...}'，即调度说明的 JSON。"),
    (r"no attribute '(.*?)'", r"缺少属性 “\1”。"),
    (r"byte (\S+) is not UTF-8; save the file as UTF-8", r"字节 \1 不是 UTF-8；请把文件存为 UTF-8。"),
    (r"a zero byte; this is not a text file", r"含有零字节；这不是文本文件。"),
    (r"larger than (\d+) MiB, .*", r"大于 \1 MiB，超出这类文件的上限。"),
]
_COMPILED = [(re.compile(pattern, re.DOTALL), form) for pattern, form in _PATTERNS]
_REFERENCE = re.compile(r"\\g<(\w+)>|\\(\d+)")


def chinese(sentence: str) -> str:
    """The sentence in Chinese where it is known; else as it is."""
    for pattern, form in _COMPILED:
        if (match := pattern.fullmatch(sentence)) is not None:
            return _filled(form, match)
    return sentence


def _filled(form: str, match: re.Match[str]) -> str:
    def value(reference: re.Match[str]) -> str:
        name = reference[1] or int(reference[2])
        found = match[name] or ""
        return chinese(found) if name in ("rest", "more") else found

    return _REFERENCE.sub(value, form)
