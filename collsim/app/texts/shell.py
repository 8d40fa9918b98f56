"""Words that several pages share, and those of Explore and Compare, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    # pages
    "page.story": ("Story", "故事"),
    "mode": ("How much is shown", "显示多少"),
    "mode.simple": ("Simple", "简明"),
    "mode.full": ("Full", "完整"),
    "simple.title": (
        "{nbytes} {collective}, {algorithm} over {place} ({ranks} GPUs)",
        "{nbytes} {collective}，{algorithm}，{place}（{ranks} 个 GPU）",
    ),
    "page.explore": ("Explore", "探索"),
    "page.compare": ("Compare", "对比"),
    # sidebar
    "begin": ("New here? Lesson 1", "初次使用？从第 1 课开始"),
    "what": ("What", "做什么"),
    "where": ("Where", "在哪里"),
    "how": ("How", "怎么做"),
    "collective": ("Collective", "集合通信"),
    "collective.help": (
        "What is to be reached: who holds what before and after. allreduce: every rank has a buffer, and ends with "
        "the sum of all.",
        "要达成的结果：之前和之后各 rank 持有什么。allreduce：每个 rank 各有一份数据，最终都持有总和。",
    ),
    "algorithm": ("Algorithm", "算法"),
    "algorithm.help": (
        "The way to reach it: in which step who sends which chunk (a piece of the buffer) to whom.",
        "实现方式：哪一步由谁把哪个 chunk（数据的一块）发给谁。",
    ),
    "algorithms": ("Algorithms", "算法"),
    "algorithms.help": ("Compared on the same machine at the same sizes.", "在同一台机器上以相同的数据量进行对比。"),
    "nbytes": ("Size", "数据量"),
    "nbytes.help": (
        "The size column of nccl-tests: for allgather and reduce-scatter the whole array. Type any size, with its "
        "unit.",
        "即 nccl-tests 的 size 一栏：对 allgather 和 reduce-scatter 是整个数组。可以输入任意大小，请带单位。",
    ),
    "dtype": ("Element type", "数据类型"),
    "dtype.help": (
        "The kind of number in the buffer; chunks are cut between whole elements.",
        "数据中每个元素的类型；chunk 只在元素之间切分。",
    ),
    "place": ("Machine or network", "机器或网络"),
    "place.help": (
        "A machine with its real links (NVLink, PCIe, InfiniBand, …), or a network of equal cables.",
        "带有真实链路（NVLink、PCIe、InfiniBand 等）的机器，或由相同线缆组成的网络。",
    ),
    "place.own": ("Mine", "我的"),
    "place.cpus": ("Without GPUs", "没有 GPU"),
    "place.networks": ("Networks", "网络"),
    "place.network": ("network: {name}", "网络：{name}"),
    "nodes": ("Nodes", "节点数"),
    "nodes.help": ("How many of these machines, joined by their own network.", "用其自身网络互连的机器台数。"),
    "fabric": ("Fabric", "网络结构"),
    "fabric.help": ("How the network cards (NICs) of the nodes are joined.", "各节点的网卡（NIC）如何互连。"),
    "fabric.switch": ("one switch", "单交换机"),
    "fabric.leaf-spine": ("leaf and spine", "叶脊（leaf-spine）"),
    "fabric.fat-tree": ("fat tree", "胖树（fat tree）"),
    "fabric.rail": ("rail-optimised", "轨道优化（rail）"),
    "fabric.rail-only": ("rails only, not joined", "仅轨道，互不相连"),
    "fabric.planes": ("separate planes", "独立平面"),
    "fabric.torus": ("torus of nodes", "节点 torus"),
    "fabric.mesh": ("mesh of nodes", "节点 mesh"),
    "fabric.dragonfly": ("dragonfly", "dragonfly"),
    "ranks": ("Ranks", "Rank 数"),
    "ranks.help": (
        "The participants, numbered from 0; on a machine each is a GPU.",
        "参与者，从 0 开始编号；在机器上每个是一块 GPU。",
    ),
    "shape": ("Shape", "形状"),
    "shape.help": (
        "torus and mesh: ranks along each dimension, as 4x4; fat tree: ports of a switch; dragonfly: hosts x "
        "switches x cables.",
        "torus 和 mesh：各维的 rank 数，如 4x4；fat tree：每台交换机的端口数；dragonfly：主机数 x 交换机数 x 线缆数。",
    ),
    "bandwidth": ("Bandwidth of a cable", "每条线缆的带宽"),
    "bandwidth.help": ("One direction, for example 25GB/s or 200Gbit/s.", "单向，例如 25GB/s 或 200Gbit/s。"),
    "alpha": ("Latency of a cable", "每条线缆的延迟"),
    "alpha.help": (
        "alpha, paid for each cable that a transfer crosses, for example 1us.",
        "即 alpha，每经过一条线缆付出一次，例如 1us。",
    ),
    "reduces": ("The switch reduces", "交换机做归约"),
    "reduces.help": (
        "The switch adds up and multicasts what passes it, as NVLS and SHARP need it. Ordinary switches do not.",
        "交换机对经过的数据求和并多播，NVLS 和 SHARP 需要这种能力；普通交换机没有。",
    ),
    "p2p": ("GPUDirect P2P", "GPUDirect P2P"),
    "p2p.help": (
        "Off: between two GPUs of a node the data go through host memory.",
        "关闭后，同一节点内两块 GPU 之间的数据要绕行主机内存。",
    ),
    "gdr": ("GPUDirect RDMA", "GPUDirect RDMA"),
    "gdr.help": (
        "Off: between GPU and NIC the data go through host memory.",
        "关闭后，GPU 与网卡之间的数据要绕行主机内存。",
    ),
    "engine": ("Engine", "仿真引擎"),
    "engine.help": (
        "lockstep: every step waits for its slowest transfer. event: a transfer starts as soon as its data are there.",
        "lockstep：每一步都等最慢的传输完成。event：数据一到，传输就开始。",
    ),
    "sharing": ("Links shared", "链路共享"),
    "sharing.help": (
        "fair: transfers on a link share it equally (max-min). fifo: a link serves one transfer at a time, store "
        "and forward. none: no contention at all.",
        "fair：同一链路上的传输公平分享带宽（max-min）。fifo：链路一次只服务一个传输，存储转发。none：完全没有争用。",
    ),
    "sharing.none": (
        "Without contention a run may take less time than the lower bound, which counts what every link can carry.",
        "没有争用时，用时可能低于下界，因为下界计入了每条链路的承载能力。",
    ),
    "sizes": ("Sizes", "数据量范围"),
    "sizes.help": ("First, last and factor, as 1KiB:1GiB:4.", "首个、最后一个和倍数，例如 1KiB:1GiB:4。"),
    # options of algorithms that have a name of their own on screen
    "option.channels": ("Channels", "Channel 数"),
    "option.channels.help": (
        "Copies of the pattern, each with its share of the buffer and, on a machine, a way of its own.",
        "把同一模式复制多份，每份负责一部分数据；在机器上，各走各的路。",
    ),
    "option.channels.all": ("all {count}", "全部 {count}"),
    "option.chunks": ("Chunks", "Chunk 数"),
    "option.chunks.help": (
        "How many pieces the buffer is cut into; more pieces keep more links busy at once.",
        "把数据切成多少块；块数越多，同时忙碌的链路越多。",
    ),
    "option.per_node": ("Ranks per node", "每节点的 rank 数"),
    "option.inner": ("Inside a node", "节点内"),
    "option.outer": ("Between the nodes", "节点间"),
    "option.pattern": ("Tree pattern", "树的形态"),
    "option.dims": ("Sides of the grid", "网格各边"),
    "option.dims.help": (
        "Ranks along each dimension, for example 2x8; their product is the number of ranks. auto: as the network or "
        "the ranks say.",
        "各维的 rank 数，例如 2x8；乘积等于 rank 总数。auto：由网络或 rank 数决定。",
    ),
    "option.arity": ("Children of a rank", "每个 rank 的子结点数"),
    "option.radix": ("Radix", "基数（radix）"),
    "option.base": ("Base", "进制"),
    "option.all_ports": ("All ports at once", "同时使用所有端口"),
    "option.root": ("Root", "Root"),
    "option.root.help": (
        "The rank from which all goes out, or to which all comes.",
        "数据由它发出、或汇集到它的那个 rank。",
    ),
    "option.server": ("Server", "服务器"),
    "option.server.help": (
        "rank: rank 0 is the server as well. helper: the server is a host of its own.",
        "rank：rank 0 兼任服务器。helper：服务器是另外一台主机。",
    ),
    "option.servers": ("Servers", "服务器数"),
    # headline
    "time": ("Time", "时间"),
    "time.help": ("From the first send to the last arrival.", "从第一次发送到最后一次到达。"),
    "algbw.help": (
        "Algorithm bandwidth, as nccl-tests prints it: the size over the time.",
        "算法带宽，与 nccl-tests 的输出一致：数据量除以时间。",
    ),
    "busbw.help": (
        "Bus bandwidth, as nccl-tests prints it: algbw times a factor of the collective; compare it with the speed "
        "of a link.",
        "总线带宽，与 nccl-tests 的输出一致：algbw 乘以该集合通信的系数，可与链路速率相比较。",
    ),
    "bound.help": (
        "The bytes that must cross the links, at their bandwidth, and the latency: no schedule on this machine is "
        "faster.",
        "必须经过各链路的字节数除以带宽，再计入延迟：在这台机器上没有更快的调度。",
    ),
    "bottleneck.help": (
        "The links that are busiest over the run, and what faster ones would save.",
        "全程最忙的链路，以及换成更快的链路能省多少。",
    ),
    "time.note": ("{ranks} ranks, {steps}", "{ranks} 个 rank，{steps}"),
    "steps.one": ("1 step", "1 步"),
    "steps.many": ("{count} steps", "{count} 步"),
    "algbw.note": ("{nbytes} ÷ time", "{nbytes} ÷ 时间"),
    "busbw.note": ("algbw × {factor}", "algbw × {factor}"),
    "bound": ("Lower bound", "下界"),
    "bound.note": (
        "this run takes {gap} × that",
        "本次运行是它的 {gap} 倍",
    ),
    "bound.reached": ("this run reaches it", "本次运行达到下界"),
    "bound.none": ("nothing has to move", "无须移动数据"),
    "bottleneck": ("Bottleneck", "瓶颈"),
    "bottleneck.none": ("Nothing moves, so no link is in the way.", "没有数据移动，因此没有瓶颈。"),
    "channels.one": (
        "{channels} channels; one alone would take {time} (busbw {busbw}).",
        "由 {channels} 个 channel 分担；只用一个 channel 需要 {time}（busbw {busbw}）。",
    ),
    # below the player
    "tab.links": ("Traffic per link", "每条链路的流量"),
    "tab.ranks": ("Traffic per rank", "每个 rank 的流量"),
    "tab.steps": ("Steps", "逐步"),
    "tab.about": ("About the algorithm", "关于算法"),
    "about.steps": ("Steps", "步数"),
    "about.sent": ("The busiest endpoint sends", "最忙的端点发出"),
    "about.claimed": ("Claimed", "公式给出"),
    "about.here": ("This run", "本次运行"),
    "about.formula": ("Time", "时间"),
    "about.source": ("Source", "出处"),
    "colon": (": ", "："),
    "comma": (", ", "，"),
    "tab.chunks": ("Best chunk count", "最佳 chunk 数"),
    "chunks.find": ("Find the best number of chunks", "找出最佳 chunk 数"),
    "chunks.note": (
        "Few chunks leave links idle, many pay the latency each time; the best lies between. All are run on this "
        "machine at this size.",
        "chunk 太少，链路空闲；太多，每个都要付出延迟；最佳值在两者之间。全部在这台机器上以当前数据量运行。",
    ),
    "chunks.best": ("{count} chunks are the fastest: {time}.", "{count} 个 chunk 最快：{time}。"),
    "tab.code": ("The same run elsewhere", "在别处重现这次运行"),
    "links.note": (
        "{used} of {all} directed links carry data. Busy: bytes ÷ bandwidth, as a share of the run. Bandwidths are "
        "nominal, per direction.",
        "{all} 条单向链路中有 {used} 条传输了数据。占用：字节数 ÷ 带宽，占全程的比例。带宽为标称值，单向。",
    ),
    "links.idle": ("Show idle links too", "也显示空闲链路"),
    "steps.note": (
        "A step ends when its slowest transfer has arrived. Bytes: what all its transfers carry.",
        "最慢的传输到达时，这一步结束。字节：该步所有传输之和。",
    ),
    "ranks.note": (
        "Bytes that leave and reach each endpoint over the run.",
        "整个运行中每个端点发出和收到的字节数。",
    ),
    "col.link": ("Link", "链路"),
    "col.cable": ("Cable", "线缆"),
    "col.bandwidth": ("Bandwidth, GB/s", "带宽，GB/s"),
    "col.busy": ("Busy", "占用"),
    "col.step": ("Step", "步"),
    "col.start": ("Start, µs", "开始，µs"),
    "col.length": ("Length, µs", "时长，µs"),
    "col.transfers": ("Transfers", "传输数"),
    "col.endpoint": ("Endpoint", "端点"),
    "col.sent": ("Sent, MiB", "发出，MiB"),
    "col.received": ("Received, MiB", "收到，MiB"),
    "endpoint.rank": ("rank {index}", "rank {index}"),
    "endpoint.helper": ("helper {index}", "辅助端点 {index}"),
    "python": ("Python", "Python"),
    "cli": ("Command line", "命令行"),
    "nccl": ("nccl-tests", "nccl-tests"),
    "nccl.none": (
        "NCCL has no {name} of its own, so there is no command that runs it on real hardware.",
        "NCCL 没有 {name} 算法，因此没有在真实硬件上运行它的命令。",
    ),
    "nccl.note": (
        "On real hardware, with nccl-tests built with MPI. NCCL chooses its protocol and chunk sizes itself; "
        "compare the busbw column.",
        "用于真实硬件，需要带 MPI 编译的 nccl-tests。协议和 chunk 大小由 NCCL 自行选择；请比较 busbw 一栏。",
    ),
    "nccl.nogpu": ("There are no GPUs for NCCL here.", "这里没有 NCCL 可用的 GPU。"),
    "code.title": (
        "The same elsewhere: Python, command line, PyTorch, NCCL",
        "在别处重现：Python、命令行、PyTorch、NCCL",
    ),
    "code.torch": ("PyTorch, run.py", "PyTorch，run.py"),
    "code.torch.note": (
        "NCCL where there are GPUs, else Gloo; the backend chooses its own algorithm, NCCL the one of NCCL_ALGO.",
        "有 GPU 时用 NCCL，否则用 Gloo；算法由后端自行选择，NCCL 则按 NCCL_ALGO。",
    ),
    "code.torch.step": ("PyTorch, step.py", "PyTorch，step.py"),
    "code.torch.step.note": (
        "It trains the model where torchvision or transformers is installed, else a module with the same parameter "
        "tensors; it prints the time of a step, and the buckets that DDP made beside those shown here. "
        "`--dist-backend` is no option of PyTorch: this script hands it to `init_process_group`, as `main.py` of "
        "PyTorch's examples does.",
        "安装了 torchvision 或 transformers 时训练真实模型，否则训练一个参数张量完全相同的模块；脚本会打印一步的时间，"
        "并把 DDP 实际划分的桶与这里的桶并列打印。`--dist-backend` 不是 PyTorch 自身的选项：脚本把它传给 "
        "`init_process_group`，PyTorch 示例中的 `main.py` 也是这样做的。",
    ),
    "code.torch.product.note": (
        "It trains a model of the same sizes (where they are not those of a decoder, a module with the same parameter "
        "tensors) and prints the time of a step, and the most memory that GPU 0 held beside what is shown here. "
        "`torchrun` with `--dist-backend gloo` runs a small one on a CPU.",
        "训练一个尺寸相同的模型（不是解码器时，是参数张量相同的模块），打印一步的时间，"
        "并把 GPU 0 的最大显存与这里的数字并列打印。小模型可以用 `torchrun` 加 `--dist-backend gloo` 在 CPU 上运行。",
    ),
    "code.torch.env": ("Started by torchrun (env://)", "用 torchrun 启动（env://）"),
    "code.torch.tcp": ("Started by hand (tcp://)", "手动启动（tcp://）"),
    "code.torch.nccl": ("Is there NCCL, and which?", "有没有 NCCL，是哪个版本？"),
    "code.torch.nccl.note": (
        "`is_nccl_available` says that this PyTorch was built with NCCL, not that there is a GPU. "
        "`torch.cuda.nccl.version()` is the NCCL of this build: wheels bring their own, whatever else is installed; a "
        "build without NCCL has no such function. No backend is chosen by version.",
        "`is_nccl_available` 只说明这个 PyTorch 编译时带有 NCCL，并不表示机器上有 GPU。`torch.cuda.nccl.version()` "
        "是这个构建所用的 NCCL 版本：wheel 自带 NCCL，与系统里另外安装的无关；没有 NCCL 的构建没有这个函数。"
        "选择后端与版本号无关。",
    ),
    "code.torch.none": ("The collectives of PyTorch do not take {dtype}.", "PyTorch 的集合通信不支持 {dtype}。"),
    "code.environment": ("NCCL environment", "NCCL 环境变量"),
    "code.hardware": ("On the real machine", "在真实机器上"),
    "code.edits": (
        "The other changes have no option on the command line: write the changed machine with cs.save(m, "
        '"changed.yaml") and give it '
        "as --topology-file changed.yaml.",
        '其余改动没有命令行选项：用 cs.save(m, "changed.yaml") 保存改动后的机器，再以 --topology-file changed.yaml '
        "使用。",
    ),
    # player
    "player.large": (
        "{transfers} transfers are too many to animate (up to {limit} are). The figures and tables are complete; "
        "with fewer channels, chunks or ranks you see it move.",
        "共 {transfers} 次传输，多到无法播放（上限 {limit}）。数值和表格仍是完整的；减少 channel、chunk 或 rank "
        "即可看到动画。",
    ),
    # a synthesized schedule against ring and tree
    "synthesis.show": ("What would close the gap?", "怎样缩小与下界的差距？"),
    "synthesis.show.help": (
        "Builds a schedule for this machine and size that comes near the bound, and races it against ring and tree, "
        "which can still be the faster.",
        "为这台机器和这个数据量合成接近下界的调度，并与环、树竞速；环或树仍可能更快。",
    ),
    "synthesis.title": ("Synthesized for this machine and size", "为这台机器和这个数据量合成"),
    "synthesis.switches": ("Use switches that reduce", "使用能做归约的交换机"),
    "synthesis.switches.help": (
        "The schedule may have switches of the machine add or copy data (NVLS, SHARP); the others use GPUs alone.",
        "合成的调度可以让机器中的交换机做加法或复制（NVLS、SHARP）；环和树只用 GPU。",
    ),
    "synthesis.close": ("Close", "关闭"),
    "synthesis.name": ("synthesized", "合成的调度"),
    "synthesis.run": ("{name}, as run above", "{name}（上面的运行）"),
    "synthesis.schedule": ("Schedule", "调度"),
    "synthesis.time": ("time, µs", "时间，µs"),
    "synthesis.busbw": ("busbw, GB/s", "busbw，GB/s"),
    "synthesis.times": ("{gap} × the lower bound", "下界的 {gap} 倍"),
    "synthesis.gap": ("× bound", "下界的倍数"),
    "synthesis.cut": ("at the cut, µs", "割上，µs"),
    "synthesis.chunks": ("waiting for chunks, µs", "等待 chunk，µs"),
    "synthesis.latency": ("latency, µs", "延迟，µs"),
    "synthesis.steps": ("steps", "步数"),
    "synthesis.parts": ("Where the time beyond the bound goes", "超出下界的时间花在哪里"),
    "synthesis.parts.note": (
        "Each time is the bound of {bound} and three parts, found by running again: the busiest link has more to carry "
        "than the bound asks of it (cut), it waits for chunks that are on their way, and latency. Ring and tree at "
        "their best channels and chunks.",
        "每个时间都是下界 {bound} 加上三部分，由重新运行得到：最忙的链路传送的比下界所需的多（割）、"
        "它等待尚在途中的 chunk、以及延迟。环和树取最佳的 channel 数与 chunk 数。",
    ),
    "synthesis.engine": ("All timed by the event engine.", "全部用 event 引擎计时。"),
    "synthesis.other_engine": (
        "All timed by the event engine; the curves and the table here are of the {engine} engine, whose times, and so "
        "whose fastest, can be others.",
        "全部用 event 引擎计时；这里的曲线和表格用 {engine} 引擎，时间可能不同，最快者也可能不同。",
    ),
    "synthesis.code": ("Take the schedule home", "把这个调度带走"),
    "synthesis.code.note": (
        "x.xml is a program of MSCCL; x.json and x.csv are read by collsim.",
        "x.xml 是 MSCCL 的程序；x.json 和 x.csv 可由 collsim 读取。",
    ),
    "synthesis.thinned": (
        "Played with {few} pieces per tree instead of {all}, so that the picture takes {time}.",
        "每棵树按 {few} 片播放，而不是 {all} 片，因此图中用时 {time}。",
    ),
    "synthesis.unplayed": (
        "Too many transfers to be played, timed all the same: {names}",
        "传输次数太多，无法播放，但已计时：{names}",
    ),
    "synthesis.add": ("Add the synthesized schedule", "加入合成的调度"),
    "synthesis.add.help": (
        "Builds a schedule for this machine at every size, which need not win; it takes a few seconds.",
        "为这台机器在每个数据量上合成一个调度，它不一定最快；需要几秒钟。",
    ),
    "synthesis.at": ("Synthesized, at {nbytes}", "合成的调度，{nbytes}"),
    "synthesis.watch": ("Watch it on Explore", "在“探索”页上观看"),
    # compare
    "compare.title": ("Which algorithm wins, and from which size on?", "哪种算法更快，从多大的数据量开始？"),
    "compare.lead": (
        "{collective} on {place}, {ranks} ranks, engine {engine}.",
        "{place} 上的 {collective}，{ranks} 个 rank，引擎 {engine}。",
    ),
    "compare.search": (
        "Where an algorithm has them, it runs at every size with the best of {search} (channels × chunks); the "
        "table says which.",
        "算法若有这些选项，在每个数据量上取 {search}（channel × chunk）中最快的一种；表中注明是哪一种。",
    ),
    "compare.time": ("Time over size", "时间随数据量的变化"),
    "compare.busbw": ("busbw over size", "busbw 随数据量的变化"),
    "compare.time.axis": ("time", "时间"),
    "compare.busbw.axis": ("busbw", "busbw"),
    "compare.size.axis": ("size", "数据量"),
    "compare.cross": (
        "{first} is faster up to {nbytes}, then {second}.",
        "{nbytes} 以内 {first} 更快，之后 {second} 更快。",
    ),
    "compare.nocross": ("{first} is the fastest at every size.", "在所有数据量下 {first} 都最快。"),
    "compare.caveat": (
        "These are times of the links alone. What a library spends on each call and step, launching kernels, "
        "protocols, copies in its buffers, is not in them, so small messages take longer on real GPUs.",
        "这里只有链路上的时间。库在每次调用和每一步上的开销（启动 kernel、协议、缓冲区复制）不计在内，因此小消息在真实 "
        "GPU 上更慢。",
    ),
    "compare.nccl": ("Show NCCL's own model beside them", "同时显示 NCCL 模型"),
    "compare.nccl.name": ("NCCL (model)", "NCCL（模型）"),
    "compare.nccl.none": ("NCCL's model has no answer here: {why}", "NCCL 模型在此没有答案：{why}"),
    "compare.table": ("Table", "表格"),
    "compare.nothing": ("Nothing to draw: every value is nought.", "没有可画的内容：所有数值都是零。"),
    "compare.csv": ("Download CSV", "下载 CSV"),
    "compare.code": ("The same comparison elsewhere", "在别处重现这次对比"),
    "compare.failed": ("{name} cannot run here: {why}", "{name} 无法在此运行：{why}"),
    "compare.none": ("Choose at least one algorithm.", "请至少选择一种算法。"),
    "compare.fastest": ("fastest", "最快"),
    "menu.learn": ("Learn", "学习"),
    "menu.see": ("See", "观察"),
    "menu.decide": ("Decide", "决策"),
    "menu.lab": ("Lab", "实验"),
    # messages
    "link.page": ("Copy a link to this page", "复制本页链接"),
    "link.copied": ("Link copied", "链接已复制"),
    "theme": ("Theme", "主题"),
    "theme.light": ("Light", "浅色"),
    "theme.dark": ("Dark", "深色"),
    "language": ("Language", "语言"),
    "url.bad": (
        "The address says {name}={value}: {why} {used} is used instead.",
        "链接中的 {name}={value} 不可用：{why}已改用 {used}。",
    ),
    "url.unknown": ("that is not one of the choices.", "没有这个选项。"),
    "mistake.kept": ("The picture below still shows the last run that worked.", "下面仍是上一次成功的运行。"),
    "refused.ranks": (
        "{ranks} ranks are more than this page computes ({limit}); use fewer nodes or ranks, or a script.",
        "{ranks} 个 rank 超出本页的上限（{limit}）；请减少节点或 rank，或改用脚本。",
    ),
    "refused.transfers": (
        "This run would have about {transfers} transfers; this page computes up to {limit}. Use fewer ranks, "
        "channels or chunks, or a script.",
        "这次运行约有 {transfers} 次传输，超出本页的上限（{limit}）。请减少 rank、channel 或 chunk，或改用脚本。",
    ),
    "refused.work": (
        "This comparison would have about {transfers} transfers; this page computes up to {limit}. Use fewer ranks, "
        "algorithms or sizes, or the command line.",
        "这次对比约有 {transfers} 次传输，超出本页的上限（{limit}）。请减少 rank、算法或数据量，或改用命令行。",
    ),
    "ours": (
        "Something in collsim itself went wrong: {why}. The address of this page holds the whole state; please "
        "report it.",
        "collsim 自身出错：{why}。本页地址包含全部状态，请将其报告给我们。",
    ),
}
