"""Algorithms and schedules: `collsim.registry`, `schedule`, `steps`, `collective`, `replay`, `verify`."""

TRANSLATIONS = {
    "{thing!r} is no algorithm; name a module with @algorithm in it, or what @algorithm made": (
        "{thing!r} 不是算法；请指向含有 @algorithm 的模块，或 @algorithm 得到的对象"
    ),
    "{names}: taken already; give it another name": "{names}：名称已被占用；请换一个名称",
    # what a schedule does
    "{label}: after the last step rank {cell} has chunk {slot} = {has}, but {collective} wants {wants}. {how}": (
        "{label}：最后一步之后，rank {cell} 的 chunk {slot} = {has}，而 {collective} 要求 {wants}。{how}"
    ),
    "{error}. {begin}": "{error}。{begin}",
    "{error}.": "{error}。",
    "It begins in step {step}: {what}.": "从第 {step} 步开始出错：{what}。",
    "{who} gets nothing into chunk {chunk}": "{who} 的 chunk {chunk} 没有收到数据",
    "{who} gets something too much into chunk {chunk}": "{who} 的 chunk {chunk} 多收到一次数据",
    "{who} gets the wrong data into chunk {chunk}": "{who} 的 chunk {chunk} 收到的数据不对",
    "{who} sends chunk {chunk} on too early": "{who} 过早地把 chunk {chunk} 发了出去",
    "Step {step} is missing: {who} gets nothing more into chunk {chunk}.": (
        "缺少第 {step} 步：{who} 的 chunk {chunk} 不再收到数据。"
    ),
    "No step brings the rest into chunk {chunk} of {who}.": "没有任何一步把其余部分送到 {who} 的 chunk {chunk}。",
    "something else": "其他内容",
    "{label} adds up too many contributions to say which; ask for fewer ranks": (
        "{label} 累加的贡献太多，无法逐一说明；请减少 rank 数"
    ),
    "replay or verify it with fewer ranks and slots": "用更少的 rank 和槽来回放或校验",
    "It was never replaced.": "它从未被覆盖。",
    "{chunks} chunks do not make {ranks} blocks; use a multiple": "{chunks} 个 chunk 不能分成 {ranks} 块；请用其倍数",
    "in its repetitions {name} reaches slots {first} to {last} (modulus={modulus}); slots are 0 to {most}": (
        "重复时 {name} 会用到槽 {first} 到 {last}（modulus={modulus}）；槽的编号为 0 到 {most}"
    ),
    "No step writes it.": "没有任何一步写入它。",
    "{label}, step {step}: {who} sends chunk {chunk} to {receiver}, but holds nothing in it yet": (
        "{label}，第 {step} 步：{who} 要把 chunk {chunk} 发给 {receiver}，但它那里还没有数据"
    ),
    "{label}, step {step}: {sender} reduces into chunk {chunk} of rank {rank}, which holds nothing yet; use copy "
    "for the first one": (
        "{label}，第 {step} 步：{sender} 要加到 rank {rank} 的 chunk {chunk} 上，但那里还没有数据；第一次请用 copy"
    ),
    "{label}, step {step}: {op} of {what} from {src} to {dst}{where}: {why}": (
        "{label}，第 {step} 步，从 {src} 到 {dst} 的 {op}（{what}）{where}：{why}"
    ),
    "chunk {chunk}": "chunk {chunk}",
    "chunks {first} to {last}": "chunk {first} 到 {last}",
    "rank {rank}": "rank {rank}",
    "helper {helper}": "辅助端点 {helper}",
    " into slot {slot}": "，写入槽 {slot}",
    "an endpoint sends a chunk to itself": "不能发给自己",
    "there is no channel {channel}; channels are 0 to {most}": "没有通道 {channel}；通道编号为 0 到 {most}",
    "{who} writes the same slot in this step; which of them lasts is undefined": (
        "{who} 在同一步也写入这个槽，结果不确定"
    ),
    "{name}={value}{wide} does not exist; {rule}": "{name}={value}{wide}不存在；{rule}",
    " and the {count} after it": " 及其后的 {count} 个",
    "ranks are 0 to {last}": "rank 为 0 到 {last}",
    ", helpers up to {last}": "，辅助端点到 {last}",
    "slots are 0 to {last}": "槽为 0 到 {last}",
    "{label}, step {step}: ranges of chunks (width={width}) do not repeat (times={times})": (
        "{label}，第 {step} 步：连续的 chunk（width={width}）不能再重复（times={times}）"
    ),
    "{label} yields more than {most:,} steps and has not ended; does a loop never stop?": (
        "{label} 已产生超过 {most:,} 步仍未结束；是不是有循环停不下来？"
    ),
    "{label} yields more than {most:,} transfers and has not ended; does a loop never stop?": (
        "{label} 已产生超过 {most:,} 次传输仍未结束；是不是有循环停不下来？"
    ),
    "{label} has {transfers:,} transfers, too many for one table; each_step() gives them a step at a time": (
        "{label} 有 {transfers:,} 次传输，一张表放不下；each_step() 可逐步给出"
    ),
    "{label}[{index!r}]: there are {transfers:,} transfers, counted from 0; give a number or a slice": (
        "{label}[{index!r}]：共有 {transfers:,} 次传输，从 0 开始计数；请给出序号或切片"
    ),
    "{label}: there is no {what} {value!r}; {what}s are 0 to {last}": (
        "{label}：没有 {what} {value!r}；{what} 的编号为 0 到 {last}"
    ),
    "cannot join {label} and {other_label}: one of them has explicit dependencies": (
        "无法连接 {label} 与 {other_label}：其中一个有显式依赖"
    ),
    "cannot join {label} and {other_label}: {what} {one} and {two} differ": (
        "无法连接 {label} 与 {other_label}：{what} 不同（{one} 与 {two}）"
    ),
    "{name}+{b_name}: the result of {a_name} lies in slots of its own, so nothing joins it": (
        "{name}+{b_name}：{a_name} 的结果在单独的槽里，后面无法再接"
    ),
    "{name} would add up copies of what {copier} hands out": "{name} 会把 {copier} 分发的副本相加",
    "{name} ends with data on {after!r}, but {b_name} starts from {before!r}: they do not join": (
        "{name} 结束时数据在 {after!r}，而 {b_name} 从 {before!r} 开始：两者接不上"
    ),
    # steps
    "{who}: {steps!r} is not a list of steps; a step is made with copy(...) or reduce(...)": (
        "{who}：{steps!r} 不是步的列表；一步用 copy(...) 或 reduce(...) 生成"
    ),
    "repeat wants a step made with copy(...) or reduce(...), got {given!r}": (
        "repeat 需要由 copy(...) 或 reduce(...) 生成的一步，现在是 {given!r}"
    ),
    "repeat(times={times!r}, shift={shift!r}, modulus={modulus!r}): all three are whole numbers; use // to divide": (
        "repeat(times={times!r}, shift={shift!r}, modulus={modulus!r})：三者都必须是整数；整除请用 //"
    ),
    "repeat(times={times}, shift={shift}, modulus={modulus}): times is 0 or more, modulus 1 or more; "
    "no chunk moves by 2^31": (
        "repeat(times={times}, shift={shift}, modulus={modulus})：times 至少为 0，modulus 至少为 1；"
        "chunk 不会移动 2^31 那么远"
    ),
    "a repeated step cannot be repeated again; write its repetitions out first, with repetition(k)": (
        "重复的步不能再次重复；请先用 repetition(k) 把各次重复写出来"
    ),
    "pipeline_chunks({what}={value!r}): {what} is a whole number from {least} to 2^31; use // to divide": (
        "pipeline_chunks({what}={value!r})：{what} 是 {least} 到 2^31 的整数；整除请用 //"
    ),
    "width={width!r}: one whole number for the whole step, 1 or more; use // to divide": (
        "width={width!r}：整步只有一个整数，至少为 1；整除请用 //"
    ),
    "width={width} from chunk {c} goes beyond any chunk": "从 chunk {c} 起 width={width} 超出任何可能的 chunk",
    "{name} must be whole numbers, got {shown!r} ({dtype}); for division use // instead of /": (
        "{name} 必须是整数，现在是 {shown!r}（{dtype}）；整除请用 // 而不是 /"
    ),
    "{name} holds {value}, which is beyond any rank or chunk": "{name} 中有 {value}，超出任何可能的 rank 或 chunk",
    "{name} has rows of different lengths: {value!r}; it is one whole number per transfer": (
        "{name} 各行长度不同：{value!r}；每次传输应为一个整数"
    ),
    "the arrays of one step differ in length: {shapes}": "同一步的数组长度不同：{shapes}",
    "{label} yields {item!r}; a step is made with copy(...) or reduce(...), or a list of them": (
        "{label} 产生了 {item!r}；一步要用 copy(...) 或 reduce(...) 生成，或由它们组成的列表"
    ),
    "{label}: a repeated step cannot be joined with another; join first, then repeat": (
        "{label}：重复的步不能与别的步合并；请先合并，再重复"
    ),
    "a repeated step cannot be joined with another; join first, then repeat": (
        "重复的步不能与别的步合并；请先合并，再重复"
    ),
    "a repeated step cannot be placed; write its repetitions out first, with repetition(k)": (
        "重复的步不能放置到别的端点；请先用 repetition(k) 逐一展开"
    ),
    "a step of {transfers:,} transfers, in ranges of {width:,} chunks, is too long to be written out": (
        "一步有 {transfers:,} 次传输（每段 {width:,} 个 chunk），太长，无法展开"
    ),
    # algorithms
    "it needs a power of two; the nearest are {below} and {above}": (
        "rank 数必须是 2 的幂；最接近的是 {below} 和 {above}"
    ),
    "it needs an even number; use {below} or {above}, or allgather_ring (as Open MPI does)": (
        "rank 数必须是偶数；请用 {below} 或 {above}，或改用 allgather_ring（Open MPI 就是这样做的）"
    ),
    "servers={servers} do not fit on {n} ranks; use at most {n}, or server='helper' for hosts of their own": (
        "{n} 个 rank 放不下 servers={servers} 个服务器；最多 {n} 个，或用 server='helper' 让它们各占主机"
    ),
    "dims={given!r} do not make {n} ranks; write for example dims='4x4' for 16": (
        "dims={given!r} 的乘积不是 {n}；例如 16 个 rank 可写 dims='4x4'"
    ),
    "radix={radix} makes no tree; use 2 or more": "radix={radix} 构不成树；请用 2 或更大",
    "{name}: ranks={n}: {why}": "{name}：ranks={n}：{why}",
    "{name}: ranks={n} is more than {most_ranks:,}, beyond which it needs too much memory": (
        "{name}：ranks={n} 超过 {most_ranks:,}，再多需要的内存过大"
    ),
    "{name}({n}) failed{where}: it needs more memory than it may use": "{name}({n}){where} 需要的内存超过限制",
    "{name}({n}) failed{where}: {kind}: {error}": "{name}({n}){where} 出错：{kind}：{error}",
    "{name}({n}){where}: {error}": "{name}({n}){where}：{error}",
    "{name}({n}): {error}": "{name}({n})：{error}",
    " at line {line} of {file}": "（{file} 第 {line} 行）",
    "{name}({n}) returned {steps!r}; it must yield its steps: yield copy(...), yield reduce(...)": (
        "{name}({n}) 返回了 {steps!r}；它必须逐步 yield：yield copy(...)、yield reduce(...)"
    ),
    "{name}: its {what}= fails for n = {n}: {kind}: {error}": "{name}：它的 {what}= 在 n = {n} 时出错：{kind}：{error}",
    "{name}: its {what}= gives {value!r} for n = {n}; it must be a number or None": (
        "{name}：它的 {what}= 在 n = {n} 时给出 {value!r}；必须是数字或 None"
    ),
    "{unknown} (its options: {known})": "{unknown}（它的选项：{known}）",
    "none decorated": "没有加装饰器的",
    "{name}={value} for {n} ranks is too many; use at most {most:,}": (
        "{n} 个 rank 时 {name}={value} 太多；最多 {most:,}"
    ),
    "{name}={value!r} must be True or False": "{name}={value!r} 必须是 True 或 False",
    "options={options!r} must be a dict of an algorithm's options, for example {{'root': 0}}": (
        "options={options!r} 必须是一个由算法选项组成的字典，例如 {{'root': 0}}"
    ),
    "root={root} is not a rank; with {n} ranks it is 0 to {last}": (
        "root={root} 不是一个 rank；共 {n} 个 rank 时可取 0 到 {last}"
    ),
    "algorithm {name!r} is no longer registered: its block 'with cs.registered(...):' has ended, or nothing holds the "
    "decorated function any more; keep it in a variable of your module or notebook": (
        "算法 {name!r} 已不再注册：它的 'with cs.registered(...):' 代码块已结束，"
        "或者再没有变量指向这个加了装饰器的函数；请在您的模块或 notebook 中用变量保存它"
    ),
    "registered({entry!r}): give what @algorithm returned, the decorated function itself": (
        "registered({entry!r})：请给出 @algorithm 返回的对象，也就是加了装饰器的函数本身"
    ),
    "{label} has {transfers:,} transfers and was not verified: a schedule of your own is ranked only once it is known "
    "to be right, which takes too long beyond {most:,}; use fewer ranks, chunks or channels": (
        "{label} 有 {transfers:,} 次传输，没有验证：您自己的调度只有确认正确后才参与排名，"
        "而超过 {most:,} 次时验证太慢；请减少 rank、chunk 或 channel"
    ),
    "algorithm(name={name!r}): a name is a text": "algorithm(name={name!r})：名称应为文本",
    "algorithm(phases={phases!r}): give the names of the part that adds and of the part that copies, for example "
    "phases=('reduce-scatter', 'allgather')": (
        "algorithm(phases={phases!r})：请给出相加阶段与复制阶段的名称，例如 phases=('reduce-scatter', 'allgather')"
    ),
    "algorithm({what}={given!r}): {what} is a function of n, for example {what}=lambda n: ...": (
        "algorithm({what}={given!r})：{what} 是 n 的函数，例如 {what}=lambda n: ..."
    ),
    "@algorithm goes above a function, def my_algorithm(n): ...; got {function!r}": (
        "@algorithm 写在函数上方：def my_algorithm(n): ...；现在是 {function!r}"
    ),
    "{function}() must take the number of ranks: def {function}(n): ...": (
        "{function}() 必须以 rank 数为参数：def {function}(n): ..."
    ),
    "{function}: option {name!r} needs a default, for example {name}=1": (
        "{function}：选项 {name!r} 需要默认值，例如 {name}=1"
    ),
    "{name}: say how many ranks (ranks=8), or give a topology that does": (
        "{name}：请说明有多少个 rank（ranks=8），或给出带有 rank 数的拓扑"
    ),
    "{name}: {ranks} ranks do not fit on {topology_name}, which has {topology_ranks}": (
        "{name}：{topology_name} 只有 {topology_ranks} 个 rank，放不下 {ranks} 个"
    ),
    "no file {path_text} to load an algorithm from": "没有文件 {path_text}，无法载入算法",
    "{path_text!r} is not a Python file; an algorithm is loaded from 'my.py' or 'my.py:name'": (
        "{path_text!r} 不是 Python 文件；算法从 'my.py' 或 'my.py:name' 载入"
    ),
    "{path_text!r} fails to load: {kind}: {error}": "载入 {path_text!r} 时出错：{kind}：{error}",
    "{path_text!r} holds {count} algorithms ({names}); name one: {path_text}:name": (
        "{path_text!r} 中有 {count} 个算法（{names}）；请指明一个：{path_text}:name"
    ),
    # moving data
    "buffers have shape {shape}; {label} wants (ranks, elements) = ({ranks}, any number)": (
        "buffers 的形状是 {shape}；{label} 需要 (ranks, elements) = ({ranks}, 任意)"
    ),
    "buffers have rows of different lengths; every rank passes as many elements": (
        "buffers 各行长度不同；每个 rank 的元素个数必须相同"
    ),
    "buffers are {dtype}; replay adds whole numbers and floats": "buffers 是 {dtype}；replay 只能相加整数和浮点数",
    "{value!r} is not a schedule; make one with schedule('allreduce_ring', ranks=8)": (
        "{value!r} 不是调度；请用 schedule('allreduce_ring', ranks=8) 生成"
    ),
    "{name} has no in-place form (nor has NCCL); use layout='out-of-place'": (
        "{name} 没有原地（in-place）形式（NCCL 也没有）；请用 layout='out-of-place'"
    ),
    "{elements} elements do not make {n} equal blocks; {name} out of place wants a multiple of {n}": (
        "{elements} 个元素不能等分成 {n} 块；非原地的 {name} 需要 {n} 的倍数"
    ),
}
