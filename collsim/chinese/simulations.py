"""Runs: `collsim.simulate`, `bounds`, `display`, `analysis`, `sweep`, `synthesis`."""

TRANSLATIONS = {
    "{who} wants a schedule, got {one!r}; make one with schedule('allreduce_ring', ranks=8)": (
        "{who} 需要一个调度，现在是 {one!r}；请用 schedule('allreduce_ring', ranks=8) 生成"
    ),
    "{label} is a finished schedule, which has no options; leave out {options}": (
        "{label} 是已经生成的调度，没有选项；请去掉 {options}"
    ),
    "{name} is a schedule for {collective}, not for {kinds}": "{name} 是 {collective} 的调度，不是 {kinds} 的",
    "{label} is for {ranks} ranks, {name} has {count}": "{label} 用于 {ranks} 个 rank，而 {name} 有 {count} 个",
    "{function} has no {name}=; nodes are said where the machine is made: cs.machine('dgx-a100', nodes=2)": (
        "{function} 没有 {name}=；节点数在生成机器时给出：cs.machine('dgx-a100', nodes=2)"
    ),
    "{function} has no {name}=; the topology says how many ranks there are: cs.topology.switch(8)": (
        "{function} 没有 {name}=；rank 数由拓扑给出：cs.topology.switch(8)"
    ),
    "{function}: {error}; it is called as {function}{signature}": (
        "{function}：{error}；调用方式为 {function}{signature}"
    ),
    "{who} wants a topology, got {value!r}; make one with topology.switch(8) or machine('dgx-a100')": (
        "{who} 需要一个拓扑，现在是 {value!r}；请用 topology.switch(8) 或 machine('dgx-a100') 生成"
    ),
    "{who} got an empty list; give at least one schedule": "{who} 得到的是空列表；请至少给出一个调度",
    "several schedules at once need engine='event': a barrier after each step would tie them together": (
        "同时运行几个调度需要 engine='event'：每步之后的屏障会把它们绑在一起"
    ),
    "engine 'lockstep' has no option {name!r}; it is one of engine='event'": (
        "引擎 'lockstep' 没有选项 {name!r}；它属于 engine='event'"
    ),
    "{name} has {entries} entries for {schedules}; give one each": (
        "{name} 有 {entries} 项，而有{schedules}；请各给一项"
    ),
    "{count} schedule": " {count} 个调度",
    "{count} schedules": " {count} 个调度",
    "{label} has {ranks} ranks, {name} only {topology_ranks}; use fewer ranks or more nodes": (
        "{label} 有 {ranks} 个 rank，{name} 只有 {topology_ranks} 个；请减少 rank 或增加节点"
    ),
    "ranks={ranks!r} must be {schedule_ranks} different ranks of {name}, one for each rank of {label}": (
        "ranks={ranks!r} 必须是 {name} 中 {schedule_ranks} 个不同的 rank，与 {label} 的 rank 一一对应"
    ),
    "ranks={ranks!r} must be {schedule_ranks} different ranks of {name}": (
        "ranks={ranks!r} 必须是 {name} 中 {schedule_ranks} 个不同的 rank"
    ),
    "ranks={ranks!r}: {name} has ranks 0 to {last}": "ranks={ranks!r}：{name} 的 rank 为 0 到 {last}",
    "entry {number} waits for {after}; entries can only wait for those before them": (
        "第 {number} 项等待 {after}；每一项只能等待它前面的项"
    ),
    "schedules with and without explicit dependencies cannot run together": "有显式依赖与没有的调度不能一起运行",
    "{label}: depends needs {offsets} rising offsets, from 0 to the number of dependencies ({count})": (
        "{label}：depends 需要 {offsets} 个递增的偏移，从 0 到依赖数（{count}）"
    ),
    "{label}: depends names transfer {transfer}; transfers are 0 to {last}": (
        "{label}：depends 提到传输 {transfer}；传输编号为 0 到 {last}"
    ),
    "{label} cannot end: {names}{more}, which waits for the first of them": (
        "{label} 无法结束：{names}{more}，而它又等待其中第一个"
    ),
    "{first} waits for {then}": "{first} 等待 {then}",
    "transfer {transfer} (step {step}, {src} to {dst}, chunk {chunk})": (
        "传输 {transfer}（第 {step} 步，{src} 到 {dst}，chunk {chunk}）"
    ),
    "engine 'event': {wanted}, and {limit}; use fewer ranks or chunks, or engine='lockstep'": (
        "引擎 'event'：{wanted}，而{limit}；请减少 rank 或 chunk，或用 engine='lockstep'"
    ),
    "{rows:,} transfers would take {need:.3g} GiB": "{rows:,} 次传输需要 {need:.3g} GiB",
    "more than 2,147,483,647 do not fit its tables": "它的表最多容纳 2,147,483,647 次",
    "there is {have:.3g} GiB": "这里只有 {have:.3g} GiB",
    "flows need arrays of one length, one entry a flow; got {lengths}": (
        "flows 需要长度相同的数组，每个流一项；现在是 {lengths}"
    ),
    "{name}={value!r} must be one rank number or a flat list of them": (
        "{name}={value!r} 必须是一个 rank 编号，或一层列表"
    ),
    "{name} must be rank numbers, got {value!r}": "{name} 必须是 rank 编号，现在是 {value!r}",
    "{name}={value} is not a rank of {topology_name}; its ranks are 0 to {last}": (
        "{name}={value} 不是 {topology_name} 的 rank；可取 0 到 {last}"
    ),
    "{name}: {rank!r} is not a rank of {topology_name}; its ranks are 0 to {last}": (
        "{name}：{rank!r} 不是 {topology_name} 的 rank；可取 0 到 {last}"
    ),
    "eager=True needs sharing 'fair' or 'none' and no gamma: only then do bytes leave a latency before they arrive": (
        "eager=True 需要 sharing 为 'fair' 或 'none' 且不带 gamma：只有这样，字节离开的时刻才恰比到达早一个延迟"
    ),
    "{name}={seconds:g} s is longer than {most:g} s; is the unit right? {name}='1us' is a microsecond": (
        "{name}={seconds:g} s 超过 {most:g} s；单位是否写对？{name}='1us' 是一微秒"
    ),
    "{name}={value!r} must say which rank: {name}={{3: ...}}": "{name}={value!r} 必须指明 rank：{name}={{3: ...}}",
    "slow[{rank}]={value!r} is not a number; slow={{{rank}: 2}} makes rank {rank} half as fast": (
        "slow[{rank}]={value!r} 不是数字；slow={{{rank}: 2}} 使 rank {rank} 的速度减半"
    ),
    "slow[{rank}]={value!r} must be more than 0 and less than {most:g}; slow={{{rank}: 2}} makes rank {rank} half "
    "as fast": "slow[{rank}]={value!r} 必须大于 0 且小于 {most:g}；slow={{{rank}: 2}} 使 rank {rank} 的速度减半",
    "background: flow {flow} goes from rank {src} to itself and crosses no link; leave it out": (
        "background：流 {flow} 从 rank {src} 到它自己，不经过任何链路；请去掉"
    ),
    "background={value!r}: background is a list of (src, dst, nbytes) or (src, dst, nbytes, start), at least one": (
        "background={value!r}：background 是 (src, dst, nbytes) 或 (src, dst, nbytes, start) 的列表，至少一项"
    ),
    "simulate_flows has no option {name!r}: it is one of collectives; a flow has its own start, and is traffic "
    "itself": "simulate_flows 没有选项 {name!r}：它属于集合通信；每个流有自己的开始时间，流本身就是流量",
    "simulate_many wants jitter=, the mean extra delay of a transfer, such as jitter='1us'; without it all runs "
    "are one": "simulate_many 需要 jitter=，即每次传输的平均额外延迟，例如 jitter='1us'；没有它，每次运行都一样",
    "runs={runs!r} is more than {most:,}; a distribution shows long before that": (
        "runs={runs!r} 超过 {most:,}；分布早就看得清了"
    ),
    "{total:.3g} bytes on one link or endpoint cannot be counted; use a smaller nbytes": (
        "一条链路或一个端点上的 {total:.3g} 字节无法计数；请减小 nbytes"
    ),
    "there is no link {link!r}; {name} has links 0 to {last}": "没有链路 {link!r}；{name} 的链路为 0 到 {last}",
    # bounds, bars
    "{n} ranks do not fit on {name}, which has {ranks}": "{name} 只有 {ranks} 个 rank，放不下 {n} 个",
    "progress={progress!r} must be True for a bar, or a function of {wanted}": (
        "progress={progress!r} 必须是 True（进度条），或一个以 {wanted} 为参数的函数"
    ),
    "progress={name}{signature} is called with {wanted}: {error}": (
        "progress={name}{signature} 会以 {wanted} 调用：{error}"
    ),
    # analysis
    "{log!s} holds {table!r}; calibrate wants nccl-tests output": (
        "{log!s} 中是 {table!r}；calibrate 需要 nccl-tests 的输出"
    ),
    "critical_path wants a Trace, got {trace!r}; simulate(...) makes one": (
        "critical_path 需要一个 Trace，现在是 {trace!r}；请用 simulate(...) 生成"
    ),
    "sensitivity wants a Trace, got {trace!r}; simulate(...) makes one": (
        "sensitivity 需要一个 Trace，现在是 {trace!r}；请用 simulate(...) 生成"
    ),
    "compare wants two Traces, or a collective and a topology, got {given!r}": (
        "compare 需要两个 Trace，或一种集合通信和一个拓扑，现在是 {given!r}"
    ),
    "algorithm={algorithm!r} must be a list of names, for example ['allreduce_ring', 'allreduce_tree']": (
        "algorithm={algorithm!r} 必须是名称的列表，例如 ['allreduce_ring', 'allreduce_tree']"
    ),
    "algorithm={given!r} must be a list of names, for example ['allreduce_ring', 'allreduce_tree']": (
        "algorithm={given!r} 必须是名称的列表，例如 ['allreduce_ring', 'allreduce_tree']"
    ),
    "algorithm {choice!r} is neither a name nor a (name, {{option: value}}) pair": (
        "algorithm {choice!r} 既不是名称，也不是 (name, {{option: value}}) 的形式"
    ),
    "{name} is an algorithm for {its}, not for {kind}": "{name} 是 {its} 的算法，不是 {kind} 的",
    "no algorithm for {collective} runs on {name}; the last one said: {why}": (
        "没有 {collective} 的算法能在 {name} 上运行；最后一个的原因：{why}"
    ),
    "first={first!r} is not below last={last!r}; give the smallest size and the largest": (
        "first={first!r} 不小于 last={last!r}；请给出最小和最大的数据量"
    ),
    "{what}={given!r} must map names, for example {{'a': ...}}": "{what}={given!r} 必须以名称为键，例如 {{'a': ...}}",
    "a race": "赛跑",
    "up to {size} {below} is faster, from there on {above}": "小于 {size} 时 {below} 更快，从 {size} 起 {above} 更快",
    "{who} wants runs of one collective: {first} is for {first_collective}, {other} for {other_collective}": (
        "{who} 需要同一种集合通信的运行：{first} 是 {first_collective} 的，{other} 是 {other_collective} 的"
    ),
    "{time} is below the bound of {bound}, which no correct {collective} can beat on {topology}. {fault}": (
        "{time} 低于下界 {bound}：在 {topology} 上没有任何正确的 {collective} 能更快。{fault}"
    ),
    "the table has rows of {collectives}, whose times say nothing about one another; give those of one": (
        "表中有 {collectives} 的行，它们的时间不能相互比较；请只给出其中一种的行"
    ),
    "no price for {missing}": "没有 {missing} 的价格",
    "the price of {name} is {price!r}; give a number, 0 or more": "{name} 的价格是 {price!r}；请给出不小于 0 的数",
    # sweeps
    "a sweep needs at least one topology, for example topology=[cs.machine('dgx-a100')]": (
        "批量实验至少需要一个拓扑，例如 topology=[cs.machine('dgx-a100')]"
    ),
    "a sweep needs at least one {what}; the list given is empty": "批量实验至少需要一个 {what}；给出的列表是空的",
    "topology {entry!r} is neither a Topology nor words for one, such as 'switch(64)' or 'dgx-a100'": (
        "topology {entry!r} 既不是 Topology，也不是它的写法，例如 'switch(64)' 或 'dgx-a100'"
    ),
    "topology {entry!r} has no 'machine' and no 'network'": "topology {entry!r} 中既没有 'machine' 也没有 'network'",
    "machine {name!r}: {error}": "机器 {name!r}：{error}",
    "edits {edits!r} of {name}: {error}": "对 {name} 的改动 {edits!r}：{error}",
    "{name}, line 1: a plan is a mapping with the keys {keys}": "{name} 第 1 行：计划应为映射，键为 {keys}",
    "{name}, line {line}: key {value!r} is there twice, first in line {first}": (
        "{name} 第 {line} 行：键 {value!r} 出现两次，第一次在第 {first} 行"
    ),
    "{name}, line {line}: {unknown}": "{name} 第 {line} 行：{unknown}",
    "{name}, line {line}: {error}": "{name} 第 {line} 行：{error}",
    "{name}, {error}": "{name} {error}",
    "{name}: a plan needs a topology, for example 'topology: [switch(64)]'": (
        "{name}：计划需要一个拓扑，例如 'topology: [switch(64)]'"
    ),
    "{key} is empty": "{key} 是空的",
    "{entry!r} has no name; write {{name: ..., option: value}}": (
        "{entry!r} 没有名称；请写 {{name: ..., option: value}}"
    ),
    "{entry!r} is not the name of an {key}": "{entry!r} 不是 {key} 的名称",
    "{what} {item!r} is neither a name nor a (name, {{option: value}}) pair": (
        "{what} {item!r} 既不是名称，也不是 (name, {{option: value}}) 的形式"
    ),
    "{name} is an algorithm for {collective}, not for {kinds}": "{name} 是 {collective} 的算法，不是 {kinds} 的",
    "order {entry!r} is not 'given', 'reversed', 'random:7' or a permutation of 0 to {last}": (
        "order {entry!r} 不是 'given'、'reversed'、'random:7'，也不是 0 到 {last} 的排列"
    ),
    "where={where!r} must be a function of a scenario's inputs, for example lambda row: row['ranks'] > 8": (
        "where={where!r} 必须是以场景输入为参数的函数，例如 lambda row: row['ranks'] > 8"
    ),
    "executor={executor!r} has no submit; give an executor of concurrent.futures, or None": (
        "executor={executor!r} 没有 submit；请给出 concurrent.futures 的执行器，或 None"
    ),
    "results go to a file ending in {known}, not {name!r}": "结果应写入以 {known} 结尾的文件，而不是 {name!r}",
    "cannot write {place!r}: {error}": "无法写入 {place!r}：{error}",
    "{place} is not a store of results, or damaged: {why}; give another name, or remove it": (
        "{place} 不是结果文件，或已损坏：{why}；请换个名称，或删除它"
    ),
    "writing .parquet needs pyarrow (pip install pyarrow); .csv and .sqlite need nothing more": (
        "写 .parquet 需要 pyarrow（pip install pyarrow）；.csv 和 .sqlite 不需要"
    ),
    # synthesis
    "ranks={n}: {name} has {ranks}, and a collective to synthesize needs 2": (
        "ranks={n}：{name} 有 {ranks} 个，而合成一种集合通信至少需要 2 个"
    ),
    "{name} cannot be synthesized; known: {known}": "{name} 无法合成；可选：{known}",
    "objective='latency' knows {known}; got {name!r}": "objective='latency' 只支持 {known}；现在是 {name!r}",
    "method {method!r} knows {known}; got {name!r}": "方法 {method!r} 只支持 {known}；现在是 {name!r}",
    "exact synthesis knows {known}; got {name!r}": "精确合成只支持 {known}；现在是 {name!r}",
    "exact synthesis needs OR-Tools; install it with: pip install 'collsim[synthesis]'": (
        "精确合成需要 OR-Tools；安装：pip install 'collsim[synthesis]'"
    ),
    "{name}: {size:,} variables are more than {most:,}; use fewer ranks, chunks or steps, or another objective": (
        "{name}：{size:,} 个变量超过 {most:,}；请减少 rank、chunk 或步，或换一个 objective"
    ),
    "{name}: no schedule of {least} steps was found in time; try objective='bandwidth'": (
        "{name}：规定时间内没有找到 {least} 步的调度；请试 objective='bandwidth'"
    ),
    "{name}: no rates between its ranks let all of them be reached": "{name}：没有哪种速率分配能让所有 rank 都可到达",
    "{name}: chunk {chunk} cannot be brought to rank {rank}": "{name}：chunk {chunk} 无法送到 rank {rank}",
    "{ranks} ranks with {chunks:,} chunks are too many to match; use fewer chunks or ranks": (
        "{ranks} 个 rank、{chunks:,} 个 chunk 太多，无法匹配；请减少 chunk 或 rank"
    ),
    "no {count} spanning trees from rank {root} are left to pack": "已没有 {count} 棵以 rank {root} 为根的生成树可用",
    "{name}: {ranks} ranks behind switches are {pairs:,} pairs, more than {most:,}; use fewer ranks": (
        "{name}：交换机后面的 {ranks} 个 rank 有 {pairs:,} 对，超过 {most:,}；请减少 rank"
    ),
    "{name}: {lost}; add a link, or leave them out with ranks=": "{name}：{lost}；请加一条链路，或用 ranks= 把它们排除",
    "{ranks} cannot be reached from rank 0": "从 rank 0 无法到达 {ranks}",
    "{ranks} cannot reach rank 0": "{ranks} 无法到达 rank 0",
    "Of all that was timed the library's {name} is the fastest{helped}; no trees and no matching beat it.": (
        "在所有计时过的调度中，库中的 {name} 最快{helped}；没有树或匹配比它更快。"
    ),
    ", whose data switches of the machine reduce or multicast": "，其数据由机器的交换机归约或多播",
    "Every pair of ranks took, whenever it was free, a chunk that its source had and its destination lacked.": (
        "每对 rank 一空闲，就取一个源端已有而目的端还缺的 chunk。"
    ),
    "at the root": "在 root 处",
    "at every rank": "在每个 rank 处",
    "the buffer": "整个缓冲区",
    "each block": "每一块",
    "{counts} trees {where}, at most {height} links high, carry {rate} of {what}: {share} % of what the narrowest "
    "cut and the routes allow.": (
        "{where}有 {counts} 棵树，高不超过 {height} 条链路，以 {rate} 传送{what}：达到最窄割和路由所允许的 {share} %。"
    ),
    "No schedule of fewer than {least} steps exists: {why}.{refused}": "不存在少于 {least} 步的调度：{why}。{refused}",
    "No reduce_scatter followed by an allgather takes fewer than {least} steps: {why}, in each of the two.{refused}": (
        "先 reduce_scatter 再 allgather 不可能少于 {least} 步：{why}，两个阶段都是如此。{refused}"
    ),
    "switches= is for collectives: compare('allreduce', machine, switches=False)": (
        "switches= 只用于集合通信：compare('allreduce', machine, switches=False)"
    ),
    "The library's {name} takes {steps} steps; a reduce_scatter and then an allgather take at least {halves}. No "
    "allreduce takes fewer than {least}: {why}.": (
        "算法库中的 {name} 需要 {steps} 步；先 reduce_scatter 再 allgather 至少需要 {halves} 步。任何 allreduce "
        "都不少于 {least} 步：{why}。"
    ),
    "an allreduce is two halves: steps={steps} and rounds={rounds} must be even": (
        "allreduce 由两半组成：steps={steps} 和 rounds={rounds} 必须是偶数"
    ),
    "what rank {a} has must reach rank {b}, {least} links away": (
        "rank {a} 的数据必须到达 rank {b}，两者相隔 {least} 条链路"
    ),
    " None of {least} steps takes fewer than {rounds} rounds: the solver proved it.": (
        "求解器已证明：{least} 步的调度都不少于 {rounds} 轮。"
    ),
    "option of synthesis": "合成选项",
    "{own} as it was run": "{own}（按原样运行）",
    "The synthesized schedule takes {time}; {others}.": "合成的调度用时 {time}；{others}。",
    "{rival} takes {other}, {times} times as long": "{rival} 用时 {other}，是其 {times} 倍",
    "{rival} takes {other} and is {times} times as fast": "{rival} 用时 {other}，速度是其 {times} 倍",
    "{rival} takes as long": "{rival} 用时相同",
    "Where the gain of {saved} over {rival} comes from: {why}.": "比 {rival} 节省的 {saved} 从何而来：{why}。",
    " It gives back {paid}.": "但要付出 {paid}。",
    "{part} because {rival} uses {used} of the {all} links of the narrowest cut, not {mine}, and its busiest link, "
    "{link}, needs {floor} for what it carries, not {own}": (
        "{part} 是因为 {rival} 在最窄割的 {all} 条链路中只用了 {used} 条，而不是 {mine} 条，"
        "其最忙的链路 {link} 传完所载数据需要 {floor}，而不是 {own}"
    ),
    "{part} because the busiest link of {rival}, {link}, needs {floor} for what it carries, not {own}": (
        "{part} 是因为 {rival} 最忙的链路 {link} 传完所载数据需要 {floor}，而不是 {own}"
    ),
    "{part} because the busiest link of {rival} waits {wait} for chunks that are still on their way, not {own}": (
        "{part} 是因为 {rival} 最忙的链路要等待尚在途中的 chunk {wait}，而不是 {own}"
    ),
    "{part} because the busiest link of {rival} waits {wait} for chunks that are still on their way, and that of the "
    "synthesized schedule for none": (
        "{part} 是因为 {rival} 最忙的链路要等待尚在途中的 chunk {wait}，而合成的调度不用等待"
    ),
    "{part} of latency because {rival} takes {steps} steps, not {own}": (
        "{part} 的延迟，因为 {rival} 需要 {steps} 步，而不是 {own} 步"
    ),
    "{part} of latency that {rival} with its {steps} steps does not hide": (
        "{part} 的延迟，{rival} 的 {steps} 步没有把它掩盖掉"
    ),
    "{part} at the cut": "割上的 {part}",
    "{part} of waiting for chunks": "等待 chunk 的 {part}",
    "{part} of latency": "延迟 {part}",
    "No schedule can be faster than {bound}, and this one is within 0.5 % of it.": (
        "任何调度都不可能快于 {bound}，而它与之相差不到 0.5 %。"
    ),
    "{part} at the cut: its links are not loaded alike, or carry more than must cross it": (
        "割上的 {part}：其链路负载不均，或传送的比必须跨越的多"
    ),
    "{part} of waiting for chunks: pipelines fill and drain": "等待 chunk 的 {part}：流水线要填满和排空",
    "{part} of latency in one step": "一步的延迟 {part}",
    "{part} of latency in {steps} steps": "{steps} 步的延迟 {part}",
    "It stays at {gap} times the lower bound of {bound}: {why}.": "它仍是下界 {bound} 的 {gap} 倍：{why}。",
    "The bound is one of latency: the farthest rank is {time} away.": "下界由延迟决定：最远的 rank 相距 {time}。",
    "No cut is narrower than all links of the ranks together: they need {time}.": (
        "没有哪个割比各 rank 的全部链路合起来更窄：它们需要 {time}。"
    ),
    "ranks {first}-{last}": "rank {first}–{last}",
    "ranks {ranks} and {more} more": "rank {ranks} 等（另有 {more} 个）",
    "The narrowest cut: {needed} must get into {ranks} over {links} links of {rate} together, {time}.": (
        "最窄的割：{needed} 必须经 {links} 条链路（合计 {rate}）进入 {ranks}，需 {time}。"
    ),
    "The narrowest cut: {needed} must get out of {ranks} over {links} links of {rate} together, {time}.": (
        "最窄的割：{needed} 必须经 {links} 条链路（合计 {rate}）离开 {ranks}，需 {time}。"
    ),
    "{what}= is for the ways of splitting a model: compare('resnet50', machine, batch=4096)": (
        "{what}= 用于划分模型的方式：compare('resnet50', machine, batch=4096)"
    ),
    "a sweep needs at least one {name}; the list given is empty": "批量实验至少需要一个 {name}；给出的列表是空的",
    "a sweep needs at least one model; the list given is empty": "批量实验至少需要一个模型；给出的列表是空的",
    "a sweep needs at least one parallel; the list given is empty": "批量实验至少需要一个 parallel；给出的列表是空的",
    "parallel {name!r} needs its option {key}; write {{name: {name}, {key}: ...}}": (
        "parallel {name!r} 必须给出选项 {key}；请写 {{name: {name}, {key}: ...}}"
    ),
    "{name}= is of a sweep over training steps: say which model, as model='resnet50'": (
        "{name}= 属于训练步的批量实验：请指明模型，例如 model='resnet50'"
    ),
    "{name}={given!r} is of a sweep over collectives; a sweep over models has parallel=, batch= and what "
    "training_step takes": (
        "{name}={given!r} 属于集合通信的批量实验；模型的批量实验有 parallel=、batch= 以及 training_step 的参数"
    ),
    "compare takes one value of each option of a training step; a sweep takes several": (
        "compare 的训练步选项每项只取一个值；sweep 可取多个"
    ),
}
