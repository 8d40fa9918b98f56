"""Files of machines and networks: `collsim.topology.files`."""

TRANSLATIONS = {
    "{file}, line {line}: {what}: {why}": "{file} 第 {line} 行：{what}：{why}",
    "{name}, line {line}": "{name} 第 {line} 行",
    "line {line}: {why}": "第 {line} 行：{why}",
    "{name} has {size:,} bytes; a topology file of more than {most:,} is refused": (
        "{name} 有 {size:,} 字节；拓扑文件最多 {most:,} 字节"
    ),
    "{name} has {characters:,} characters; more than {most:,} is refused": (
        "{name} 有 {characters:,} 个字符；最多 {most:,} 个"
    ),
    "{place} cannot be read: {error}": "无法读取 {place}：{error}",
    "{name} is empty; expected nvidia-smi topo -m text, NCCL topology XML, or YAML": (
        "{name} 是空的；应为 nvidia-smi topo -m 文本、NCCL 拓扑 XML 或 YAML"
    ),
    "{name} is not as a file has it, so it cannot be read again with {options}": (
        "{name} 已与文件中的不同，无法用 {options} 重新读取"
    ),
    # YAML
    "{name}{line} is not {expected}: {error}": "{name}{line} 不是 {expected}：{error}",
    ", line {line}": " 第 {line} 行",
    "a value that does not fit its tag ({error})": "值与其标签不符（{error}）",
    "refused, merge keys (<<) are not taken here": "拒绝读取：不接受合并键（<<）",
    "{value} is too long for a number": "{value} 太长，不是数字",
    "{where}: refused, aliases (*name) are not taken here; write the value out": (
        "{where}：拒绝读取：不接受别名（*name）；请直接写出值"
    ),
    "{where}: refused, more than {most:,} values": "{where}：拒绝读取：值多于 {most:,} 个",
    "{where}: refused, nested more than {most} deep": "{where}：拒绝读取：嵌套超过 {most} 层",
    "{name} is not a topology: expected nvidia-smi topo -m text, NCCL XML, ASTRA-sim YAML, or YAML that begins "
    "'collsim: 1'": (
        "{name} 不是拓扑：应为 nvidia-smi topo -m 文本、NCCL XML、ASTRA-sim 的 YAML，或以 'collsim: 1' 开头的 YAML"
    ),
    "version {value} is unknown; this collsim reads version 1": "未知版本 {value}；此 collsim 读取版本 1",
    "edits since a calibration, and there is none; they belong under 'edits'": (
        "这里写的是校准之后的改动，但没有校准；应写在 'edits' 下"
    ),
    "{name}: give one of machine, network and links; it has {kinds}": (
        "{name}：machine、network、links 三者须给出且只给一个；现在是：{kinds}"
    ),
    "{name}: only a machine takes options; {options} cannot be used": (
        "{name}：只有 machine 接受选项；不能使用 {options}"
    ),
    "expected a mapping": "应为映射",
    "expected a mapping with {allowed}": "应为映射，键为 {allowed}",
    "expected a list": "应为列表",
    "key {name!r} is there twice": "键 {name!r} 出现两次",
    "key {name!r} is missing": "缺少键 {name!r}",
    "device {name!r} is there twice": "设备 {name!r} 出现两次",
    "no cable {cable!r} under 'cables'": "'cables' 下没有线缆 {cable!r}",
    "a cable needs a rate, for example 25GB/s": "线缆需要速率，例如 25GB/s",
    "a connection is [device, device, cable]": "连接应写成 [设备, 设备, 线缆]",
    "a link is [device, device, cable], one direction": "链路应写成 [设备, 设备, 线缆]，单方向",
    "a link joins two devices, and there is one from each to each": "链路连接两个不同的设备，且每个方向只有一条",
    "routing is 'alike', or a list of [number of a link, bandwidth, alpha]": (
        "routing 应为 'alike'，或 [链路编号, bandwidth, alpha] 的列表"
    ),
    "an edit is one of {edits}, with its arguments": "改动是 {edits} 之一，并带上参数",
    # ASTRA-sim
    "{name}: an ASTRA-sim network has no option {options}": "{name}：ASTRA-sim 网络没有选项 {options}",
    "{name}: expected the keys {keys}": "{name}：应有键 {keys}",
    "{name}: key {twice!r} is there twice": "{name}：键 {twice!r} 出现两次",
    "{name}: {keys} entries; all need as many": "{name}：{keys} 项；各键的项数必须相同",
    "{key} has {count}": "{key} 有 {count}",
    "{name}: {ranks:,} NPUs are too many for a network without closed form; at most {most:,} links": (
        "{name}：没有闭式路由的网络中 {ranks:,} 个 NPU 太多；最多 {most:,} 条链路"
    ),
    "{name}: {key} must be a list with an entry per dimension, for example [ 8 ]; it is {value}": (
        "{name}：{key} 必须是列表，每一维一项，例如 [ 8 ]；现在是 {value}"
    ),
    "{name}: topology of dimension {i} is {kind}; known: {kinds}": (
        "{name}：第 {i} 维的 topology 是 {kind}；可选：{kinds}"
    ),
    "{name}: npus_count of dimension {i} is {size}; a dimension has at least 2": (
        "{name}：第 {i} 维的 npus_count 是 {size}；每一维至少为 2"
    ),
    "{name}: dimension {i} has bandwidth {rate} GB/s and latency {delay} ns; they must be numbers above 0": (
        "{name}：第 {i} 维的带宽为 {rate} GB/s，延迟为 {delay} ns；都必须是大于 0 的数"
    ),
    # NCCL's XML
    "{name}: the outermost element is <{tag}>; NCCL topology files begin with <system version=...>": (
        "{name}：最外层元素是 <{tag}>；NCCL 拓扑文件以 <system version=...> 开头"
    ),
    "{name}: no {kind} in it, so there is nothing to simulate{only}": "{name}：其中没有 {kind}，无从仿真{only}",
    "; it lists network cards only, as plugins' files do; use what NCCL_TOPO_DUMP_FILE writes": (
        "；它只列出网卡，插件的文件就是这样；请用 NCCL_TOPO_DUMP_FILE 写出的文件"
    ),
    "{name} has no element": "{name} 没有任何元素",
    "{name} is not well-formed XML: {error}": "{name} 不是格式良好的 XML：{error}",
    "{name}: refused, a topology file has no document type and no entities ({kind})": (
        "{name}：拒绝读取：拓扑文件不应有文档类型声明和实体（{kind}）"
    ),
    "{name}: refused, with elements nested deeper than {most} or more than {elements:,} of them": (
        "{name}：拒绝读取：元素嵌套超过 {most} 层，或多于 {elements:,} 个"
    ),
    "{name}: refused, <{tag}> has more than {most} attributes or one longer than {longest:,}": (
        "{name}：拒绝读取：<{tag}> 的属性多于 {most} 个，或有一个长于 {longest:,}"
    ),
    "{name}: {what}; NCCL tells them apart by it": "{name}：{what}；NCCL 靠它区分各 GPU",
    "two GPUs have busid {bus!r}": "两块 GPU 的 busid 都是 {bus!r}",
    "a GPU has no busid": "有一块 GPU 没有 busid",
    "{name}: GPU {bus} has rank={rank!r}; expected a whole number from 0": (
        "{name}：GPU {bus} 的 rank={rank!r}；应为从 0 起的整数"
    ),
    "{name}: rank {number} is there twice, GPU {rank} and GPU {bus}; is this a file of several nodes?": (
        "{name}：rank {number} 出现两次：GPU {rank} 和 GPU {bus}；这是几个节点合在一起的文件吗？"
    ),
    # nvidia-smi topo -m
    "gpu={told} has no NVLink, but the text has NV# between GPUs; give the GPU that it was printed on": (
        "gpu={told} 没有 NVLink，而文本中 GPU 之间有 NV#；请给出实际打印它的 GPU"
    ),
    "{name} holds processors and PCIe alone, as clouds' files do: NCCL adds NVLink by itself, and no machine of the "
    "catalogue has {count} such GPUs; say gpu='H100' for the NVLinks of its usual board, or nvlink='none' for PCIe "
    "alone": (
        "{name} 与云厂商的文件一样只有处理器和 PCIe：NVLink 由 NCCL 自己补上，而目录中没有带 {count} 块这种 GPU 的"
        "机器；"
        "请用 gpu='H100' 补上常见主板的 NVLink，或用 nvlink='none' 只用 PCIe"
    ),
    "{name}: nvidia-smi topo -mp hides NVLink; paste what topo -m prints, say gpu='H100' for the NVLinks of its usual "
    "board, or nvlink='none' for PCIe alone": (
        "{name}：nvidia-smi topo -mp 不显示 NVLink；请粘贴 topo -m 的输出，用 gpu='H100' 补上常见主板的 NVLink，"
        "或用 nvlink='none' 只用 PCIe"
    ),
    "{name}: no header line with GPU0, GPU1 ...; paste all of what nvidia-smi topo -m prints": (
        "{name}：没有含 GPU0、GPU1……的表头行；请粘贴 nvidia-smi topo -m 的全部输出"
    ),
    "{name}, line {line}: column {column} is there twice": "{name} 第 {line} 行：列 {column} 出现两次",
    "{name}: the header has {missing}, but there is no row for it": "{name}：表头有 {missing}，但没有它的那一行",
    "{name}, line {line}: a second row for {row}; the first is line {first}": (
        "{name} 第 {line} 行：{row} 的第二行；第一次在第 {first} 行"
    ),
    "{name}, line {line}: {row} has {cells} cells, but there are {count} columns; was the line cut or wrapped?": (
        "{name} 第 {line} 行：{row} 有 {cells} 格，但有 {count} 列；这一行是否被截断或折行？"
    ),
    "{name}, line {line}: this is nvidia-smi topo -p2p's, which does not say over what; paste nvidia-smi topo -m": (
        "{name} 第 {line} 行：这是 nvidia-smi topo -p2p 的输出，没有说明经过什么；请粘贴 nvidia-smi topo -m"
    ),
    "{name}, line {line}: {row} to {column} is {cell}; expected X, NV#, PIX, PXB, PHB, NODE or SYS": (
        "{name} 第 {line} 行：{row} 到 {column} 写的是 {cell}；应为 X、NV#、PIX、PXB、PHB、NODE 或 SYS"
    ),
    "{name}, line {line}: {row} to {column} is {cell}; X belongs on the diagonal, and only there": (
        "{name} 第 {line} 行：{row} 到 {column} 写的是 {cell}；X 只能在对角线上，且对角线上必须是 X"
    ),
    # outputs of other tools that are recognized and not read
    "{name}: this is {tool}, which collsim does not read; {advice}": "{name}：这是 {tool}，collsim 不读取；{advice}",
    "{name}: this is NCCL's graph file, which has rings and trees and no machine; cs.load reads those, and for the "
    "machine give the file that NCCL_TOPO_DUMP_FILE=topo.xml writes": (
        "{name}：这是 NCCL 的 graph 文件，只有环和树，没有机器；cs.load 可读取环和树，机器请用 "
        "NCCL_TOPO_DUMP_FILE=topo.xml 写出的文件"
    ),
    "the output of {program}": "{program} 的输出",
    "an execution plan of MSCCL++": "MSCCL++ 的执行计划",
    "a GOAL schedule": "GOAL 调度",
    "a log of NCCL Inspector": "NCCL Inspector 的日志",
    "a dump of PyTorch's Flight Recorder": "PyTorch Flight Recorder 的转储",
    "NCCL's tree of a system in its log": "日志中 NCCL 的系统树",
    "give what nvidia-smi topo -m prints, or the file that NCCL_TOPO_DUMP_FILE=topo.xml writes": (
        "请给出 nvidia-smi topo -m 的输出，或 NCCL_TOPO_DUMP_FILE=topo.xml 写出的文件"
    ),
    "give the file that RCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml, or a machine such as mi300x-8gpu": (
        "请给出 RCCL 用 NCCL_TOPO_DUMP_FILE=topo.xml 写出的文件，或 mi300x-8gpu 之类的机器名"
    ),
    "no rates of NPUs are known here; describe the machine in collsim's YAML or as a networkx graph "
    "(Topology.from_networkx), with the rate of each HCCS link": (
        "这里没有 NPU 的速率；请用 collsim 的 YAML 或 networkx 图（Topology.from_networkx）描述机器，"
        "并给出每条 HCCS 链路的速率"
    ),
    "give the table that all_reduce_perf of nccl-tests prints": "请给出 nccl-tests 的 all_reduce_perf 打印的表格",
    "say the cards with nic= and nics= of a machine, or give what nvidia-smi topo -m prints": (
        "请用机器的 nic= 和 nics= 说明网卡，或给出 nvidia-smi topo -m 的输出"
    ),
    "say the links that are left: topology.with_link, without_link, or scaled('nvlink', 0.8)": (
        "请说明剩下的链路：topology.with_link、without_link 或 scaled('nvlink', 0.8)"
    ),
    "give the algorithm as MSCCL XML, or write it in Python with cs.copy and cs.reduce": (
        "请给出 MSCCL XML 形式的算法，或在 Python 中用 cs.copy 和 cs.reduce 编写"
    ),
    "it has messages without their data, so nothing can be verified; LogGOPSim runs it, and collsim reads the "
    "schedule that it was made from (MSCCL XML, CSV, JSON)": (
        "其中的消息不含数据内容，无法验证；LogGOPSim 可以运行它，collsim 可读取生成它的调度（MSCCL XML、CSV、JSON）"
    ),
    "for a machine give the file that NCCL_TOPO_DUMP_FILE=topo.xml writes, for rings and trees the log of "
    "NCCL_DEBUG_SUBSYS=INIT,GRAPH": (
        "机器请给出 NCCL_TOPO_DUMP_FILE=topo.xml 写出的文件，环和树请给出 NCCL_DEBUG_SUBSYS=INIT,GRAPH 的日志"
    ),
}
