"""A step of training: `collsim.training`."""

SAID = {
    # what was asked
    "training_step: {what}={value!r} is no {kind}; make one with {way}": (
        "training_step：{what}={value!r} 不是 {kind}；请用 {way} 生成"
    ),
    "background traffic shares links with collectives: it needs network='shared'": (
        "背景流量与集合通信共用链路：需要 network='shared'"
    ),
    "ranks={asked!r} must be a list of ranks, or their number": "ranks={asked!r} 必须是 rank 的列表，或 rank 的个数",
    "ranks={asked!r} must be different ranks of {name}, which has 0 to {last}": (
        "ranks={asked!r} 必须是 {name} 中不同的 rank；可取 0 到 {last}"
    ),
    "ranks={count}: {name} has {n} ranks; give 1 to {n}": "ranks={count}：{name} 有 {n} 个 rank；请给出 1 到 {n}",
    "ranks={count} on {n} GPUs ({nodes} of {per}) uses nodes unevenly; use {fitting}, or name them: "
    "ranks=range({count})": (
        "{n} 块 GPU（{nodes}，每个 {per} 块）上 ranks={count} 使各节点不均；请用 {fitting}，或逐个指明："
        "ranks=range({count})"
    ),
    "{count} node": "{count} 个节点",
    "{count} nodes": "{count} 个节点",
    "say how many samples: batch=256 (over all GPUs), or micro_batch=32 (of one)": (
        "请给出样本数：batch=256（所有 GPU 合计），或 micro_batch=32（每块 GPU）"
    ),
    "batch={total} is not micro_batch={wanted}; the next that is: {next}": (
        "batch={total} 不等于 micro_batch={wanted}；下一个符合的是 {next}"
    ),
    "{size} × {ranks} GPUs": "{size} × {ranks} 块 GPU",
    "batch={total} cannot be shared evenly by {each}; the next that can is {next}": (
        "batch={total} 不能平均分给 {each}；下一个可以的是 {next}"
    ),
    "{ranks} GPUs": "{ranks} 块 GPU",
    " × accumulate={many}": " × accumulate={many}",
    " × accumulate={accumulate}": " × accumulate={accumulate}",
    "{name} does not fit: {need} on a GPU of {room} ({listed}); {way}": (
        "{name} 放不下：每块 GPU 需要 {need}，而只有 {room}（{listed}）；{way}"
    ),
    "{kind} {size}": "{kind} {size}",
    "micro_batch={most} would fit": "micro_batch={most} 可以放下",
    "even without activations it does not fit: the model has to be split over GPUs": (
        "即使没有激活值也放不下：模型必须切分到多块 GPU"
    ),
    "what_if wants something to change, for example what_if(overlap=False) or what_if(network=2)": (
        "what_if 需要一项改动，例如 what_if(overlap=False) 或 what_if(network=2)"
    ),
    "network={value!r} must be a factor above 0 (2: twice as fast), or one of {networks}": (
        "network={value!r} 必须是大于 0 的倍数（2 表示速度加倍），或 {networks} 之一"
    ),
    "asynchronous workers have no common moment at which they share links; use network='alone'": (
        "异步的 worker 没有共用链路的共同时刻；请用 network='alone'"
    ),
    "rank {rank!r} takes no part in this step; its ranks are {lanes}": "rank {rank!r} 不参与这一步；参与的是 {lanes}",
    "{name!r}: a step of training is written as {kinds}": "{name!r}：训练步可写成 {kinds}",
    ".trace.json (Perfetto), .json, .csv, .png, .svg or .pdf": (
        ".trace.json（Perfetto）、.json、.csv、.png、.svg 或 .pdf"
    ),
    "task {number} ({name}) waits for a task that is not listed before it: {waits}": (
        "任务 {number}（{name}）等待的任务不在它之前：{waits}"
    ),
    # several steps together
    "steps_together wants at least two StepTraces, got {traces!r:.200}; training_step makes one": (
        "steps_together 至少需要两个 StepTrace，现在是 {traces!r:.200}；请用 training_step 生成"
    ),
    "steps run on one network: {name} is another than {first_name}": (
        "各步须在同一个网络上运行：{name} 不同于 {first_name}"
    ),
    "GPU {gpu} is used by two of the steps; give each GPUs of its own: ranks=[...]": (
        "GPU {gpu} 被两个步使用；请各给单独的 GPU：ranks=[...]"
    ),
    # what computing costs
    "compute: {unknown}": "compute：{unknown}",
    "compute: {unknown}, or give a time such as '97ms'": "compute：{unknown}；也可给出时间，例如 '97ms'",
    "{name} does not say which GPU it has; give compute='A100', or measured seconds: '97ms'": (
        "{name} 没有说明是哪种 GPU；请给出 compute='A100'，或测得的时间，例如 '97ms'"
    ),
    "compute has {entries} entries for the {layers} layers of {name}; give one each": (
        "compute 有 {entries} 项，而 {name} 有 {layers} 层；请每层一项"
    ),
    "compute[{name!r}]={value!r} must be (forward, backward), or the forward alone": (
        "compute[{name!r}]={value!r} 必须是 (forward, backward)，或只给 forward"
    ),
    "compute leaves out layer {missing!r} ({count} in all), and the GPU is not known; give all": (
        "compute 缺少层 {missing!r}（共缺 {count} 层），且不知道是哪种 GPU；请全部给出"
    ),
    "interference={interference!r} must be from 0 (overlap is free) to 1 (overlap gains nothing)": (
        "interference={interference!r} 必须在 0（重叠没有代价）到 1（重叠毫无收益）之间"
    ),
    "has no list traceEvents; torch.profiler's export_chrome_trace writes one": (
        "没有 traceEvents 列表；torch.profiler 的 export_chrome_trace 会写出"
    ),
    "has {events:,} events; {most:,} is the most": "有 {events:,} 个事件；最多 {most:,} 个",
    "has no event of category kernel; was the profiler told to record activities of CUDA?": (
        "没有 kernel 类的事件；profiler 是否记录了 CUDA 活动？"
    ),
    "event {number}": "事件 {number}",
    "ts={ts}, dur={dur}: wants numbers of microseconds": "ts={ts}，dur={dur}：应为以微秒计的数",
    "dur={dur!r} microseconds is no time that a kernel takes": "dur={dur!r} 微秒不可能是一个 kernel 的时间",
    # ways to spread a model
    "nccl={nccl!r} must be True or False": "nccl={nccl!r} 必须是 True 或 False",
    "synchronous={synchronous!r} must be True or False": "synchronous={synchronous!r} 必须是 True 或 False",
    "data_parallel is one process on one node, and these GPUs are on {nodes}; use nodes=1, or ddp()": (
        "data_parallel 是单节点上的一个进程，而这些 GPU 在 {nodes} 个节点上；请用 nodes=1，或 ddp()"
    ),
    "bucket_cap_mb={value!r} must be a number of MiB above 0; torch's default is 25": (
        "bucket_cap_mb={value!r} 必须是大于 0 的 MiB 数；torch 的默认值是 25"
    ),
    "{name}={value!r}: a bucket of 0 bytes holds nothing; the smallest, {name}=1, puts every tensor in its own": (
        "{name}={value!r}：0 字节的桶什么也放不下；最小的 {name}=1 使每个张量各占一个桶"
    ),
    "bucket={bucket!r}: a group of 0 bytes holds nothing; the smallest is bucket=1": (
        "bucket={bucket!r}：0 字节的组什么也放不下；最小是 bucket=1"
    ),
    "buckets wants a Model, got {model!r}; make one with model('resnet50')": (
        "buckets 需要一个 Model，现在是 {model!r}；请用 model('resnet50') 生成"
    ),
    "parameter_server: {servers} servers on {ranks} ranks; use fewer, or on='host'": (
        "parameter_server：{ranks} 个 rank 上有 {servers} 个服务器；请减少，或用 on='host'"
    ),
    "parameter_server: asynchronous workers need servers of their own; use on='host'": (
        "parameter_server：异步的 worker 需要单独的服务器；请用 on='host'"
    ),
    "{what} is given twice, and differently: {given}": "{what} 给出了两次且不一致：{given}",
    "algorithm={algorithm!r} is no allreduce; collsim list algorithms names them": (
        "algorithm={algorithm!r} 不是 allreduce；collsim list algorithms 会列出它们"
    ),
    # models
    "model {name!r} is in the catalogue twice": "模型 {name!r} 在目录中出现两次",
    "model {name!r} needs at least one Layer, got {layers!r:.80}": (
        "模型 {name!r} 至少需要一个 Layer，现在是 {layers!r:.80}"
    ),
    "model {name!r} has {layers:,} layers; {most:,} is the most": "模型 {name!r} 有 {layers:,} 层；最多 {most:,} 层",
    "model {name!r} has two layers named {twice!r}; names must differ": (
        "模型 {name!r} 有两层都叫 {twice!r}；名称必须不同"
    ),
    "a layer's name must be a text that is not empty, got {name!r}": "层的名称必须是非空的文本，现在是 {name!r}",
    "layer {name!r}": "层 {name!r}",
    "{where}: ops": "{where}：ops",
    "{where}: width": "{where}：width",
    "{where}: {what}={value!r} must be a number of at least 0": "{where}：{what}={value!r} 必须是不小于 0 的数",
    "{where}: {what}={values!r}: {value!r} is no number of elements; give whole numbers of at least 0": (
        "{where}：{what}={values!r}：{value!r} 不是元素个数；请给出不小于 0 的整数"
    ),
    "has columns {columns}; wants name and any of {known}": "列为 {columns}；应有 name，以及 {known} 中的任意几列",
    "has more or fewer fields than line 1": "字段数与第 1 行不同",
    "is no CSV ({error})": "不是合法的 CSV（{error}）",
    "h={h} must be a multiple of heads={heads}, and heads of kv_heads={kv}": (
        "h={h} 必须是 heads={heads} 的倍数，heads 必须是 kv_heads={kv} 的倍数"
    ),
    "Model.from_torch needs torch: pip install 'collsim[torch]'": (
        "Model.from_torch 需要 torch：pip install 'collsim[torch]'"
    ),
    "from_torch wants a torch.nn.Module and its inputs, got {kind} and {inputs} inputs": (
        "from_torch 需要 torch.nn.Module 及其输入，现在是 {kind} 和 {inputs} 个输入"
    ),
    "from_torch: the first dimension of the first input is the batch; it must hold at least one sample": (
        "from_torch：第一个输入的第一维是 batch；至少要有一个样本"
    ),
    "from_torch: {missing} ({count} in all) belongs to no module that ran; DDP calls it unused": (
        "from_torch：{missing}（共 {count} 个）不属于任何运行过的模块；DDP 称之为 unused"
    ),
    "from_torch: {kind} does not run on these inputs: {error}": "from_torch：{kind} 不能在这些输入上运行：{error}",
}
