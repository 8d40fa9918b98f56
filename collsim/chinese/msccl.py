"""Programs of MSCCL: `collsim.io.msccl`. Numbers are those of the file."""

TRANSLATIONS = {
    # places
    "<algo>": "<algo>",
    "gpu {gpu}": "gpu {gpu}",
    "gpu {gpu}, <tb>": "gpu {gpu}，<tb>",
    "gpu {gpu}, thread block {block}": "gpu {gpu}，thread block {block}",
    "gpu {gpu}, thread block {block}, step {number}": "gpu {gpu}，thread block {block}，step {number}",
    "{at}, <step>": "{at}，<step>",
    "chunk {chunk} of the {buffer} buffer": "{buffer} 缓冲区的 chunk {chunk}",
    # a file
    "expected <{order}> here": "这里应为 <{order}>",
    "no attribute {name!r}": "缺少属性 {name!r}",
    "no attribute 'coll'; expected allreduce, allgather, reduce_scatter, broadcast, reduce or alltoall": (
        "缺少属性 'coll'；应为 allreduce、allgather、reduce_scatter、broadcast、reduce 或 alltoall"
    ),
    "no <algo> element": "没有 <algo> 元素",
    "no <gpu id={missing}>; ngpus={ranks} needs ids 0 to {last}": (
        "没有 <gpu id={missing}>；ngpus={ranks} 需要 id 为 0 到 {last}"
    ),
    "a second gpu of this id": "这个 id 的第二个 gpu",
    "a second thread block of this id": "这个 id 的第二个 thread block",
    "its peer is its own gpu": "它的对端是它自己所在的 gpu",
    "thread blocks are numbered from 0 without gaps; there is no {gap}": "thread block 从 0 起连续编号；缺少 {gap}",
    "steps are numbered from 0 without gaps; expected s={steps}": "step 从 0 起连续编号；应为 s={steps}",
    "type {kind!r} is unknown; expected one of {types}": "未知的 type {kind!r}；应为 {types} 之一",
    "depid={waits} and deps={dependency}: both are -1 or none": (
        "depid={waits}，deps={dependency}：两者要么都是 -1，要么都不是"
    ),
    "{side}buf={buffer!r} is unknown; expected i, o or s": "未知的 {side}buf={buffer!r}；应为 i、o 或 s",
    "cnt={count}; a {type} moves at least 1 chunk": "cnt={count}；{type} 至少移动 1 个 chunk",
    "{name}={offset}; a {type} uses it": "{name}={offset}；{type} 要用到它",
    "{name}={offset} with cnt={count} is beyond the {buffer} buffer, which has {size} chunks": (
        "{name}={offset}、cnt={count} 超出 {buffer} 缓冲区，它有 {size} 个 chunk"
    ),
    "a {type} sends, but the thread block has no peer to send to (send=-1)": (
        "{type} 要发送，但 thread block 没有发送对端（send=-1）"
    ),
    "a {type} receives, but the thread block has no peer to receive from (recv=-1)": (
        "{type} 要接收，但 thread block 没有接收对端（recv=-1）"
    ),
    "{side}={peer} on channel {channel} is already that of thread block {other}; a connection has one": (
        "通道 {channel} 上的 {side}={peer} 已属于 thread block {other}；一个连接只属于一个"
    ),
    "waits for step {number} of thread block {block}, which does not exist": (
        "等待 thread block {block} 的 step {number}，但它不存在"
    ),
    "{ranks} gpus of {chunks} chunks are more than {most:,} chunks in all": (
        "{ranks} 个 gpu 各 {chunks} 个 chunk，总数超过 {most:,}"
    ),
    "more than {most:,} chunks are moved in all": "移动的 chunk 总数超过 {most:,}",
    "more than {most:,} pairs of messages depend on each other": "互相依赖的消息超过 {most:,} 对",
    "more than {most:,} dependencies, nops counted with all that they wait for": (
        "依赖超过 {most:,} 个（nop 等待的全部计入）"
    ),
    "{name}: {slots:,} slots on {ranks} gpus are more than {most:,} in all": (
        "{name}：{ranks} 个 gpu 各 {slots:,} 个槽，总数超过 {most:,}"
    ),
    "{name}: no order of its messages was found; this is a mistake in collsim, please report the file": (
        "{name}：没有找到消息的顺序；这是 collsim 的错误，请把文件报告给我们"
    ),
    # what a program is for
    "coll={word!r} does not say what the result should be; give collective=, one of {collectives}": (
        "coll={word!r} 没有说明结果应是什么；请给出 collective=（{collectives} 之一）"
    ),
    "nchunksperloop={chunks} is not a multiple of ngpus={ranks}, which {word} needs": (
        "nchunksperloop={chunks} 不是 ngpus={ranks} 的倍数，而 {word} 需要"
    ),
    "too large to find its root by trying all {ranks} ranks; give root=": (
        "太大，无法逐一尝试 {ranks} 个 rank 来找出 root；请给出 root="
    ),
    # what happens when it runs
    '{error}. In place it is right; out of place, which outofplace="1" promises, it is not': (
        '{error}。原地运行是对的；但非原地（outofplace="1" 声明支持）不对'
    ),
    "receives {count} chunks, but {sender} sends {sent}": "接收 {count} 个 chunk，但 {sender} 发送 {sent} 个",
    "undefined read: {type} reads {where}, in which nothing was written yet": (
        "读到未定义的数据：{type} 读取 {where}，但那里还没有写入"
    ),
    "unmatched send: gpu {peer} never receives this message on channel {channel}": (
        "发送没有匹配：gpu {peer} 从不在通道 {channel} 上接收这条消息"
    ),
    "unmatched receive: {type} waits for a message that gpu {gpu} never sends on channel {channel}": (
        "接收没有匹配：{type} 等待的消息，gpu {gpu} 从不在通道 {channel} 上发送"
    ),
    "{path}: deadlock: {shown}; and so round in a circle": "{path}：死锁：{shown}；如此循环等待",
    "{at} ({type}) waits for {why}": "{at}（{type}）等待{why}",
    "step {number} of thread block {block}": " thread block {block} 的 step {number}",
    "a message from gpu {gpu} on channel {channel}": "来自 gpu {gpu}、通道 {channel} 的消息",
    "room on channel {channel} to gpu {gpu}, which holds {depth} messages": (
        "通往 gpu {gpu} 的通道 {channel} 腾出空间，它容纳 {depth} 条消息"
    ),
    "wrong result: nothing writes {what}; {wants} there": "结果错误：没有写入 {what}；{wants}",
    "wrong result: {what} ends as {has}, but {wants}; {by}": "结果错误：{what} 最后是 {has}，而 {wants}；{by}",
    "{name} wants chunk {chunk} of {of}": "{name} 要求{of}的 chunk {chunk}",
    "every gpu, added": "所有 gpu 之和",
    "no step writes it": "没有任何一步写入它",
    "this step writes it last": "这一步最后写入它",
    # writing
    "{label}: MSCCL has no such collective: {unknown}": "{label}：MSCCL 没有这种集合通信：{unknown}",
    "{label} has {helpers} helper endpoints; MSCCL runs on the ranks alone": (
        "{label} 有 {helpers} 个辅助端点；MSCCL 只在 rank 上运行"
    ),
    "{label} has {transfers:,} transfers; a program of the runtime has at most {most:,}": (
        "{label} 有 {transfers:,} 次传输；运行时的程序最多 {most:,} 次"
    ),
    "{label} is beyond MSCCL: {too_much}": "{label} 超出 MSCCL 的限制：{too_much}",
    "{label} makes no program that is right: {error}": "{label} 得不到正确的程序：{error}",
    "{channels} channels; the runtime has {most}": "{channels} 个通道；运行时有 {most} 个",
    "gpu {gpu} needs {blocks} thread blocks; the runtime takes {most}": (
        "gpu {gpu} 需要 {blocks} 个 thread block；运行时最多 {most} 个"
    ),
    "gpu {gpu} needs more than {most} thread blocks on channel {channel}; use more channels": (
        "gpu {gpu} 在通道 {channel} 上需要的 thread block 超过 {most} 个；请增加通道"
    ),
    "{at} needs {steps} steps; the runtime takes {most}: use fewer chunks or more channels": (
        "{at} 需要 {steps} 步；运行时最多 {most} 步：请减少 chunk 或增加通道"
    ),
    "{at} moves more than {count} chunks at once": "{at} 一次移动的 chunk 超过 {count} 个",
}
