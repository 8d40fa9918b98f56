"""The model of NCCL: `collsim.nccl`."""

TRANSLATIONS = {
    "this machine has one node and says nothing of a network; give it with two nodes, such as machine(..., nodes=2)": (
        "这台机器只有一个节点，没有网络信息；请给出两个节点，例如 machine(..., nodes=2)"
    ),
    "give at least one size and one number of nodes": "请至少给出一个数据量和一个节点数",
    "give at least one run": "请至少给出一次测量",
    # calibration
    "calibrate wants columns collective, nbytes and time; {missing} is missing": (
        "calibrate 需要 collective、nbytes 和 time 列；缺少 {missing}"
    ),
    "{usable} usable rows are too few to calibrate with; run nccl-tests on 2 GPUs or more over a range of sizes "
    "(-b 8 -e 1G -f 2)": (
        "可用的行只有 {usable} 行，不足以校准；请在至少 2 块 GPU 上以一系列数据量运行 nccl-tests（-b 8 -e 1G -f 2）"
    ),
    "calibrate: row {row}: {column}={value!r} is not a finite number": (
        "calibrate：第 {row} 行：{column}={value!r} 不是有限的数"
    ),
    "{guessed}; say extrapolate=True to go there all the same": "{guessed}；仍要外推请写 extrapolate=True",
    "Facts have no links to write down; calibrate a topology, for example machine('dgx-a100', nodes=2)": (
        "Facts 中没有可写出的链路；请校准一个拓扑，例如 machine('dgx-a100', nodes=2)"
    ),
    "{size} is outside the sizes measured ({smallest} to {largest})": (
        "{size} 超出测量过的数据量（{smallest} 到 {largest}）"
    ),
    "{collective} was not measured; the log has {known}": "{collective} 没有测量过；日志中有 {known}",
    "{ranks} ranks were not measured; the log has {known}": "{ranks} 个 rank 没有测量过；日志中有 {known}",
    "{what} is {here} here, and was {then} when measured": "{what} 在这里是 {here}，测量时是 {then}",
    "not set": "未设置",
    # other libraries
    "ranks={n}: with one rank nothing is sent; use 2 or more": (
        "ranks={n}：只有一个 rank 时不发送任何数据；请用 2 或更多"
    ),
    "ranks={n}: with one rank nothing is chosen; use 2 or more": "ranks={n}：只有一个 rank 时无从选择；请用 2 或更多",
    "bcube is an allreduce; Gloo has no bcube {name}": "bcube 是一种 allreduce；Gloo 没有 bcube 的 {name}",
    "Gloo cannot send or receive CUDA tensors; copy them to the CPU first, or use nccl": (
        "Gloo 不能收发 CUDA 张量；请先复制到 CPU，或使用 nccl"
    ),
    # intervals and measurements of one's own
    "level={level!r} must be a share between 0 and 1, such as 0.8": (
        "level={level!r} 必须是 0 到 1 之间的比例，例如 0.8"
    ),
    "measured={measured!r} is a path; read the log first: measured=collsim.load(path)": (
        "measured={measured!r} 是一个路径；请先读取日志：measured=collsim.load(path)"
    ),
    "measured={measured!r} is no mapping of sizes to times": "measured={measured!r} 不是数据量到时间的映射",
    "measured: no size has a positive time for {collective}": "measured：{collective} 没有任何大小有正的时间",
    "measured wants columns nbytes and time; {missing} is missing": "measured 需要 nbytes 和 time 列；缺少 {missing}",
    # facts of a machine
    "{ranks} ranks on {nodes} nodes: each node needs at least one rank": (
        "{nodes} 个节点上有 {ranks} 个 rank：每个节点至少需要一个"
    ),
    "{word}={value!r} has {letters} letters; write at most {most}": (
        "{word}={value!r} 有 {letters} 个字符；最多写 {most} 个"
    ),
    "ranks={ranks} on nodes={nodes}: each node needs at least one rank": (
        "nodes={nodes} 上 ranks={ranks}：每个节点至少需要一个 rank"
    ),
    "{nodes} nodes need NICs: say nics, nic_rate and net (one of {nets})": (
        "{nodes} 个节点需要网卡：请给出 nics、nic_rate 和 net（{nets} 之一）"
    ),
    "{ranks} ranks on {nodes} nodes share nodes, but no link inside a node is given": (
        "{nodes} 个节点上有 {ranks} 个 rank，会共用节点，但没有给出节点内的链路"
    ),
    "without P2P: the {local} GPUs of an NVLink domain sit in {hosts} hosts, which share no memory; NCCL over the "
    "network inside such a domain is not modelled: leave P2P on, or describe its hosts as nodes": (
        "没有 P2P：一个 NVLink 域的 {local} 块 GPU 分布在 {hosts} 台主机上，它们不共享内存；NCCL "
        "在这种域内经网络通信未建模：请保留 P2P，或把各主机描述为节点"
    ),
    "{name}: the ring crosses {link_name}, which was changed; the model of NCCL knows the rates of NVLinks, of "
    "network cards and of PCIe as a whole (scaled(kind='pcie')), not of this cable: use simulate()": (
        "{name}：环经过被改动的 {link_name}；NCCL 模型只知道 NVLink、网卡和整个 PCIe（scaled(kind='pcie')）的速率，"
        "不知道这条线缆的：请用 simulate()"
    ),
    "ranks={count}: this machine has {ranks} GPUs on {nodes} nodes, and each node takes part": (
        "ranks={count}：这台机器在 {nodes} 个节点上有 {ranks} 块 GPU，且每个节点都参与"
    ),
    "{name!r} is not a machine; NCCL runs on GPUs: give machine('dgx-a100', nodes=2) or nccl.Facts": (
        "{name!r} 不是机器；NCCL 在 GPU 上运行：请给出 machine('dgx-a100', nodes=2) 或 nccl.Facts"
    ),
    "{name} does not say which GPUs it has, and NCCL's choices depend on it: give the file that NCCL writes on "
    "such a node (NCCL_TOPO_DUMP_FILE=topo.xml; its <gpu> elements have sm=), nvidia-smi's with gpu='A100', or a "
    "known machine": (
        "{name} 没有说明是哪种 GPU，而 NCCL 的选择取决于此：请给出 NCCL 在这种节点上写出的文件（"
        "NCCL_TOPO_DUMP_FILE=topo.xml；其中 <gpu> 元素带有 sm=）、nvidia-smi 的输出加 gpu='A100'，或一台已知的机器"
    ),
    "{name} has no GPU that NCCL or RCCL runs on": "{name} 没有 NCCL 或 RCCL 能运行的 GPU",
    "{name}: sm={sm} is no compute capability that the model of NCCL knows ({known}); RCCL on GPUs without xGMI is "
    "not modelled": "{name}：sm={sm} 不是 NCCL 模型所知的计算能力（{known}）；没有 xGMI 的 GPU 上的 RCCL 未建模",
    "{name}: its nodes are wired differently now; NCCL's choice for such a mixture is not modelled": (
        "{name}：各节点的布线现在不同；NCCL 在这种混合情况下的选择未建模"
    ),
    "{name}: RCCL's rings on a changed xGMI mesh are not modelled; scale all its links, or use simulate()": (
        "{name}：改动过的 xGMI 网格上 RCCL 的环未建模；请缩放其所有链路，或用 simulate()"
    ),
    "{name}: no ring is left that stays on NVLinks, and NCCL's mixture of NVLink and PCIe is not modelled": (
        "{name}：已没有只走 NVLink 的环，而 NCCL 混用 NVLink 与 PCIe 的情况未建模"
    ),
    "no search of graphs here ({why}): it takes a Topology of NVIDIA GPUs, 2 ranks or more, and at most {most} in "
    "a node": "这里不能搜索图（{why}）：需要 NVIDIA GPU 的 Topology、至少 2 个 rank，且每个节点最多 {most} 个",
    "RCCL has tables of its own": "RCCL 有自己的表",
    "{local} ranks in a node, wiring {wiring}": "每个节点 {local} 个 rank，布线{wiring}",
    "NCCL_CROSS_NIC={value!r} must be 0, 1 or 2": "NCCL_CROSS_NIC={value!r} 必须是 0、1 或 2",
    "PCIe of {rate} is of no generation that NCCL knows; scale it by 2 or 0.5": (
        "{rate} 的 PCIe 不属于 NCCL 所知的任何一代；请按 2 或 0.5 缩放"
    ),
    "NIC {name!r}: NCCL's way over it is not modelled; known kinds: {known}": (
        "网卡 {name!r}：NCCL 经过它的方式未建模；已知类型：{known}"
    ),
    "{name} has no NVLink to the NVSwitch that others have; NCCL there is not modelled": (
        "{name} 没有通往 NVSwitch 的 NVLink，而其他 GPU 有；这种情况下的 NCCL 未建模"
    ),
    "NCCL_SHM_DISABLE=1 without P2P sends the data of a node over its network cards, and {gpu} has none here; "
    "give Facts with nics, nic_rate and net, or leave it out": (
        "没有 P2P 时，NCCL_SHM_DISABLE=1 让同一节点内的数据经过网卡，而这里的 {gpu} 没有网卡；请在 Facts 中给出 "
        "nics、nic_rate 和 net，或不要设置它"
    ),
    "the log does not name its test, as nccl-tests before 2.16.7 did not, and its columns do not tell it; say "
    "collective='allgather' (--collective)": (
        "日志没有写明测试名称（nccl-tests 2.16.7 之前都不写），从各列也看不出来；"
        "请给出 collective='allgather'（--collective）"
    ),
    "{name} has xGMI to {peers} of {last} GPUs; RCCL's rings on a mesh with gaps are not modelled": (
        "{name} 只与 {last} 块 GPU 中的 {peers} 块有 xGMI；有缺口的网格上 RCCL 的环未建模"
    ),
    "intra_link={word!r} is not understood; write for example nvlink3-nvswitch, pcie4-x16-p2p or pcie4-x16-nop2p": (
        "无法理解 intra_link={word!r}；请写例如 nvlink3-nvswitch、pcie4-x16-p2p 或 pcie4-x16-nop2p"
    ),
    "intra_link={text!r}: this GPU has no NVLink; write for example pcie5-x16-p2p, pcie5-x16-nop2p or xgmi-mi300x": (
        "intra_link={text!r}：这种 GPU 没有 NVLink；请写例如 pcie5-x16-p2p、pcie5-x16-nop2p 或 xgmi-mi300x"
    ),
    "intra_link={text!r}: only AMD's GPUs have xGMI; write for example nvlink4-nvswitch or pcie4-x16-nop2p": (
        "intra_link={text!r}：只有 AMD 的 GPU 有 xGMI；请写例如 nvlink4-nvswitch 或 pcie4-x16-nop2p"
    ),
    "NVLink wiring {wiring!r} is not understood; known: nvswitch, nvl72, mesh4, hybridcubemesh, bridge": (
        "无法理解 NVLink 布线 {wiring!r}；可选：nvswitch, nvl72, mesh4, hybridcubemesh, bridge"
    ),
    "NVLink generation {generation} is not known; known: {known}": "未知的 NVLink 代次 {generation}；可选：{known}",
    "PCIe generation {generation} is not known; known: {known}": "未知的 PCIe 代次 {generation}；可选：{known}",
    "inter_link={word!r} says nothing about the network between nodes": "inter_link={word!r} 没有说明节点间的网络",
    "inter_link={word!r} is not understood; write for example 8xNDR400 IB, 4x100G EFA or 1x10GbE (TCP sockets)": (
        "无法理解 inter_link={word!r}；请写例如 8xNDR400 IB、4x100G EFA 或 1x10GbE (TCP sockets)"
    ),
    # measurements
    "{cases}: case_id {value!r} stands on several lines; give every run a name of its own": (
        "{cases}：case_id {value!r} 出现在多行；请给每次运行一个单独的名称"
    ),
    "{measured}: no row can be read; {first}": "{measured}：没有一行可读；{first}",
    "{path}: cannot be read as a CSV table: {error}": "{path}：无法作为 CSV 表读取：{error}",
    "{path}: its columns are separated by semicolons; save it with commas": "{path}：各列以分号分隔；请改用逗号保存",
    "{path}: has no column {missing}; it has {columns}": "{path}：没有 {missing} 列；现有 {columns}",
    "{column}={value!r} is not a whole number": "{column}={value!r} 不是整数",
    "{column}={value!r} is not a whole number from 1 to {most:,}": "{column}={value!r} 不是 1 到 {most:,} 的整数",
    "no row has a positive size and time": "没有一行的数据量和时间都为正数",
    "{name}: {sizes} sizes and {times} times; give as many of each, and at least one": (
        "{name}：{sizes} 个数据量、{times} 个时间；两者个数须相同，且至少一个"
    ),
    "{name}: sizes and times must be positive": "{name}：数据量和时间必须为正数",
    # the tuner
    "NCCL_ALGO={algorithms!r} and NCCL_PROTO={protocols!r} leave nothing for {where}": (
        "NCCL_ALGO={algorithms!r} 与 NCCL_PROTO={protocols!r} 使 {where} 没有任何可选"
    ),
    "{collective} on {ranks} ranks over {nodes} nodes": "{nodes} 个节点、{ranks} 个 rank 的 {collective}",
    "{variable}={value!r} must be 0 or 1{auto}": "{variable}={value!r} 必须是 0 或 1{auto}",
    ", or 2 where NCCL is to choose": "，或 2（由 NCCL 选择）",
    "ranks={ranks}: {nodes} nodes cannot share them evenly, which a simulation needs; use a multiple": (
        "ranks={ranks}：无法平均分到 {nodes} 个节点，而仿真需要平均；请用其倍数"
    ),
    # versions of NCCL
    "version={version!r} is no version of NCCL as text; write for example '2.18' or '2.18.3'": (
        "version={version!r} 不是以文本写出的 NCCL 版本；请写例如 '2.18' 或 '2.18.3'"
    ),
    (
        "version={version!r}: known are NCCL 2.{oldest} to 2.{newest}; give one of them, or leave it out for 2.{newest}"
    ): "version={version!r}：已知的是 NCCL 2.{oldest} 至 2.{newest}；请给出其中之一，或省略（即 2.{newest}）",
    "version='2.{minor}' is of NCCL, and {gpu} runs RCCL, whose tables are its own; leave the version out": (
        "version='2.{minor}' 是 NCCL 的版本，而 {gpu} 运行 RCCL，其表格是自己的；请不要给出版本"
    ),
    "NCCL's version is not said: chosen as 2.{newest} would; version= (--version) says another": (
        "没有说明 NCCL 的版本：按 2.{newest} 的方式选择；用 version=（--version）说明其他版本"
    ),
    "NCCL 2.{minor}: chosen as 2.{newest} would": "NCCL 2.{minor}：按 2.{newest} 的方式选择",
    (
        "NCCL 2.{minor}: chosen by the tables of {source}{lacking}; what a choice takes is known of all versions "
        "together"
    ): "NCCL 2.{minor}：按 {source} 的表格选择{lacking}；所选方案需要多长时间，依据的是各版本合在一起的实测",
    "; not there yet: {what}": "；当时还没有：{what}",
    "RCCL runs here, whose tables are its own; NCCL's versions do not count": (
        "这里运行的是 RCCL，其表格是自己的；NCCL 的版本不起作用"
    ),
    "fact to be unsure of": "可以不确定的事实",
    "{error}; join the rails (fabric='rail'), or give all cards one switch (fabric='switch')": (
        "{error}；请把各轨道连起来（fabric='rail'），或让所有网卡接到一个交换机（fabric='switch'）"
    ),
}
