"""A step of training: `collsim.train`."""

TRANSLATIONS = {
    # what was asked
    "memory_format": "内存格式",
    "optimizer_kernels": "优化器的 kernel",
    "no operations of {gpu} were measured; of these they were: {known}": ("没有测过 {gpu} 的操作；测过的有：{known}"),
    "training_step: {what}={value!r} is no {kind}; make one with {way}": (
        "training_step：{what}={value!r} 不是 {kind}；请用 {way} 生成"
    ),
    "eager=True is a rule of the event engine, so it needs network='shared'": (
        "eager=True 是事件引擎的规则，因此需要 network='shared'"
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
    "activations": "激活值",
    "parameters": "参数",
    "buffers": "缓冲区",
    "replica": "模型副本",
    "replica's gradients": "副本的梯度",
    "inputs and outputs": "输入与输出",
    "gradients": "梯度",
    "whole gradients": "未分片的梯度",
    "buckets": "桶",
    "compressed": "压缩后的梯度",
    "shard": "分片",
    "gathered": "收集来的参数",
    "micro_batch={most} would fit": "micro_batch={most} 可以放下",
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
    ".html, .trace.json (Perfetto), .json, .csv, .et (Chakra), .py (PyTorch), .png, .svg or .pdf": (
        ".html、.trace.json（Perfetto）、.json、.csv、.et（Chakra）、.py（PyTorch）、.png、.svg 或 .pdf"
    ),
    "task {number} ({name}) waits for a task that is not listed before it: {waits}": (
        "任务 {number}（{name}）等待的任务不在它之前：{waits}"
    ),
    # several steps together
    "{name}={text!r} is no number from {least} to {most}": "{name}={text!r} 不是 {least} 到 {most} 之间的数",
    "--{key}: write it inside --parallel {name!r}": "--{key}：请写在 --parallel {name!r} 里面",
    "{text} is no way of splitting; write 'tensor(8) * pipeline(4) * ddp()'": (
        "{text} 不是一种划分方式；请写成 'tensor(8) * pipeline(4) * ddp()'"
    ),
    "slow={{{rank!r}: {factor!r}}}: name a rank that takes part, and how many times as long it computes (1.5)": (
        "slow={{{rank!r}: {factor!r}}}：请写出参与的 rank，以及它的计算时间是几倍（例如 1.5）"
    ),
    "kind of scaling": "扩展方式",
    "slow={slow!r} must be a dict of ranks and how many times as long each computes, for example {{0: 1.5}}": (
        "slow={slow!r} 必须是字典，写出 rank 及其计算时间的倍数，例如 {{0: 1.5}}"
    ),
    "slow: {factor!r} is no number; give how many times as long it computes": (
        "slow：{factor!r} 不是数字；请给出计算时间的倍数"
    ),
    "{name}={values!r} must be a list, for example {example}": "{name}={values!r} 必须是列表，例如 {example}",
    "machine(nodes={nodes}) returned {made!r}, which is no Topology": (
        "machine(nodes={nodes}) 返回了 {made!r}，它不是 Topology"
    ),
    "scaling needs at least one number of nodes; the list given is empty": "scaling 至少需要一个节点数；给出的列表为空",
    "{name}={value!r} must be more than 0": "{name}={value!r} 必须大于 0",
    "losses wants a StepTrace, got {trace!r:.200}; training_step makes one": (
        "losses 需要一个 StepTrace，现在是 {trace!r:.200}；请用 training_step 生成"
    ),
    "no split of {ranks} GPUs with context_sizes={contexts} and expert_sizes={experts} gives all replicas of "
    "batch={batch} as many samples; the sizes have to divide the GPUs, and the replicas the batch": (
        "{ranks} 块 GPU 上按 context_sizes={contexts}、expert_sizes={experts} 没有一种划分能让所有副本平分 "
        "batch={batch}；这些大小必须整除 GPU 数，副本数必须整除 batch"
    ),
    "time_concurrent_steps wants at least two StepTraces, got {traces!r:.200}; training_step makes one": (
        "time_concurrent_steps 至少需要两个 StepTrace，现在是 {traces!r:.200}；请用 training_step 生成"
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
    "of its {steps} steps most have no kernel but NCCL's; record the activities of CUDA in steps that compute": (
        "{steps} 步中，多数除 NCCL 的以外没有任何 kernel；请在有计算的步中记录 CUDA 活动"
    ),
    "event {number}": "事件 {number}",
    "ts={ts}, dur={dur}: wants numbers of microseconds": "ts={ts}，dur={dur}：应为以微秒计的数",
    "dur={dur!r} microseconds is no time that a kernel takes": "dur={dur!r} 微秒不可能是一个 kernel 的时间",
    # ways to spread a model
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
    "a model's name must be a text that is not empty, got {name!r}": "模型的名称必须是非空的文本，现在是 {name!r}",
    "a layer's name must be a text that is not empty, got {name!r}": "层的名称必须是非空的文本，现在是 {name!r}",
    "layer {name!r}": "层 {name!r}",
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
    # files, comparisons, the PyTorch script
    "asynchronous workers wait for nobody, so their messages have no order that a trace could tell": (
        "异步 worker 互不等待，消息没有 trace 能够记录的先后顺序"
    ),
    "compare wants two StepTraces, or two Traces, got {given!r}": (
        "compare 需要两个 StepTrace，或两个 Trace，得到的是 {given!r}"
    ),
    "{says}: PyTorch has no module that does this; ddp(), data_parallel() and products of ways have a script": (
        "{says}：PyTorch 没有这样的模块；ddp()、data_parallel() 和各种划分的乘积有脚本"
    ),
    "Megatron-LM has no {part}: its pipelines are 1F1B and interleaved": (
        "Megatron-LM 没有 {part}：它的流水线只有 1F1B 和交错"
    ),
    "Megatron-LM has no option for {part}": "Megatron-LM 没有对应 {part} 的选项",
    "pretrain_gpt.py of Megatron-LM trains decoders, and {name} is none": (
        "Megatron-LM 的 pretrain_gpt.py 训练 decoder，{name} 不是"
    ),
    "Megatron-LM has experts beside {part} only with sequence=True": (
        "Megatron-LM 中，{part} 要有 sequence=True 才能与专家并行一起使用"
    ),
    "Megatron-LM wants a multiple of {by} for {what}={many} with {says}": (
        "{says} 时，Megatron-LM 要求 {what}={many} 是 {by} 的倍数"
    ),
    "Megatron-LM has no order {order!r} of ranks; it has {known}": "Megatron-LM 没有 rank 次序 {order!r}；它有 {known}",
    "no PyTorch script for {part}: torch's context_parallel is a prototype, for CUDA's kernels alone": (
        "{part} 没有 PyTorch 脚本：torch 的 context_parallel 是原型，只支持 CUDA 的 kernel"
    ),
    "no PyTorch script for {part}: torch has no module for experts": (
        "{part} 没有 PyTorch 脚本：torch 没有用于专家的模块"
    ),
    "no PyTorch script for {part} of {name}: it knows the layers of cs.train.transformer alone": (
        "{name} 的 {part} 没有 PyTorch 脚本：脚本只认识 cs.train.transformer 的层"
    ),
    "no PyTorch script for {part} of {name}: {what}={many} cannot be shared evenly by {t} GPUs": (
        "{name} 的 {part} 没有 PyTorch 脚本：{what}={many} 无法由 {t} 个 GPU 平分"
    ),
    "init={init!r} must be 'env://' (torchrun) or 'tcp://' (a line for each process)": (
        "init={init!r} 必须是 'env://'（torchrun）或 'tcp://'（每个进程一行）"
    ),
    # sweeps over steps
    "option of a training step": "训练步的选项",
    # teaching
    "interleave={many}: in {schedule} a GPU holds {stages} of the model": (
        "interleave={many}：在 {schedule} 中每块 GPU 持有模型的{stages}"
    ),
    "{count} stage": " {count} 个阶段",
    "{count} stages": " {count} 个阶段",
    "no experts": "没有专家",
    "layers of {experts} experts": "含 {experts} 个专家的层",
    "the nearest split that fits is {parallel} with micro_batch={micro_batch} and recompute={recompute!r} "
    "({memory} by estimate)": (
        "最接近且放得下的划分是 {parallel}，micro_batch={micro_batch}，recompute={recompute!r}（估计 {memory}）"
    ),
    "no split over {count} GPUs fits: use more of them": "{count} 块 GPU 的任何划分都放不下：请用更多的 GPU",
    "even without activations it does not fit: the model has to be split over GPUs; {split}": (
        "即使没有激活值也放不下：模型必须划分到多块 GPU；{split}"
    ),
    "{where}: {what}": "{where}：{what}",
    "gpu_type={text!r} is no GPU that the catalogue has a machine of": "gpu_type={text!r} 不是目录中有机器的 GPU",
    "unit={unit!r}: wants s/iteration, tokens/s/GPU or TFLOP/s/GPU": (
        "unit={unit!r}：应为 s/iteration、tokens/s/GPU 或 TFLOP/s/GPU"
    ),
    "has no column {missing!r}; wants {needed}": "没有 {missing!r} 列；应有 {needed}",
    "{name}={value!r}: a step needs a whole number of at least 1": "{name}={value!r}：训练步需要不小于 1 的整数",
    "model={model!r} is not in the catalogue, and its row does not say how wide it is": (
        "model={model!r} 不在目录中，且它那一行没有说明宽度"
    ),
    "{gpus} GPUs are not spread evenly over {many} nodes": "{gpus} 块 GPU 不能平均分到 {many} 个节点",
    "value={value!r} is no figure of a step": "value={value!r} 不是训练步的数字",
    "{name}={text!r} is no number": "{name}={text!r} 不是数字",
    "mode={mode!r}: LoRA leaves most weights as they are, and a step computes gradients of all": (
        "mode={mode!r}：LoRA 不改动大部分权重，而训练步计算全部权重的梯度"
    ),
    "model={model!r} has {layers}, which a step does not know": "model={model!r} 含有{layers}，训练步未建模",
    "state space layers (Mamba)": "状态空间层（Mamba）",
    "linear attention": "线性注意力",
    "sparse attention": "稀疏注意力",
    "unit={unit!r}: {name} has no tokens": "unit={unit!r}：{name} 没有词元",
    "schedule of a pipeline": "流水线调度",
    "weight={weight!r} is a part of backward={backward!r}, and longer than it": (
        "weight={weight!r} 是 backward={backward!r} 的一部分，却比它长"
    ),
    "order={order!r} must name tp, cp, ep, dp and pp once each, as {usual!r}": (
        "order={order!r} 必须把 tp、cp、ep、dp 和 pp 各写一次，例如 {usual!r}"
    ),
    "zero({stage!r}): stage 1 shares the optimizer, 2 gradients too, 3 weights too": (
        "zero({stage!r})：阶段 1 切分优化器，2 还切分梯度，3 还切分权重"
    ),
    "tensor({t}): no layer of {name} says how it is cut (Layer.partition: column, row, heads, vocab)": (
        "tensor({t})：{name} 没有一层说明如何切分（Layer.partition：column、row、heads、vocab）"
    ),
    "context({c}): no layer of {name} has keys and values to pass on (Layer.kv_size)": (
        "context({c})：{name} 没有一层有可传递的 key 和 value（Layer.kv_size）"
    ),
    "context({c}): sequences of {tokens} tokens cannot be shared evenly": (
        "context({c})：{tokens} 个词元的序列不能平均切分"
    ),
    "expert({e}): {name} has {has}; their number has to be a multiple": (
        "expert({e})：{name} 有 {has}；其个数必须是倍数"
    ),
    "{says}: {stages} stages, and the model has {listed} layers or blocks to share": (
        "{says}：{stages} 个阶段，而模型有 {listed} 个可分的层或块"
    ),
    "{says} takes {together} GPUs a replica, which does not divide {ranks}; use a multiple of it": (
        "{says} 每个副本需要 {together} 块 GPU，不能整除 {ranks}；请用其倍数"
    ),
    "{says} is one replica on {together} of {ranks} GPUs; say how {dp} keep together: * ddp()": (
        "{says} 是 {ranks} 块 GPU 中 {together} 块上的一个副本；请说明 {dp} 个副本如何保持一致：* ddp()"
    ),
    "expert({e}): {shared} ranks of data and context parallelism do not share experts by {e}": (
        "expert({e})：数据并行与上下文并行的 {shared} 个 rank 不能按 {e} 个分担专家"
    ),
    "fsdp(replicate={replicate}): {shared} data parallel ranks have no such replicas": (
        "fsdp(replicate={replicate})：{shared} 个数据并行 rank 没有这样的副本"
    ),
    "{twice}: a product has one part of a kind": "{twice}：乘积中每种只能有一个",
    "{said} is no part of a product; tensor, context, expert, pipeline, ddp, zero, fsdp are": (
        "{said} 不能作为乘积的一部分；可以的有 tensor、context、expert、pipeline、ddp、zero、fsdp"
    ),
    "rank {stuck} of the pipeline waits for ever for what {order} reads": (
        "流水线的 rank {stuck} 永远等待 {order} 要读取的内容"
    ),
    "dualpipe-v on {ranks} ranks needs at least {least} microbatches, got {micros}; zbv takes any number": (
        "{ranks} 个 rank 的 dualpipe-v 至少需要 {least} 个微批，现在是 {micros}；zbv 可取任意个数"
    ),
    "{micros} microbatches do not make {rounds} equal rounds on {ranks} ranks, which interleaved stages go in; use "
    "a multiple of {ranks}: {fits} or {more}": (
        "{micros} 个微批在 {ranks} 个 rank 上不能分成 {rounds} 轮，而交错的阶段需要等分；请用 {ranks} "
        "的倍数：{fits} 或 {more}"
    ),
    "recompute={recompute!r} is not modelled with {says}; use ddp, zero or fsdp": (
        "recompute={recompute!r} 与 {says} 的组合未建模；请用 ddp、zero 或 fsdp"
    ),
    "{name} does not say which GPU it has; give compute='A100'": "{name} 没有说明是哪种 GPU；请给出 compute='A100'",
    "batch={batch}: no split of {ranks} GPUs gives all replicas as many samples": (
        "batch={batch}：{ranks} 块 GPU 的任何划分都不能给各副本同样多的样本"
    ),
    "{where}: top_k={top_k} of {experts} experts: a token goes to fewer than there are": (
        "{where}：{experts} 个专家中 top_k={top_k}：一个词元去往的专家应少于总数"
    ),
    "partition of layer ({where})": "层的 partition（{where}）",
    "{name} fits on {ranks} GPUs of {room} in none of {ways} ways; the one that needs least, {split} with "
    "micro_batch={micro} and recompute={recompute!r}, needs {needed}: use more GPUs": (
        "{name} 在 {ranks} 块 {room} 的 GPU 上，{ways} 种方式都放不下；需要最少的 {split}（micro_batch={micro}，"
        "recompute={recompute!r}）需要 {needed}：请用更多的 GPU"
    ),
}
