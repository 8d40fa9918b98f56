"""Machines and networks: `collsim.topology`, without its files."""

TRANSLATIONS = {
    "{thing!r} is no Machine; name a Machine or a list of them": "{thing!r} 不是 Machine；请指向一个 Machine 或其列表",
    # generic networks
    "{shape}: {error}": "{shape}：{error}",
    "{shape}() needs the size of each dimension, for example {shape}(4, 4)": (
        "{shape}() 需要每一维的大小，例如 {shape}(4, 4)"
    ),
    "dimension {number} of {shape}": "{shape} 的第 {number} 维",
    "hypercube({n}): the number of ranks must be a power of two; a cube of {n} dimensions is hypercube({ranks})": (
        "hypercube({n})：rank 数必须是 2 的幂；{n} 维的超立方体是 hypercube({ranks})"
    ),
    "fat_tree({k}): k, the ports of a switch, must be even; use {even}": (
        "fat_tree({k})：交换机端口数 k 必须是偶数；请用 {even}"
    ),
    "topology {text!r} is not of the form 'ring(8, bandwidth=25GB/s, alpha=1us)'": (
        "拓扑 {text!r} 应写成 'ring(8, bandwidth=25GB/s, alpha=1us)' 的形式"
    ),
    "topology {text!r}: {part!r} comes after a keyword; write key=value": (
        "拓扑 {text!r}：{part!r} 在关键字参数之后；请写 key=value"
    ),
    "topology {text!r}: {error}; {name} takes {signature}": "拓扑 {text!r}：{error}；{name} 的参数是 {signature}",
    "from_networkx wants a networkx graph, got {graph!r}; make one with networkx.Graph()": (
        "from_networkx 需要 networkx 的图，现在是 {graph!r}；请用 networkx.Graph() 生成"
    ),
    "the graph has no rank: give at least one node kind='gpu'": "图中没有 rank：请至少给一个节点写 kind='gpu'",
    "the rank attributes of the {gpus} gpu nodes must be 0 to {last}, each once; they are {ranks}": (
        "{gpus} 个 gpu 节点的 rank 属性必须是 0 到 {last}，各出现一次；现在是 {ranks}"
    ),
    "node {node!r}: {unknown}": "节点 {node!r}：{unknown}",
    "edge {a!r} to {b!r}: {error}": "边 {a!r} 到 {b!r}：{error}",
    "edge {a!r} to {b!r} is a loop; a link joins two devices": "边 {a!r} 到 {b!r} 是自环；链路应连接两个设备",
    "edge {a!r} to {b!r} has no bandwidth; give it one, for example bandwidth='25GB/s' (its attributes: "
    "{attributes})": "边 {a!r} 到 {b!r} 没有带宽；请给出，例如 bandwidth='25GB/s'（它的属性：{attributes}）",
    "edge {a!r} to {b!r} has {other}={value}; did you mean {name}?": (
        "边 {a!r} 到 {b!r} 有 {other}={value}；是否应为 {name}？"
    ),
    "edges {a!r} to {b!r} are of two kinds, {kind} and {other_kind}; a pair of devices has links of one kind": (
        "边 {a!r} 到 {b!r} 有两种类型：{kind} 和 {other_kind}；一对设备之间只能有一种链路"
    ),
    "{name} is not connected: {one} and {other} cannot reach each other; add a link between them": (
        "{name} 不连通：{one} 与 {other} 之间无法到达；请在它们之间加一条链路"
    ),
    "ranks {ranks}": "rank {ranks}",
    "rank {ranks}": "rank {ranks}",
    # routes
    "{name}: {pair}; {reason}": "{name}：{pair}；{reason}",
    "{name}: {pair}; no links join them": "{name}：{pair}；没有链路连接它们",
    "{src} cannot reach {dst}": "{src} 无法到达 {dst}",
    "{name}: the route from rank {src} to rank {dst} never arrives": (
        "{name}：从 rank {src} 到 rank {dst} 的路由永远不会到达"
    ),
    "{what}[{index!r}]: there are {count:,}, counted from 0; give a number or a slice": (
        "{what}[{index!r}]：共有 {count:,} 个，从 0 数起；请给出一个数或切片"
    ),
    "{name} has no rank {endpoint}: its ranks are 0 to {last}": "{name} 没有 rank {endpoint}：它的 rank 为 0 到 {last}",
    "{name} has no endpoint {endpoint}: its ranks are 0 to {last}, its helpers up to {end}": (
        "{name} 没有端点 {endpoint}：它的 rank 为 0 到 {last}，辅助端点到 {end} 为止"
    ),
    "{name} has no link from {a} to {b}": "{name} 没有从 {a} 到 {b} 的链路",
    "{name} has no device {device}; devices are 0 to {last}": "{name} 没有设备 {device}；设备编号为 0 到 {last}",
    "{name}: {unknown}": "{name}：{unknown}",
    "{name}: no rank sits on {place!r}; ranks sit on {device!r}, ...": (
        "{name}：{place!r} 上没有 rank；rank 在 {device!r} 等设备上"
    ),
    "no way is left through the fabric {fabric!r}": "网络结构 {fabric!r} 中已无路可走",
    "no links join {ends}; let a rank serve (server='rank')": (
        "没有链路连接 {ends}；请让 rank 兼任服务器（server='rank'）"
    ),
    "P2P is not allowed, and no host memory or network card joins {ends}; allow it with p2p=True": (
        "不允许 P2P，且没有主机内存或网卡连接 {ends}；用 p2p=True 允许它"
    ),
    "{a} and {b}": "{a} 与 {b}",
    "no network card with a working cable": "没有线缆完好的网卡",
    "no path between its device and its network card": "设备与它的网卡之间没有路径",
    "cards {own} and {other} are on lanes that nothing joins, and PXN is not used": (
        "网卡 {own} 与 {other} 所在的轨道互不相连，且没有使用 PXN"
    ),
    # cables, edits
    "cable {label!r} has no source for its numbers; say where they come from": (
        "线缆 {label!r} 的数字没有来源；请说明出处"
    ),
    "cable {label!r}: bandwidth={bandwidth!r} must be a finite rate above 0 B/s": (
        "线缆 {label!r}：bandwidth={bandwidth!r} 必须是大于 0 B/s 的有限速率"
    ),
    "cable {label!r}: alpha={alpha!r} must be 0 s or more": "线缆 {label!r}：alpha={alpha!r} 不能小于 0 s",
    "PCIe generation {generation!r} is unknown; known: {known}": "未知的 PCIe 代次 {generation!r}；可选：{known}",
    "with_link({a!r}, {b!r}) changes nothing; give bandwidth='half', bandwidth='25GB/s' or alpha='2us'": (
        "with_link({a!r}, {b!r}) 没有任何改动；请给出 bandwidth='half'、bandwidth='25GB/s' 或 alpha='2us'"
    ),
    "with_link({a!r}, {b!r}): {error}{way_out}": "with_link({a!r}, {b!r})：{error}{way_out}",
    "; a factor is 'half', 'double', 'x0.1' or '10%'": "；倍数可写 'half'、'double'、'x0.1' 或 '10%'",
    "bandwidth={bandwidth!r} must be a factor above 0; for no link at all use without_link": (
        "bandwidth={bandwidth!r} 必须是大于 0 的倍数；要去掉链路请用 without_link"
    ),
    "scaled(by={by!r}) must be a number above 0 (and below 1e12); 2 doubles the bandwidth": (
        "scaled(by={by!r}) 必须是大于 0（且小于 1e12）的数；2 使带宽加倍"
    ),
    "{name} has no links of that kind: {unknown}": "{name} 没有这类链路：{unknown}",
    "{name}: {what} sits on {device}, so it cannot be taken away; simulate fewer ranks instead": (
        "{name}：{what} 在 {device} 上，因此不能去掉它；请改为仿真较少的 rank"
    ),
    "{name} cannot lose links": "{name} 不能去掉链路",
    "{name}: {near} and {far} cannot reach each other": "{name}：{near} 与 {far} 之间无法到达",
    "{name} has no link between {pair}{beside}": "{name} 在 {pair} 之间没有链路{beside}",
    "; {name} is joined to {near}": "；{name} 连到 {near}",
    # machines
    "machine {name!r} is in the catalogue twice": "机器 {name!r} 在目录中出现两次",
    "machine {name!r} has no source for its wiring; say where it comes from": (
        "机器 {name!r} 的布线没有来源；请说明出处"
    ),
    "machine {name!r} has no network card, so there can be no {nodes} nodes; use nodes=1": (
        "机器 {name!r} 没有网卡，因此不能有 {nodes} 个节点；请用 nodes=1"
    ),
    "machine {name!r} has no network card, so nic={nic!r} has no place": "机器 {name!r} 没有网卡，nic={nic!r} 无处可放",
    "machine {name!r} has no GPU, so gpu={gpu!r} has no place": "机器 {name!r} 没有 GPU，gpu={gpu!r} 无处可放",
    "gpu={name!r} has no NVLink, but {plan_name!r} has; give a GPU with NVLinks": (
        "gpu={name!r} 没有 NVLink，而 {plan_name!r} 有；请给出带 NVLink 的 GPU"
    ),
    "gpu={value!r}: {unknown}": "gpu={value!r}：{unknown}",
    "nics={count}: {name!r} has {there} network cards; use at most so many": (
        "nics={count}：{name!r} 有 {there} 块网卡；最多用这么多"
    ),
    "machine {name!r} comes in one size; leave out gpus={count}": "机器 {name!r} 只有一种规模；请去掉 gpus={count}",
    "gpus={count}: {name!r} has {available} GPUs; use at most so many, and nodes= for more of them": (
        "gpus={count}：{name!r} 有 {available} 块 GPU；最多用这么多，更多请用 nodes="
    ),
    "{error}, or 'all'": "{error}，或 'all'",
    "pxn={pxn} must be True, False, or None for yes where the fabric has rails or planes": (
        "pxn={pxn} 必须是 True、False，或 None（网络结构有轨道或平面时启用）"
    ),
    "rates={rates} must be 'nominal' or 'effective'": "rates={rates} 必须是 'nominal' 或 'effective'",
    "oversubscription={oversubscription} must be a number; 2 means that leaves have half the capacity upwards": (
        "oversubscription={oversubscription} 必须是数字；2 表示叶交换机的上行容量减半"
    ),
    "oversubscription={oversubscription} must be above 0; 1 is a fabric without a bottleneck": (
        "oversubscription={oversubscription} 必须大于 0；1 表示网络结构没有瓶颈"
    ),
    "{what}={level}: {unknown} (True is NCCL's own rule, False is never)": (
        "{what}={level}：{unknown}（True 为 NCCL 自己的规则，False 为从不）"
    ),
    ", or give a list": "，或给出一个列表",
    "{count} ranks: {gpus} of each node": "{count} 个 rank：每个节点的 {gpus}",
    "{count} ranks: {parts}": "{count} 个 rank：{parts}",
    "{count} ranks on {nodes} of {all_nodes} nodes": "{count} 个 rank，分布在 {all_nodes} 个节点中的 {nodes} 个上",
    "1 rank: {gpus} of node {node}": "1 个 rank：节点 {node} 的 {gpus}",
    "{gpus} of node {node}": "节点 {node} 的 {gpus}",
    "GPU {number}": "GPU {number}",
    "GPUs {first}-{last}": "GPU {first}-{last}",
    "GPUs {numbers}": "GPU {numbers}",
    "placement must hold each of 0 to {last} once; it has {size} entries": (
        "placement 中 0 到 {last} 必须各出现一次；现在有 {size} 项"
    ),
    "device {name!r}: a name is a kind and a number; kinds are {kinds}": (
        "设备 {name!r}：名称由类型和编号组成；类型有 {kinds}"
    ),
    "{a} to {b}: {unknown}": "{a} 到 {b}：{unknown}",
    # helpers
    "{name} has no host memory for a helper endpoint to sit in; let a rank serve (server='rank')": (
        "{name} 没有可放辅助端点的主机内存；请让 rank 兼任服务器（server='rank'）"
    ),
    "{name} has no switch that reduces or multicasts: NVLink SHARP needs NVSwitch of the third generation "
    "(dgx-h100 and later)": "{name} 没有能做归约或多播的交换机：NVLink SHARP 需要第三代 NVSwitch（dgx-h100 及以后）",
    "an NVSwitch reduces only for the GPUs of its own node, and these ranks are on {nodes} × {name}; "
    "allreduce_nvls_tree has a switch for each node, allreduce_sharp the switch between the nodes": (
        "NVSwitch 只为本节点的 GPU 做归约，而这些 rank 在 {nodes} × {name} 上；allreduce_nvls_tree "
        "在每个节点用一台交换机，allreduce_sharp 用节点之间的交换机"
    ),
    "{nodes} × {name} has no network switch that reduces: SHARP needs one InfiniBand switch of HDR or later that joins "
    "several nodes (nodes=2, nic='ib-hdr', fabric='switch')": (
        "{nodes} × {name} 没有能做归约的网络交换机：SHARP 需要一台连接多个节点的 HDR 或更新的 InfiniBand 交换机"
        "（nodes=2、nic='ib-hdr'、fabric='switch'）"
    ),
    "{name} does not say that a switch of it reduces; NVLS needs an NVSwitch of the third generation (dgx-h100 and "
    "later) and SHARP an InfiniBand switch of HDR or later; of a generic network say it: switch({ranks}, "
    "reduces=True)": (
        "{name} 没有说明它的交换机能做归约；NVLS 需要第三代 NVSwitch（dgx-h100 及以后），SHARP 需要 HDR 或更新的 "
        "InfiniBand 交换机；对通用网络请直接说明：switch({ranks}, reduces=True)"
    ),
    "{name} has {switches} switches that reduce, for {count} reducing helpers; say which one reduces": (
        "{name} 有 {switches} 台做归约的交换机，而辅助端点有 {count} 个；请指明由哪一台做归约"
    ),
    "node {node!r}: reduces={value!r}; reduces=True is for a switch (kind='switch' or 'nvswitch')": (
        "节点 {node!r}：reduces={value!r}；reduces=True 只用于交换机（kind='switch' 或 'nvswitch'）"
    ),
    "switch(reduces={reduces!r}): give True or False": "switch(reduces={reduces!r})：请给出 True 或 False",
    "{name} has no place for a helper endpoint such as a parameter server: no device of it has a free port; let a "
    "rank serve (server='rank'), or use switch({n}), where a server gets a cable of its own": (
        "{name} 没有放参数服务器之类辅助端点的位置：没有设备有空闲端口；请让 rank 兼任服务器（server='rank'），或用 "
        "switch({n})，那里每个服务器有自己的线缆"
    ),
    "{name} has no cable to copy for a helper; use switch({ranks})": (
        "{name} 没有可供辅助端点照用的线缆；请用 switch({ranks})"
    ),
    "{count:,} helpers are more than {most:,}, the most that a topology may have": (
        "{count:,} 个辅助端点超过一个拓扑的上限 {most:,}"
    ),
    # fabrics
    "{key}={number:,} is too large; it is at most {last:,}": "{key}={number:,} 太大；最大为 {last:,}",
    "oversubscription={value} must be a number above 0; 2 halves the way up of every leaf": (
        "oversubscription={value} 必须是大于 0 的数；2 使每台叶交换机的上行减半"
    ),
    "planes={count} is more than the {cards} network cards of a node; each plane needs a card": (
        "planes={count} 超过每个节点的网卡数 {cards}；每个平面需要一块网卡"
    ),
    "a fat tree of switches with radix={k} ports holds {half:,} cards, not {ports:,}; use radix={least}": (
        "端口数 radix={k} 的交换机组成的胖树可接 {half:,} 块网卡，不够 {ports:,} 块；请用 radix={least}"
    ),
    "dims={dims} must be a list of sizes, for example dims={example}": (
        "dims={dims} 必须是各维大小的列表，例如 dims={example}"
    ),
    "dims={dims} hold {product} nodes, not {nodes}; a {name} has one router per node": (
        "dims={dims} 容纳 {product} 个节点，而不是 {nodes} 个；{name} 每个节点有一台路由器"
    ),
    "a dragonfly with switches={a}, cables={h} holds {cards:,} cards, not {ports:,}; use more switches": (
        "switches={a}、cables={h} 的 dragonfly 可接 {cards:,} 块网卡，不够 {ports:,} 块；请增加交换机"
    ),
    "fabric {name!r} has no option {left}; {name}: {options}": "网络结构 {name!r} 没有选项 {left}；{name}：{options}",
    # what a fabric is, for the error above and for the page of machines
    "one switch for all cards, non-blocking": "所有网卡接在一台交换机上，无阻塞",
    "two layers; options oversubscription, radix, nodes_per_leaf": (
        "两层；选项 oversubscription、radix、nodes_per_leaf"
    ),
    "three layers (k-ary); options oversubscription, radix": "三层（k-ary）；选项 oversubscription、radix",
    "card i of every node of a unit on leaf i, spines above; options oversubscription, unit": (
        "同一单元内各节点的网卡 i 都接在叶交换机 i 上，其上是 spine 交换机；选项 oversubscription、unit"
    ),
    "card i of every node on switch i, nothing above": "各节点的网卡 i 都接在交换机 i 上，其上没有交换机",
    "card i on plane i mod planes, planes not joined; option planes": (
        "网卡 i 接在平面 i mod planes 上，平面互不相连；选项 planes"
    ),
    "a router per node, a ring along each dimension; option dims": "每个节点一个路由器，每一维连成环；选项 dims",
    "a router per node, a line along each dimension; option dims": "每个节点一个路由器，每一维连成线；选项 dims",
    "groups of switches, a cable between any two groups; options ports_per_switch, switches, cables": (
        "交换机分组，任意两组之间一根线缆；选项 ports_per_switch、switches、cables"
    ),
    # what was measured
    "{name}={value!r} must be a number {range}": "{name}={value!r} 必须是{range}的数",
    "above 0": "大于 0 ",
    "of seconds, 0 or more": "以秒计、不小于 0 ",
    "size correction of {collective}: {sizes} ascending sizes and as many factors are wanted": (
        "{collective} 的余项：需要递增的数据量和同样多的系数；现在有 {sizes} 个数据量"
    ),
    "size correction of {collective}: {name} must be numbers above 0": "{collective} 的余项：{name} 必须是大于 0 的数",
    "fitted_on: sizes={sizes!r} must be two numbers of bytes, the smallest and the largest measured": (
        "fitted_on：sizes={sizes!r} 必须是两个字节数，即测量过的最小值和最大值"
    ),
    "fitted_on: {name}={value!r} must be a list of what was measured": (
        "fitted_on：{name}={value!r} 必须是测量内容的列表"
    ),
    "fitted_on: {missing} is missing: what the machine was when it was measured": (
        "fitted_on：缺少 {missing}：测量时机器的情况"
    ),
}
