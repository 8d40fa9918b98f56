"""Files of other tools: `collsim.io`, without MSCCL's programs."""

TRANSLATIONS = {
    "{thing!r} is no Format; name a Format or a module that registers one": (
        "{thing!r} 不是 Format；请指向一个 Format，或注册 Format 的模块"
    ),
    # any format
    "{name} can be written but not read; it can be read: {known}": "{name} 只能写，不能读；可读的有：{known}",
    "{name} cannot be written from a {holds}; what can: {able}": "{name} 不能由 {holds} 写出；可以的有：{able}",
    "no format writes a {holds} to {name!r}; its suffixes: {known}": (
        "没有格式能把 {holds} 写到 {name!r}；它的后缀可以是：{known}"
    ),
    "cannot save a {kind}; give a schedule, a topology, a trace or a table": (
        "不能保存 {kind}；请给出调度、拓扑、运行记录或表"
    ),
    "{name}: {written} files can be written, but not be loaded": "{name}：{written} 文件只能写，不能载入",
    "{name}: its beginning does not look like any of: {known}; say which with format=": (
        "{name}：开头不像以下任何一种格式：{known}；请用 format= 指明"
    ),
    "expected an object": "应为对象",
    "more than {most:,} rows": "超过 {most:,} 行",
    "more than {most:,} transfers": "超过 {most:,} 次传输",
    "root={root} is not a rank; with {ranks} ranks it is 0 to {last}": (
        "root={root} 不是一个 rank；共 {ranks} 个 rank 时可取 0 到 {last}"
    ),
    # tables on a page
    "the table has {rows:,} rows; a page takes {most:,}": "表有 {rows:,} 行；一页最多 {most:,} 行",
    "no column {missing}; there are {columns}": "没有 {missing} 列；现有 {columns}",
    # Chakra
    "Chakra traces need the package protobuf: pip install 'collsim[exchange]'": (
        "Chakra 记录需要 protobuf 包：pip install 'collsim[exchange]'"
    ),
    "a Chakra trace counts bytes: say how many, for example nbytes='64MiB'": (
        "Chakra 记录以字节计：请给出数据量，例如 nbytes='64MiB'"
    ),
    "{name}: {figures} is more than a Chakra trace has room for; write it as .json": (
        "{name}：{figures} 超出 Chakra 记录能容纳的范围；请写成 .json"
    ),
    "{label} has {transfers:,} transfers; Chakra traces are written for at most {most:,}": (
        "{label} 有 {transfers:,} 次传输；Chakra 记录最多写 {most:,} 次"
    ),
    "message {number}": "消息 {number}",
    "byte {at}": "字节 {at}",
    "is no {kind} of Chakra ({error})": "不是 Chakra 的 {kind}（{error}）",
    "the length of a message is cut or too large": "消息的长度被截断或过大",
    "a message of {length} bytes, but only {left} are left; is the file cut?": (
        "消息有 {length} 字节，但只剩 {left} 字节；文件是否被截断？"
    ),
    "more than {most:,} messages": "消息多于 {most:,} 条",
    "empty; expected GlobalMetadata and nodes": "是空的；应有 GlobalMetadata 和节点",
    "{label} has {transfers:,} transfers; limit={limit:,}; fewer ranks show the same": (
        "{label} 有 {transfers:,} 次传输；limit={limit:,}；较少的 rank 也能说明同样的内容"
    ),
    # collsim's own CSV and JSON
    "name and collective are texts, options an object, helpers_on one of {known}": (
        "name 和 collective 应为文本，options 应为对象，helpers_on 应为 {known} 之一"
    ),
    "chunks={chunks} is not a multiple of ranks={ranks}, which {what} needs": (
        "chunks={chunks} 不是 ranks={ranks} 的倍数，而 {what} 需要"
    ),
    "depends": "depends",
    "transfer {transfer}": "传输 {transfer}",
    "expected a list of transfers for each of the {transfers} transfers": (
        "{transfers} 次传输中的每一次都应有一个传输列表"
    ),
    "no line of facts, so say what it is for: collective='allreduce'": "没有说明行，请指明用途：collective='allreduce'",
    "expected '# {...}' with the schedule's facts as JSON": "应为 '# {...}'，即调度说明的 JSON",
    "an unknown version; this collsim reads version 1": "未知版本；此 collsim 读取版本 1",
    "the header is {header!r}; expected {columns}": "表头是 {header!r}；应为 {columns}",
    "not CSV: {error}": "不是合法的 CSV：{error}",
    "{cells} values; the header has {columns}": "有 {cells} 个值；表头有 {columns} 列",
    "op={op!r}; expected copy or reduce": "op={op!r}；应为 copy 或 reduce",
    "the first step is {number}; steps rise from 0 without gaps": "第一个 step 是 {number}；step 应从 0 起连续递增",
    "step {number} after step {before}; steps rise from 0 without gaps": (
        "step {before} 之后是 step {number}；step 应从 0 起连续递增"
    ),
    "{label} has {transfers:,} transfers; CSV takes {most:,}. JSON keeps repeated steps short": (
        "{label} 有 {transfers:,} 次传输；CSV 最多 {most:,} 次。JSON 能把重复的步写得很短"
    ),
    'expected an object with "format": "{name}"': '应为含 "format": "{name}" 的对象',
    "version {version!r}; this collsim reads version {known}": "版本 {version!r}；此 collsim 读取版本 {known}",
    "expected columns {columns} and a list of steps": "应有列 {columns} 和步的列表",
    "step {number}": "step {number}",
    "{where}, row {row}": "{where}，第 {row} 行",
    "expected rows of {count} values: {columns}": "每行应有 {count} 个值：{columns}",
    "{label} has {rows:,} rows; JSON takes {most:,}": "{label} 有 {rows:,} 行；JSON 最多 {most:,} 行",
    "{label} has {transfers:,} transfers; a picture takes {most:,}. Use fewer ranks": (
        "{label} 有 {transfers:,} 次传输；一张图最多 {most:,} 次。请减少 rank"
    ),
    # GOAL
    "GOAL counts bytes: say how many, for example nbytes='64MiB'": "GOAL 以字节计：请给出数据量，例如 nbytes='64MiB'",
    "{label} has {transfers:,} transfers; GOAL is written for at most {most:,}": (
        "{label} 有 {transfers:,} 次传输；GOAL 最多写 {most:,} 次"
    ),
    "more than {most:,} tasks": "任务多于 {most:,} 个",
    "more than {most:,} comments": "注释多于 {most:,} 条",
    "expected 'num_ranks N'": "应为 'num_ranks N'",
    "no 'num_ranks N'": "没有 'num_ranks N'",
    "ends inside a rank": "在某个 rank 内部结束",
    "{line!r}; expected a rank block, 'l: send Nb to R tag T', 'l: recv ...', 'l: calc N' or 'a requires b'": (
        "{line!r}；应为 rank 块、'l: send Nb to R tag T'、'l: recv ...'、'l: calc N' 或 'a requires b'"
    ),
    "label {label!r} is there twice in rank {rank}": "rank {rank} 中标签 {label!r} 出现两次",
    "rank {src} sends {sent} messages to {dst} with tag {tag}, which receives {received}, or other sizes": (
        "rank {src} 以 tag {tag} 向 {dst} 发送 {sent} 条消息，而后者接收 {received} 条，或大小不同"
    ),
    "no task {lost!r}, which a 'requires' names": "没有任务 {lost!r}，而某个 'requires' 提到了它",
    # what NCCL's synthesizers write
    "expected an object of msccl_type 'algorithm', found {kind!r}": (
        "应为 msccl_type 为 'algorithm' 的对象，现在是 {kind!r}"
    ),
    "collective, chunk {i}": "collective，chunk {i}",
    "address {number}": "地址 {number}",
    "step {number}, sends": "step {number}，sends",
    "step {number}, send {send}": "step {number}，发送 {send}",
    "step {number}, send of address {address} from {src} to {dst}": (
        "step {number}，地址 {address} 从 {src} 到 {dst} 的发送"
    ),
    "expected an object with pre, post and addr": "应为含 pre、post 和 addr 的对象",
    "addresses {found}; expected 0, 1, 2 ... without gaps": "地址为 {found}；应为 0、1、2……且没有空缺",
    "{found:,} addresses on {ranks} ranks; at most {most:,} cells are followed": (
        "{ranks} 个 rank 上有 {found:,} 个地址；最多跟踪 {most:,} 格"
    ),
    "each chunk must start on one rank, and those of one address go to the same ranks": (
        "每个 chunk 必须从一个 rank 出发，同一地址的 chunk 必须去往相同的 rank"
    ),
    "one rank contributes twice": "有一个 rank 贡献了两次",
    "its conditions are those of no collective that is known here (a scan, or one made by hand)": (
        "它的条件不属于这里已知的任何集合通信（例如 scan，或手工编写的）"
    ),
    "{name} with {least} to {most} addresses per rank; expected as many on each": (
        "{name} 每个 rank 有 {least} 到 {most} 个地址；应当一样多"
    ),
    "alltoall with more addresses between some ranks than between others": "alltoall 中某些 rank 之间的地址比别的多",
    "more than {most:,} sends": "发送多于 {most:,} 次",
    "send {send}; expected [address, src, dst]": "发送 {send}；应为 [address, src, dst]",
    "rank {src} holds nothing at this address yet": "rank {src} 在这个地址还没有数据",
    "ranks {both} would count twice": "rank {both} 会被计算两次",
    "two sends of this step write the same place": "这一步有两次发送写入同一处",
    "expected an object with keys like '6-Flows'": "应为键形如 '6-Flows' 的对象",
    "no flows; expected a list under a key like '6-Flows'": "没有流；应有键形如 '6-Flows' 的列表",
    "collective={what!r}; TE-CCL makes allgather and alltoall": (
        "collective={what!r}；TE-CCL 只产生 allgather 和 alltoall"
    ),
    "chunks are wanted by {counts} nodes of {n}": "各 chunk 分别被 {n} 个节点中的 {counts} 个需要",
    "{asked}; expected {last} (allgather) or 1 (alltoall); give collective=": (
        "{asked}；应为 {last} 个（allgather）或 1 个（alltoall）；请给出 collective="
    ),
    "flow {line!r}": "流 {line!r}",
    "demand {key!r}": "需求 {key!r}",
    "chunk {chunk} from {source}": "来自 {source} 的 chunk {chunk}",
    "flow of chunk {chunk} from {source} over {a}->{b} in epoch {epoch}": (
        "来自 {source} 的 chunk {chunk} 在 epoch {epoch} 经 {a}->{b} 的流"
    ),
    "expected 'Chunk C from S traveled over A->B in epoch E'": "应为 'Chunk C from S traveled over A->B in epoch E'",
    "expected a volume above 0": "数据量应大于 0",
    "expected 'Demand at D for chunk C from S met by epoch E'": "应为 'Demand at D for chunk C from S met by epoch E'",
    "hop {hop!r}; expected 'A->B in epoch E'": "一跳写作 {hop!r}；应为 'A->B in epoch E'",
    "node {a} does not hold this chunk yet": "节点 {a} 还没有这个 chunk",
    "node {a} holds {share} of this chunk by then": "节点 {a} 到那时只有这个 chunk 的 {share}",
    "wanted by {goals} nodes; in an alltoall it goes to one": "有 {goals} 个节点需要它；在 alltoall 中它只去往一个",
    "wanted by or from a node that has no flow": "需要它或它来自的节点没有任何流",
    "volumes need {pieces} pieces per chunk; at most {most} are cut": (
        "这些数据量要求每个 chunk 切成 {pieces} 份；最多切 {most} 份"
    ),
    "{slots:,} slots in all; at most {most:,} are made": "共 {slots:,} 个槽；最多生成 {most:,} 个",
    # logs of NCCL
    "NCCL has no {chosen} for {name}; it has one for {able}": "NCCL 没有用于 {name} 的 {chosen}；有的是 {able}",
    "root={root}, pieces={pieces}: root is 0 to {last} and pieces 1 or more": (
        "root={root}，pieces={pieces}：root 为 0 到 {last}，pieces 至少为 1"
    ),
    "the log has no {chosen}s; log them with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH": (
        "日志中没有 {chosen}；请用 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH 记录"
    ),
    "no rings or trees of NCCL; log them with NCCL_DEBUG=INFO (NCCL_DEBUG_SUBSYS=INIT,GRAPH)": (
        "没有 NCCL 的环或树；请用 NCCL_DEBUG=INFO 记录（NCCL_DEBUG_SUBSYS=INIT,GRAPH）"
    ),
    "a rank beyond {last}": "rank 超过 {last}",
    "the outermost element is <{tag}>, expected <graphs>": "最外层元素是 <{tag}>，应为 <graphs>",
    "no channel of a ring (graph id 0): NCCL's search found none": "没有环的通道（graph id 0）：NCCL 没有搜到",
    "graph {graph}, channel {channel}": "graph {graph} 的通道 {channel}",
    "its GPUs are not those of the first ring, each once": "其中的 GPU 与第一个环的不同，或有重复",
    "leaves the node over a card, and a graph file holds one node; give the log of NCCL_DEBUG=INFO "
    "NCCL_DEBUG_SUBSYS=INIT,GRAPH, which has all of them": (
        "经网卡离开了节点，而 graph 文件只含一个节点；请给出含所有节点的 NCCL_DEBUG=INFO "
        "NCCL_DEBUG_SUBSYS=INIT,GRAPH 日志"
    ),
    "expected up to {most} <gpu dev=...> with hexadecimal numbers": "应为至多 {most} 个带十六进制编号的 <gpu dev=...>",
    "ring of channel {channel}": "通道 {channel} 的环",
    "tree of channel {channel}": "通道 {channel} 的树",
    "visits {visited} of {ranks} ranks": "经过 {ranks} 个 rank 中的 {visited} 个",
    " (not {missing})": "（没有 {missing}）",
    "is not a tree: one rank has no parent, and every other one leads there": (
        "不是树：应有且只有一个 rank 没有父结点，其余都通向它"
    ),
    # tables of nccl-tests and OSU
    "no row of an nccl-tests table; expected lines of size, count, type, redop, root, time, algbw, busbw, #wrong "
    "...": "没有 nccl-tests 表的任何一行；应有 size、count、type、redop、root、time、algbw、busbw、#wrong 等列的行",
    "{count} values; expected size, count, type, redop, root and twice time, algbw, busbw, #wrong (13 in all)": (
        "有 {count} 个值；应为 size、count、type、redop、root 和两组 time、algbw、busbw、#wrong（共 13 个）"
    ),
    "expected an object with a list of results, as nccl-tests -J writes": (
        "应为含 results 列表的对象，即 nccl-tests -J 写出的形式"
    ),
    "version {version}; this collsim reads versions up to 3": "版本 {version}；此 collsim 最高读取版本 3",
    "no results": "没有结果",
    "result {number}": "结果 {number}",
    "expected an object with size, count, type (one of {types}) and out_of_place": (
        "应为含 size、count、type（{types} 之一）和 out_of_place 的对象"
    ),
    "expected {key} to be an object with time, alg_bw, bus_bw": "{key} 应为含 time、alg_bw、bus_bw 的对象",
    "a table for nccl-tests needs the columns collective, ranks, nbytes and time; missing: {missing}": (
        "写给 nccl-tests 的表需要 collective、ranks、nbytes 和 time 列；缺少：{missing}"
    ),
    "no row of the table has a time": "表中没有一行有时间",
    "nccl-tests has no test for {unknown}; it has {tests}": "nccl-tests 没有 {unknown} 的测试；现有 {tests}",
    "nccl-tests' JSON holds one table, this one has {groups} (of algorithms, topologies ...); filter it first": (
        "nccl-tests 的 JSON 只容纳一张表，这里有 {groups} 张（不同的算法、拓扑等）；请先筛选"
    ),
    "no row of an OSU table; expected a title (# OSU MPI Allreduce Latency Test) and lines of size and latency": (
        "没有 OSU 表的任何一行；应有标题（# OSU MPI Allreduce Latency Test）和数据量、延迟的行"
    ),
    "a line of columns without a latency or a bandwidth; expected for example '# Size  Avg Latency(us)'": (
        "列名行中没有延迟或带宽；应为例如 '# Size  Avg Latency(us)'"
    ),
    "{count} values, but the table has {columns} columns; is the file truncated?": (
        "有 {count} 个值，但表有 {columns} 列；文件是否被截断？"
    ),
    # networks of other simulators
    "brackets nested more than {most} deep": "括号嵌套超过 {most} 层",
    "ASTRA-sim has no words for {name}; it has rings, switches, fully connected networks and tori of them": (
        "ASTRA-sim 无法描述 {name}；它只有环、交换机、全连接以及由它们组成的 torus"
    ),
    "{name} has cables or endpoints more or fewer than a plain {shape}; ASTRA-sim cannot say that": (
        "{name} 的线缆或端点比普通的 {shape} 多或少；ASTRA-sim 无法描述"
    ),
    "{name} has {rates} bandwidths and {delays} alphas; ASTRA-sim's networks have one per dimension": (
        "{name} 有 {rates} 种带宽和 {delays} 种 alpha；ASTRA-sim 的网络每一维只有一种"
    ),
    "{name} has {n} endpoints; SimGrid's full routing is written for at most {most}": (
        "{name} 有 {n} 个端点；SimGrid 的完整路由最多写 {most} 个"
    ),
    "speed={speed!r} is not SimGrid's; write for example '1Gf'": "speed={speed!r} 不是 SimGrid 的写法；请写例如 '1Gf'",
}
